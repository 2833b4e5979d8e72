#!/usr/bin/env node

/**
 * The fixture tools of the server-cancellation-* scenarios, on plain HTTP.
 *
 * `cancellation-server.ts [MODE]` obeys, or breaks one rule in the way that
 * MODE names; PORT is the port. It speaks 2025-11-25 and 2026-07-28.
 */

import http from 'node:http';
import { randomUUID } from 'node:crypto';

const MODE = process.argv[2] ?? 'good';
const PORT = Number(process.env.PORT ?? 3000);
const BEAT_MS = 50;

type Json = Record<string, any>;

interface Work {
  session?: Json;
  key: string;
  seconds: number;
  token?: unknown;
  id: unknown;
  say(message: Json): void;
  end(message?: Json): void;
  timer?: NodeJS.Timeout;
  /** The work is no longer reported. */
  quiet?: boolean;
}

const beats = new Map<string, number>();
const sessions = new Map<string, Json>();
const working = new Set<Work>();
const tasks = new Map<string, Json>();
const finished = new Set<unknown>();

const text = (it: unknown) => ({
  resultType: 'complete',
  content: [{ type: 'text', text: String(it) }]
});
const result = (id: unknown, it: Json) => ({ jsonrpc: '2.0', id, result: it });
const error = (id: unknown, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message }
});

function begin(work: Work): void {
  const steps = Math.max(1, Math.round((work.seconds * 1000) / BEAT_MS));
  let step = 0;
  working.add(work);
  beats.set(work.key, 0);
  work.timer = setInterval(() => {
    step++;
    beats.set(work.key, step);
    if (work.token !== undefined && !work.quiet) progress(work, step);
    if (step < steps) return;
    stop(work);
    finished.add(work.id);
    if (work.quiet) return;
    if (MODE === 'answers-twice') work.say(result(work.id, text('done')));
    work.end(result(work.id, text('done')));
  }, BEAT_MS);
}

function progress(work: Work, step: number): void {
  work.say({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: work.token, progress: step }
  });
}

function stop(work: Work): void {
  clearInterval(work.timer);
  working.delete(work);
}

function cancel(work: Work): void {
  if (MODE === 'ignores-cancel') return;
  if (MODE === 'works-on-silently') {
    work.quiet = true;
    return;
  }
  stop(work);
  finished.add(work.id);
  if (MODE === 'answers-cancel') {
    work.end(error(work.id, -32800, 'Request cancelled'));
  } else if (MODE === 'reports-on') {
    let step = 10_000;
    const timer = setInterval(() => progress(work, ++step), BEAT_MS);
    setTimeout(() => clearInterval(timer), 6_000);
  } else {
    work.end();
  }
}

/** Whether the notification is accepted. */
function cancelled(session: Json, id: any): boolean {
  const own = [...working].filter((work) => work.session === session);
  const named = own.filter((work) => work.id === id);
  const isId = typeof id === 'number' || typeof id === 'string';
  if (MODE === 'refuses-cancel') return false;
  if (MODE === 'unknown-cancels-all' && isId && !named.length) {
    if (id !== session.initialize && !finished.has(id)) own.forEach(cancel);
  }
  if (MODE === 'mixes-types' && typeof id === 'string') {
    own.filter((work) => String(work.id) === id).forEach(cancel);
  }
  if (MODE === 'malformed-cancels-all' && !isId) own.forEach(cancel);
  if (MODE === 'finished-ends-session' && finished.has(id)) session.over = true;
  if (MODE === 'initialize-ends-session' && id === session.initialize) {
    session.over = true;
  }
  (MODE === 'cancels-all' && named.length ? own : named).forEach(cancel);
  if (MODE === 'breaks-next-call' && named.length) session.broken = true;
  return true;
}

function toolCall(session: Json | undefined, message: Json, way: Json): void {
  const { name, arguments: given = {}, _meta, task } = message.params;
  if (name === 'test_cancellation_heartbeat') {
    if (session?.broken && given.key === 'next-call') {
      way.end(error(message.id, -32603, 'Internal error'));
      return;
    }
    way.end(result(message.id, text(beats.get(given.key) ?? 0)));
    return;
  }
  const work: Work = {
    session,
    ...given,
    id: message.id,
    token: _meta?.progressToken,
    say: way.say,
    end: way.end
  };
  if (task) {
    const now = new Date().toISOString();
    const it: Json = {
      taskId: randomUUID(),
      status: 'working',
      createdAt: now,
      lastUpdatedAt: now,
      ttl: task.ttl ?? null
    };
    tasks.set(it.taskId, it);
    work.token = undefined;
    work.session = undefined; // its request has its response
    work.end = () => {
      if (it.status === 'working' || MODE === 'task-completes-later') {
        it.status = 'completed';
      }
    };
    it.work = work;
    begin(work);
    way.end(result(message.id, { task: shown(it) }));
    return;
  }
  way.closed = () => {
    if (!working.has(work) || session) return; // a disconnect cancels from 2026-07-28 on
    if (MODE !== 'ignores-close') stop(work);
    if (MODE === 'close-cancels-all') {
      for (const other of working) {
        stop(other);
        other.end();
      }
    }
  };
  begin(work);
}

const shown = ({ work: _, ...it }: Json) => it;

function taskCall(message: Json): Json {
  const it = tasks.get(message.params.taskId);
  if (!it) return error(message.id, -32602, 'Unknown task');
  if (message.method === 'tasks/cancel') {
    const over = it.status !== 'working';
    if (over && MODE !== 'task-cancels-twice') {
      return error(message.id, -32602, 'The task has ended');
    }
    if (MODE === 'task-says-working') return result(message.id, shown(it));
    it.status = 'cancelled';
    if (!['task-works-on', 'task-completes-later'].includes(MODE)) {
      stop(it.work);
    }
  }
  return result(message.id, shown(it));
}

const server = http
  .createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const session = sessions.get(String(req.headers['mcp-session-id']));
    if (req.method !== 'POST') {
      res.writeHead(req.method === 'DELETE' ? 200 : 405).end();
      return;
    }
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Json;
    if (session?.over) {
      res.writeHead(404).end();
      return;
    }
    if (message.id === undefined) {
      const fine =
        message.method !== 'notifications/cancelled' ||
        !session ||
        cancelled(session, message.params?.requestId);
      res.writeHead(fine ? 202 : 400).end();
      return;
    }
    const way: Json = {
      say: (it: Json) => {
        if (!res.headersSent) {
          res.writeHead(200, { 'Content-Type': 'text/event-stream' });
        }
        res.write(`event: message\ndata: ${JSON.stringify(it)}\n\n`);
      },
      end: (it?: Json) => {
        if (it) way.say(it);
        res.end();
      }
    };
    res.on('close', () => way.closed?.());
    if (message.method === 'initialize') {
      const id = randomUUID();
      sessions.set(id, { initialize: message.id });
      res.setHeader('Mcp-Session-Id', id);
      way.end(
        result(message.id, {
          protocolVersion: message.params.protocolVersion,
          serverInfo: { name: 'cancellation-server', version: '1.0.0' },
          capabilities: {
            tools: {},
            tasks: { cancel: {}, requests: { tools: { call: {} } } }
          }
        })
      );
    } else if (message.method === 'tools/call') {
      toolCall(session, message, way);
    } else if (message.method.startsWith('tasks/')) {
      way.end(taskCall(message));
    } else {
      way.end(error(message.id, -32601, 'Method not found'));
    }
  })
  .listen(PORT, () => {
    const { port } = server.address() as { port: number };
    console.log(
      `cancellation-server (${MODE}) running on http://localhost:${port}/mcp`
    );
  });
