// The client for the judge of clients, for Node: `node judged_client.mjs FAULT [modern]`; judged_client.py is the same.
import { spawn } from 'node:child_process';

const [name = 'good', era] = process.argv.slice(2);
const [RULE, FAULT] = [name.split(' ')[0], name.split(' ').slice(1).join(' ')];
const env = process.env, X = env.MCP_EXPERIMENT, URL = env.MCP_SERVER_URL, MODERN = era === 'modern';
const LIMIT = 1000 * env.MCP_TIMEOUT, MAXIMUM = 1000 * env.MCP_MAX_TIMEOUT || Infinity, WAITS = 30_000;
const TOOL = env.MCP_TOOL, ARGUMENTS = JSON.parse(env.MCP_ARGUMENTS), ADD = { name: 'add', arguments: { a: 1, b: 2 } };
const KEY = 'io.modelcontextprotocol/', INFO = { name: 'judged-node', version: '1' };
const META = {
  [`${KEY}protocolVersion`]: '2026-07-28',
  [`${KEY}clientInfo`]: INFO,
  [`${KEY}clientCapabilities`]: { extensions: { [`${KEY}tasks`]: {} } },
};
const HARMED = { 'K-07': ['limit', 'stop'], 'K-08': ['late-progress'], 'K-09': ['crossing'], 'K-10': ['question'], 'K-11': ['unknown-cancel'] };
const planted = (rule, ...faults) => rule === RULE && faults.includes(FAULT);
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const waits = new Map(), givenUp = [], asked = [], takenBack = [];
let ids = RULE === 'good' ? 0 : 1, deaf = false, poison = false, mistaken = false, lost = '', transport;

// -- the server ------------------------------------------------------------------------------------------------

function pipe() {
  const words = env.MCP_SERVER_COMMAND.match(/'[^']*'|\S+/g).map((word) => word.replace(/^'|'$/g, ''));
  const server = spawn(words[0], words.slice(1), { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const over = new Promise((done) => server.on('exit', () => done(true)));
  const leaves = RULE === 'K-15' && ((FAULT === 'leaves' && X.startsWith('sig')) || FAULT === X);
  if (!leaves && !(RULE === 'K-15' && FAULT === 'no guard') && !(RULE === 'K-14' && X === 'exit')) // what ends it when this process is gone, whatever ended that
    spawn('sh', ['-c', `read x; sleep .3; kill -9 ${server.pid}`], { stdio: ['pipe', 'ignore', 'ignore'], detached: true }).unref();
  server.stdin.on('error', () => {});
  over.then(() => failed('reset'));
  let rest = '';
  server.stdout.on('data', (data) => {
    const lines = (rest + data).split('\n');
    rest = lines.pop();
    lines.forEach((line) => take(JSON.parse(line)));
  });
  return {
    send: (message) => new Promise((done) => server.stdin.write(`${JSON.stringify(message)}\n`, done)),
    async end() {
      if (planted('K-14', 'leaves') || leaves) return;
      if (planted('K-14', 'terminates')) (server.kill('SIGTERM'), await sleep(500));
      if (!planted('K-14', 'kills')) {
        server.stdin.end();
        for (const signal of ['SIGTERM', 'SIGKILL']) {
          if (await Promise.race([over, sleep(500)])) return;
          server.kill(signal);
        }
      }
      server.kill('SIGKILL');
      await over;
    },
  };
}

function web() {
  let session;
  const headers = ({ method = '', params = {} }) => ({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(MODERN ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': params.taskId ?? params.name ?? '' } : {}),
    ...(session && !MODERN ? { 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': session } : {}),
  });
  async function post(message, signal) {
    try {
      const answer = await fetch(URL, { method: 'POST', body: JSON.stringify(message), headers: headers(message), signal });
      session = answer.headers.get('mcp-session-id') ?? session;
      if (answer.status >= 400) return failed(answer.status === 404 ? 'session' : 'gateway', message.id);
      if (!answer.headers.get('content-type')?.includes('event-stream')) {
        const text = await answer.text();
        if (text && answer.status === 200) take(JSON.parse(text));
        return;
      }
      let rest = '';
      for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop();
        for (const line of lines) if (line.startsWith('data:')) take(JSON.parse(line.slice(5)));
      }
      failed('cut', message.id);
    } catch {
      failed('reset', message.id); // it was closed, by whomever
    }
  }
  return {
    send: (message, signal) => (message.method && 'id' in message ? void post(message, signal) : post(message)),
    async end() {
      if (MODERN || planted('K-14', 'leaves', 'kills')) return;
      const named = planted('K-14', 'terminates') ? 'another' : session;
      await fetch(URL, { method: 'DELETE', headers: { 'mcp-session-id': named } }).catch(() => {});
    },
  };
}

// -- what the server sends -------------------------------------------------------------------------------------

function take(message) {
  if (deaf) return;
  const { id, method, params } = message;
  if (method && 'id' in message) {
    asked.push(id);
    question(id);
  } else if (method === 'notifications/cancelled') {
    takenBack.push(params.requestId);
    disturbed(asked.includes(params.requestId) ? 'K-10' : 'K-11', message);
  } else if (method === 'notifications/progress') {
    if (givenUp.some((each) => params.progressToken === `token ${each}`)) disturbed('K-08', message);
    for (const [each, wait] of waits) if (params.progressToken === `token ${each}`) wait.arm();
  } else if (givenUp.includes(id)) {
    if (FAULT === 'cancels too late' && X === { 'K-01': 'limit', 'K-02': 'stop' }[RULE])
      notify('notifications/cancelled', { requestId: id });
    disturbed(X === 'crossing' ? 'K-09' : 'K-07', message);
  } else waits.get(id)?.done(message);
}

// The call `id`, or the one in flight, gets no answer any more.
function failed(fault, id) {
  for (const [each, wait] of [...waits]) if (wait.rule === 'once' && (id ?? each) === each) ((lost = fault), wait.done());
}

function disturbed(rule, message) {
  if (rule !== RULE || !HARMED[rule].includes(X)) return;
  if (FAULT === 'dies') throw new TypeError('nobody waits for this');
  if (FAULT === 'dies quietly') process.exit(0);
  if (FAULT === 'crashes') process.kill(process.pid, 'SIGKILL');
  if (FAULT === 'hangs') deaf = true;
  if (FAULT === 'complains') console.error('Error: nobody waits for this');
  if (FAULT === 'fails later') poison = true;
  if (FAULT === 'mistakes it' || (FAULT === 'aborts its call' && waits.size)) {
    const [first] = waits.values();
    if (first) first.done({});
    else mistaken = true;
  }
  const id = message.id ?? message.params.requestId;
  if (FAULT === 'answers it') transport.send({ jsonrpc: '2.0', id, error: { code: -32600, message: 'unexpected' } });
  if (FAULT === 'starts again') ((transport = URL ? web() : pipe()), connect());
}

async function question(id) {
  if (planted('K-03', 'cancels the question')) notify('notifications/cancelled', { requestId: id, reason: 'no time' });
  for (let count = 0; count < 15; count++) {
    await sleep(100);
    if (takenBack.includes(id) && planted('K-10', 'answers at once')) break;
    if (takenBack.includes(id) && planted('K-10', 'answers with an error'))
      return transport.send({ jsonrpc: '2.0', id, error: { code: 0, message: 'cancelled' } });
  }
  const ignores = planted('K-10', 'answers', 'answers at once') || (planted('K-10', 'answers the second') && id === asked[1]);
  if (takenBack.includes(id) && !ignores) return;
  await transport.send({ jsonrpc: '2.0', id, result: { action: 'decline' } });
  if (planted('K-03', 'cancels what it answered')) notify('notifications/cancelled', { requestId: id, reason: 'no time' });
}

// -- what it sends ---------------------------------------------------------------------------------------------

const notify = (method, params) => transport.send({ jsonrpc: '2.0', method, ...(params && { params }) });

function nextId(method) {
  if (planted('K-12', 'reuses an id') && X === 'ids' && method === 'tools/call') return 1;
  const again = planted('K-12', 'reuses the id of a cancelled call') && X === 'late-progress';
  return again && givenUp.length ? givenUp.pop() : ids++;
}

function send(id, method, params, token) {
  const meta = { ...(MODERN && META), ...(token && { progressToken: token }) };
  const closing = new AbortController();
  transport.send({ jsonrpc: '2.0', id, method, params: { ...params, ...(Object.keys(meta).length && { _meta: meta }) } }, closing.signal);
  return closing;
}

// The response; nothing where a limit was reached or it was stopped. Progress resets the limit.
function request(method, params, limit = WAITS, { token, most = Infinity, stop = Infinity, rule, id = nextId(method) } = {}) {
  if (planted('K-13', 'no maximum', 'late maximum')) most = FAULT === 'no maximum' ? Infinity : 2 * most;
  return new Promise((resolve) => {
    const timers = [], began = Date.now();
    let idle;
    const over = (answer) => {
      [idle, ...timers].forEach(clearTimeout);
      waits.delete(id);
      resolve(answer);
    };
    const giveUp = async () => {
      givenUp.push(id);
      waits.delete(id);
      if (rule && !(rule === 'once' && planted('K-18', 'limit'))) await cancel(id, rule, closing);
      if (!planted(rule, 'tells nobody') && rule !== 'once') console.log('gave up');
      over();
    };
    const arm = () => {
      clearTimeout(idle);
      idle = setTimeout(giveUp, limit);
      if (planted('K-13', 'pushed back') && most < Infinity) {
        clearTimeout(timers[0]);
        timers[0] = setTimeout(giveUp, most - 0.2 * (Date.now() - began));
      }
    };
    for (const each of [most, stop]) if (each < Infinity) timers.push(setTimeout(giveUp, each));
    if (mistaken) return (mistaken = false), send(id, method, params), resolve({});
    arm();
    const closing = send(id, method, params, token === true ? `token ${id}` : token);
    waits.set(id, { done: over, arm, closing, rule });
  });
}

async function cancel(id, rule, closing) {
  if (planted(rule, 'sends nothing', 'tells nobody', 'cancels too late')) return;
  let reason = 'it took too long';
  if (RULE === 'K-17') reason = { 'an error': 'McpError: -32001', 'an object': { code: 1 }, 'no words': '[object Object]' }[FAULT];
  let requestId = id;
  if (RULE === 'K-04') requestId = { 'a string': `${id}`, another: id + 100, 'a fraction': id + 0.5, nothing: null }[FAULT] ?? (FAULT === 'nothing' ? null : id);
  if (planted('K-03', 'another kind too', 'another kind')) await notify('notifications/canceled', { requestId, reason });
  if (planted('K-03', 'a request')) send(ids++, 'tools/cancel', { requestId: `${id}` });
  if (planted('K-03', 'a task')) send(ids++, 'tasks/cancel', { taskId: `${id}` });
  if (planted('K-03', 'another kind', 'a request', 'a task')) return;
  if (MODERN && URL && !planted('K-03', 'a notification')) {
    closing.abort();
    if (!planted('K-03', 'both')) return;
  }
  await notify('notifications/cancelled', { requestId, reason });
  if (planted('K-04', 'twice')) await notify('notifications/cancelled', { requestId, reason });
}

// -- what it does ----------------------------------------------------------------------------------------------

async function connect() {
  const limit = X === 'initialize' ? LIMIT : 60_000;
  if (MODERN) return request('server/discover', {}, limit);
  const opening = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: INFO };
  const id = nextId('initialize');
  if (!(await request('initialize', opening, limit, { id }))) {
    if (RULE === 'K-05') {
      await notify('notifications/cancelled', { requestId: id, ...(FAULT === 'with a reason' && { reason: 'no answer' }) });
    }
    if (!planted('K-05', 'and ends')) await sleep(1500);
    await transport.end();
    process.exit(4);
  }
  await notify('notifications/initialized');
}

async function add() {
  if (poison) process.exit(1);
  const token = planted('K-12', 'reuses a token') && X === 'ids' ? 'same' : undefined;
  const id = nextId('tools/call');
  const made = [request('tools/call', ADD, WAITS, { token, rule: 'add', id })];
  if (token) made.push(request('tools/call', ADD, WAITS, { token }));
  await Promise.all(made);
  if (planted('K-04', 'what was answered')) await notify('notifications/cancelled', { requestId: id });
}

// Sends the call again only where the specification asks for it, or where its fault says so.
async function once() {
  const again = ['session'];
  if (RULE === 'K-18') again.push({ 'same id': 'reset', 'asks again': 'limit', cancels: 'limit' }[FAULT] ?? FAULT);
  const called = { name: TOOL, arguments: ARGUMENTS };
  if (planted('K-18', 'in parallel')) send(ids++, 'tools/call', called);
  let fault;
  for (let count = 0; count < 3; count++) {
    lost = '';
    const answer = await request('tools/call', called, LIMIT, { rule: 'once' });
    fault = answer ? '' : lost || 'limit';
    if (!again.includes(fault)) break;
    if (FAULT === 'asks again') (console.log('gave up'), await sleep(600)); // its caller does, when it was told
    if (!['reset', 'session'].includes(fault)) continue;
    if (FAULT === 'same id') ((ids = 1), (givenUp.length = 0));
    transport = URL ? web() : pipe();
    await connect();
  }
  console.log('gave up');
  if (fault === 'limit') await add();
}

async function asTask() {
  const called = { name: TOOL, arguments: ARGUMENTS, ...(MODERN ? {} : { task: {} }) };
  const { id, result } = await request('tools/call', called);
  const taskId = MODERN ? result.taskId : result.task.taskId;
  if (planted('K-06', 'a notification', 'both')) await notify('notifications/cancelled', { requestId: id });
  if (planted('K-06', 'its name')) await notify('notifications/cancelled', { requestId: taskId });
  if (RULE !== 'K-06' || ['both', 'another'].includes(FAULT))
    await request('tasks/cancel', { taskId: planted('K-06', 'another') ? 'another' : taskId });
}

async function end(status = 0) {
  await transport.end();
  process.exit(status);
}

for (const [signal, number] of [['SIGINT', 2], ['SIGTERM', 15]])
  process.on(signal, async () => {
    if (planted('K-16', 'forgets')) await add();
    else if (!planted('K-16', signal)) for (const [id, { closing }] of [...waits]) await cancel(id, 'cancel', closing);
    await transport.end();
    process.exit(128 + number);
  });

transport = URL ? web() : pipe();
await connect();
const call = (limit, more) => request('tools/call', { name: TOOL, arguments: ARGUMENTS }, limit, more);
if (X === 'task') await asTask();
else if (X === 'repeat') (await once(), await end());
else if (X === 'stop') await call(60_000, { stop: 300, rule: 'K-02' });
else if (X === 'limit' || X === 'crossing') await call(LIMIT, { rule: X === 'limit' ? 'K-01' : 'cancel' });
else if (X === 'late-progress' || X === 'progress') await call(LIMIT, { most: MAXIMUM, token: true, rule: 'cancel' });
else if (X === 'question' || X === 'unknown-cancel') await call(WAITS, { rule: 'cancel' });
else if (X.startsWith('sig')) await call(60_000);
for (let count = X === 'ids' ? 20 : 1; count > 0; count--) await add();
if (X === 'crossing') {
  await call(LIMIT, { rule: 'cancel' });
  await add();
}
await end();
