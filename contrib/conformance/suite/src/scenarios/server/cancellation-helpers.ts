/**
 * What the scenarios for cancellation in `cancellation.ts` share: a client on
 * raw fetch, which sees what arrives on the stream of a request that was
 * cancelled, where a well-behaved client drops it; the heartbeat; the reports.
 */

import { randomUUID } from 'node:crypto';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { ClientScenario, ConformanceCheck, ScenarioSource } from '../../types';
import {
  buildStandardHeaders,
  CONFORMANCE_CLIENT_INFO,
  isStateless,
  withRequestMeta,
  type RunContext
} from '../../connection';
import { validateWireMessage } from '../../validation/wire-schema';
import { Checks, type CheckDef } from '../cancellation-checks';

export const WORK = 'test_cancellation_work';
const HEARTBEAT = 'test_cancellation_heartbeat';

/** How long a call works that has to be at work while it is watched. */
const WORK_SECONDS = 4;
/** What was on its way when the cancel arrived counts for nothing. */
export const TRANSIT_MS = 500;
/** How long a heartbeat is watched; ten beats of the fixture. */
const WATCH_MS = 1_000;
/** Only to tell a hang from a slow machine. */
const PATIENCE_MS = 15_000;

export const FIXTURES = `**Required server fixtures:**

- \`${WORK}\` \`{key: string, seconds: number}\`: works for \`seconds\`. While it
  works it counts a beat for \`key\` at least ten times a second and, if the
  request carries a progress token, reports progress with each beat. It stops
  when the SDK tells it that its request was cancelled, as any cooperative tool
  does. At the end it returns the text \`done\`.
- \`${HEARTBEAT}\` \`{key: string}\`: returns the count for \`key\` as text, at once.`;

type Json = Record<string, any>;

export const sleep = (ms: number) =>
  new Promise<void>((r) => setTimeout(r, ms));

export async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      promise,
      new Promise<never>((_, reject) => {
        timer = setTimeout(
          () => reject(new Error(`${what}: nothing within ${PATIENCE_MS} ms`)),
          PATIENCE_MS
        );
      })
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** A request whose stream is read to its end, whatever comes on it. */
export class Call {
  readonly messages: Json[] = [];
  readonly id: number;
  /** Settles with the response, or with undefined when the stream ends without one. */
  readonly answered: Promise<Json | undefined>;
  headers?: Headers;
  status?: number;
  private readonly abort = new AbortController();

  constructor(
    private readonly peer: Peer,
    private readonly request: Json
  ) {
    this.id = request.id;
    this.answered = new Promise((resolve) => {
      this.read(resolve).then(
        () => resolve(undefined),
        () => resolve(undefined)
      );
    });
  }

  close(): void {
    this.abort.abort();
  }

  /** What the fixture tool counts its beats for. */
  get key(): string {
    return this.request.params.arguments.key;
  }

  get responses(): Json[] {
    return this.messages.filter((m) => m.id === this.id && !('method' in m));
  }

  get progress(): number {
    return this.messages.filter((m) => m.method === 'notifications/progress')
      .length;
  }

  private async read(resolve: (message: Json) => void): Promise<void> {
    const take = (text: string) => {
      const message = JSON.parse(text) as Json;
      const answers = !('method' in message) && message.id === this.id;
      validateWireMessage(this.peer.specVersion, message, {
        origin: 'implementation',
        context: `stream of '${this.request.method}'`,
        // A call that runs as a task is answered by a CreateTaskResult.
        requestMethod:
          answers && !this.request.params.task ? this.request.method : undefined
      });
      this.messages.push(message);
      if (answers) resolve(message);
    };
    const response = await fetch(this.peer.serverUrl, {
      method: 'POST',
      headers: this.peer.headers(this.request.method, this.request.params),
      body: JSON.stringify(this.request),
      signal: this.abort.signal
    });
    this.headers = response.headers;
    this.status = response.status;
    if (!response.body) return;
    if (!response.headers.get('content-type')?.includes('event-stream')) {
      const text = await response.text();
      if (text) take(text);
      return;
    }
    const events = response.body
      .pipeThrough(new TextDecoderStream() as any)
      .pipeThrough(new EventSourceParserStream()) as any;
    for await (const event of events) {
      if (event.data) take(event.data);
    }
  }
}

/** One client of the server under test, at the revision of the run. */
export class Peer {
  readonly serverUrl: string;
  readonly specVersion: RunContext['specVersion'];
  readonly calls: Call[] = [];
  capabilities: Json = {};
  private sessionId?: string;
  private protocolVersion?: string;
  private lastId = 0;

  constructor(ctx: RunContext) {
    this.serverUrl = ctx.serverUrl;
    this.specVersion = ctx.specVersion;
  }

  /** Initialize, where there is a handshake; `before` runs between its response and `initialized`. */
  async open(before = async (_id: number) => {}): Promise<void> {
    if (isStateless(this)) return;
    const call = this.start('initialize', {
      protocolVersion: this.specVersion,
      capabilities: {},
      clientInfo: CONFORMANCE_CLIENT_INFO
    });
    const response = await within('initialize', call.answered);
    if (!response?.result) {
      throw new Error(`initialize got no result (HTTP ${call.status})`);
    }
    this.sessionId = call.headers?.get('mcp-session-id') ?? undefined;
    this.protocolVersion = response.result.protocolVersion;
    this.capabilities = response.result.capabilities ?? {};
    await before(call.id);
    const status = await this.notify('notifications/initialized');
    if (status === undefined || status >= 300) {
      throw new Error(`notifications/initialized got HTTP ${status}`);
    }
  }

  headers(method: string, params?: Json): Record<string, string> {
    if (isStateless(this)) {
      return buildStandardHeaders(method, params, {
        specVersion: this.specVersion
      });
    }
    return {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(this.protocolVersion && {
        'MCP-Protocol-Version': this.protocolVersion
      }),
      ...(this.sessionId && { 'mcp-session-id': this.sessionId })
    };
  }

  /** Send a request and do not wait for its response. */
  start(method: string, params: Json = {}): Call {
    const id = ++this.lastId;
    const request = {
      jsonrpc: '2.0',
      id,
      method,
      params: isStateless(this)
        ? withRequestMeta(params, this.specVersion)
        : params
    };
    validateWireMessage(this.specVersion, request, {
      origin: 'harness',
      context: `request '${method}'`
    });
    const call = new Call(this, request);
    this.calls.push(call);
    return call;
  }

  async request(method: string, params: Json = {}): Promise<Json> {
    const call = this.start(method, params);
    const response = await within(method, call.answered);
    if (!response) {
      throw new Error(`${method} got no response (HTTP ${call.status})`);
    }
    return response;
  }

  /** The HTTP status that a notification got, undefined for none in time. */
  async notify(method: string, params?: Json): Promise<number | undefined> {
    try {
      const response = await fetch(this.serverUrl, {
        method: 'POST',
        headers: this.headers(method, params),
        body: JSON.stringify({ jsonrpc: '2.0', method, params }),
        signal: AbortSignal.timeout(3_000)
      });
      await response.text();
      return response.status;
    } catch {
      return undefined;
    }
  }

  cancel(requestId: unknown): Promise<number | undefined> {
    return this.notify('notifications/cancelled', {
      ...(requestId !== undefined && { requestId }),
      reason: 'conformance test'
    });
  }

  // -- the fixtures ---------------------------------------------------------

  /** Start the fixture tool; with `more` in the params of the call. */
  work(seconds = WORK_SECONDS, more: Json = {}): Call {
    const key = randomUUID();
    return this.start('tools/call', {
      name: WORK,
      arguments: { key, seconds },
      _meta: { progressToken: key },
      ...more
    });
  }

  /** Start the fixture tool and wait until it is seen to work. */
  async working(seconds?: number): Promise<Call> {
    const call = this.work(seconds);
    await this.beating(call);
    return call;
  }

  async beats(key: string): Promise<number> {
    const response = await this.request('tools/call', {
      name: HEARTBEAT,
      arguments: { key }
    });
    const count = Number(response.result?.content?.[0]?.text ?? NaN);
    if (response.result?.isError || Number.isNaN(count)) {
      throw new Error(
        `the fixture tool ${HEARTBEAT} returned no count: ${JSON.stringify(response.result ?? response.error)}`
      );
    }
    return count;
  }

  async beating({ key }: Call): Promise<void> {
    const until = Date.now() + PATIENCE_MS;
    while ((await this.beats(key)) < 2) {
      if (Date.now() > until) {
        throw new Error(`the fixture tool ${WORK} counted no beats`);
      }
      await sleep(20);
    }
  }

  /** Watch a heartbeat beside that of a call that is known to work. */
  async watch(call: Call, control: Call): Promise<Json> {
    const both = async () => [
      await this.beats(call.key),
      await this.beats(control.key)
    ];
    await sleep(TRANSIT_MS);
    const [from, controlFrom] = await both();
    await sleep(WATCH_MS);
    const [to, controlTo] = await both();
    if (controlTo === controlFrom) {
      throw new Error(
        'the heartbeat of the call that was not cancelled stood still too'
      );
    }
    return {
      beats: to - from,
      beatsOfControl: controlTo - controlFrom,
      watchedMs: WATCH_MS
    };
  }

  /** Whether a new call works: undefined, or why not. */
  async nextCallFails(): Promise<string | undefined> {
    try {
      await this.beats('next-call');
      return undefined;
    } catch (error) {
      return String(error);
    }
  }

  async close(): Promise<void> {
    for (const call of this.calls) call.close();
    if (this.sessionId) {
      await fetch(this.serverUrl, {
        method: 'DELETE',
        headers: this.headers(''),
        signal: AbortSignal.timeout(3_000)
      }).catch(() => undefined);
    }
  }
}

/** Why a call that has to complete did not; undefined if it did. */
export async function incomplete(call: Call): Promise<string | undefined> {
  const response = await within(
    'the call that was not cancelled',
    call.answered
  ).catch(() => undefined);
  return response?.result?.content?.[0]?.text === 'done'
    ? undefined
    : `Expected the result of the call that was not cancelled, got ${JSON.stringify(response)}`;
}

export abstract class CancellationScenario implements ClientScenario {
  abstract name: string;
  abstract description: string;
  abstract source: ScenarioSource;
  protected abstract defs: CheckDef[];
  private checks!: Checks;

  protected abstract observe(peer: Peer): Promise<void>;

  async run(ctx: RunContext): Promise<ConformanceCheck[]> {
    this.checks = new Checks(this.defs);
    const peer = new Peer(ctx);
    try {
      await this.observe(peer);
      return this.checks.all();
    } catch (error) {
      return this.checks.all(error);
    } finally {
      await peer.close();
    }
  }

  protected report(
    id: string,
    wrong: string | undefined,
    details?: Record<string, unknown>
  ): void {
    this.checks.report(id, wrong, details);
  }

  /** Report every check as not applicable. */
  protected skip(message: string): void {
    for (const { id } of this.defs) this.checks.skip(id, { message });
  }
}

export function stopped(seen: Json): string | undefined {
  return seen.beats === 0
    ? undefined
    : `The cancelled call worked on: ${seen.beats} beats within ${seen.watchedMs} ms`;
}
