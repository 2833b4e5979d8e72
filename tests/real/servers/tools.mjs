// The tools of the servers on the TypeScript SDKs, one file for both of their major versions: the same names,
// arguments and heartbeat lines as tools.py. It imports nothing from npm, so that it can be loaded from anywhere.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const STEP = 100;
const CLEANING = 500;

class Work {
    constructor(tool, { seconds, heartbeat }, { token, notify }) {
        this.tool = tool;
        this.path = heartbeat || process.env.HEARTBEAT;
        this.token = token;
        this.notify = notify;
        this.step = 0;
        this.total = Math.max(1, Math.round((seconds * 1000) / STEP));
        this.beat('started');
    }

    beat(word) {
        if (!this.path) return;
        const now = Number(process.hrtime.bigint()) / 1e9;
        appendFileSync(this.path, `${now.toFixed(3)} ${this.tool} ${word}\n`);
    }

    // Rejects with an AbortError as soon as the signal is aborted; may be called again and goes on where it was.
    async run(signal) {
        while (this.step < this.total) {
            await sleep(STEP, undefined, { signal });
            this.step += 1;
            this.beat(`step ${this.step}/${this.total}`);
            await this.report();
        }
        this.beat('done');
        return this.answer();
    }

    async report() {
        if (this.token === undefined) return;
        const params = { progressToken: this.token, progress: this.step, total: this.total, message: `step ${this.step}` };
        try {
            await this.notify({ method: 'notifications/progress', params });
        } catch (error) {
            this.beat(`failed ${error.name}`);
            throw error;
        }
    }

    // Holds the event loop: nothing is read or written meanwhile.
    block() {
        const cell = new Int32Array(new SharedArrayBuffer(4));
        while (this.step < this.total) {
            Atomics.wait(cell, 0, 0, STEP);
            this.step += 1;
            this.beat(`step ${this.step}/${this.total}`);
        }
        this.beat('done');
        return this.answer();
    }

    answer() {
        return { content: [{ type: 'text', text: `${this.tool} worked to its end` }] };
    }
}

// Runs the work; when the signal interrupts it, notes that and lets `then` decide what to do.
async function interruptible(work, signal, then) {
    try {
        return await work.run(signal);
    } catch (error) {
        if (!signal.aborted) throw error;
        work.beat('cancelled');
        return await then(error);
    }
}

const VARIANTS = {
    cooperative: (work, signal) =>
        interruptible(work, signal, error => {
            throw error;
        }),
    blocking: work => work.block(),
    swallows: (work, signal) => interruptible(work, signal, () => work.run()),
    cleanup: (work, signal) =>
        interruptible(work, signal, async error => {
            await sleep(CLEANING);
            work.beat('cleaned');
            throw error;
        }),
    raises: (work, signal) =>
        interruptible(work, signal, () => {
            throw new Error('raised on cancel');
        })
};

const QUESTION = {
    message: 'What is your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
};

// `z` is zod; `request` turns what the library passes beside the arguments into { signal, token, notify, ask }; `ask` sends
// the parameters of `elicitation/create` and takes a timeout in milliseconds where the library has one.
export function addTools(server, z, request) {
    server.registerTool('echo', { description: 'Answer with the text.', inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
        content: [{ type: 'text', text }]
    }));
    const inputSchema = z.object({ seconds: z.number().default(3), heartbeat: z.string().default('') });
    for (const [name, variant] of Object.entries(VARIANTS)) {
        server.registerTool(name, { description: `The variant ${name}.`, inputSchema }, async (args, extra) => {
            const { signal, token, notify } = request(extra);
            return await variant(new Work(name, args, { token, notify }), signal);
        });
    }
    const asks = {
        description: 'Ask the person for a name, and give up after so many seconds.',
        inputSchema: z.object({ seconds: z.number().default(0.5) })
    };
    server.registerTool('asks', asks, async ({ seconds }, extra) => {
        let text;
        try {
            const { action } = await request(extra).ask(QUESTION, { timeout: seconds * 1000 });
            text = `asks was told: ${action}`;
        } catch (error) {
            text = `asks gave up: ${error.message}`;
        }
        return { content: [{ type: 'text', text }] };
    });
    return server;
}

export function options() {
    const { values } = parseArgs({
        options: {
            http: { type: 'string' },
            stateless: { type: 'boolean' },
            json: { type: 'boolean' },
            sse: { type: 'boolean' }
        }
    });
    return values;
}

// Serves on 127.0.0.1 (port 0 = a free one) and prints the URL as soon as it takes connections.
export function listen(port, handle) {
    const server = createServer(handle);
    server.listen(Number(port), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}
