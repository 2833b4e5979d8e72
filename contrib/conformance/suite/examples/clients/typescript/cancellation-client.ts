#!/usr/bin/env node

/**
 * A client for the client-cancellation-* scenarios, on plain fetch.
 *
 * `cancellation-client.ts MODE URL` does what the scenario asks, or breaks one
 * rule in the way that MODE names. It speaks 2025-11-25 and 2026-07-28.
 */

const [MODE, URL_OF_SERVER] = process.argv.slice(2);
const VERSION = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25';
const MODERN = VERSION >= '2026-07-28';
const { limitMs, tools } = JSON.parse(
  process.env.MCP_CONFORMANCE_CONTEXT ?? '{}'
) as { limitMs: number; tools: string[] };

type Json = Record<string, any>;
let lastId = 0;
let lateAnswer: Json | undefined;

async function post(message: Json, signal?: AbortSignal): Promise<Response> {
  return fetch(URL_OF_SERVER, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': VERSION,
      ...(MODERN && { 'Mcp-Method': message.method }),
      ...(MODERN && message.params?.name && { 'Mcp-Name': message.params.name })
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal
  });
}

const notify = (method: string, params?: Json) => post({ method, params });
const cancel = (requestId: unknown) =>
  notify('notifications/cancelled', { requestId, reason: 'timed out' });

async function answer(response: Response): Promise<Json> {
  const data = /^data: (.*)$/m.exec(await response.text())?.[1];
  return JSON.parse(data ?? 'null') as Json;
}

/** The result, or undefined when the limit was reached. */
async function request(
  method: string,
  params: Json = {}
): Promise<Json | undefined> {
  const id = ++lastId;
  const abort = new AbortController();
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': {
      name: 'cancellation-client',
      version: '1.0.0'
    },
    'io.modelcontextprotocol/clientCapabilities': {}
  };
  const asked = post(
    { id, method, params: MODERN ? { ...params, _meta: meta } : params },
    abort.signal
  ).then(answer);
  asked.then(
    (it) => (lateAnswer = it),
    () => undefined
  );
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  const got = await Promise.race([asked, limit]);
  clearTimeout(timer);
  if (got) {
    if (MODE === 'cancels-answered') await cancel(id);
    return got.result as Json;
  }
  if (method === 'initialize') {
    if (MODE === 'cancels-initialize') await cancel(id);
    return undefined;
  }
  if (MODE === 'silent') return undefined;
  if (MODERN) {
    if (MODE !== 'notifies-only') abort.abort();
    else await cancel(id);
    return undefined;
  }
  await cancel(
    MODE === 'wrong-id' ? id + 1000 : MODE === 'text-id' ? String(id) : id
  );
  if (MODE === 'cancels-twice') await cancel(id);
  return undefined;
}

async function connect(): Promise<boolean> {
  if (MODERN) return true;
  const hello = await request('initialize', {
    protocolVersion: VERSION,
    capabilities: {},
    clientInfo: { name: 'cancellation-client', version: '1.0.0' }
  });
  if (hello) await notify('notifications/initialized');
  return hello !== undefined;
}

async function call(name: string, args: Json = {}): Promise<string> {
  const result = await request('tools/call', { name, arguments: args });
  return result?.content?.[0]?.text ?? '';
}

async function main(): Promise<void> {
  if (!(await connect())) {
    if (MODE === 'waits-for-initialize') await new Promise(() => undefined);
    process.exit(1);
  }
  for (const name of tools) {
    await call(name);
    if (MODE === 'gives-up') process.exit(1);
    if (MODE === 'reconnects') await connect();
  }
  lateAnswer = undefined;
  if (MODE === 'takes-the-next-answer') {
    void call('test_echo');
    while (!lateAnswer) await new Promise((r) => setTimeout(r, 10));
    await call('test_confirm', {
      word: (lateAnswer as Json).result.content[0].text
    });
  } else {
    await call('test_confirm', { word: await call('test_echo') });
  }
  process.exit(0);
}

void main();
