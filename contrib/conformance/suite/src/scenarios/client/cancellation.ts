/**
 * Cancellation conformance test scenarios for MCP clients.
 *
 * Silence says nothing about what a client decided. So each scenario has the
 * client make a later call, `test_echo`: a client that makes it has given up
 * the one before, and one that passes the echoed word on to `test_confirm`
 * is unharmed. A check whose evidence is missing is reported as not testable.
 */

import http from 'node:http';
import { randomUUID } from 'node:crypto';
import {
  ConformanceCheck,
  DRAFT_PROTOCOL_VERSION,
  Scenario,
  ScenarioSource,
  ScenarioUrls,
  SpecVersion
} from '../../types';
import {
  withRequiredDraftResultFields,
  type ScenarioContext
} from '../../mock-server';
import { isStateless } from '../../connection';
import { validateWireMessage } from '../../validation/wire-schema';
import {
  BEHAVIOR,
  Checks,
  HANDSHAKE,
  TIMEOUTS,
  TIMING,
  TRANSPORT_SPECIFIC,
  type CheckDef
} from '../cancellation-checks';

/** The limit that the client is asked to put on each call. */
const LIMIT_MS = 1_500;
/** How long the echo waits, so that a cancel on another connection is not missed. */
const ECHO_MS = 500;
/** A client that has not given up initialize by then has no limit on it. */
const INITIALIZE_MS = 15_000;
/** How many calls are answered at their limit. */
const AT_LIMIT = 5;

const AFTERWARDS = `call \`test_echo\` without arguments, and at last
\`test_confirm\` with \`{word}\`, the text that \`test_echo\` returned.
All calls are made on one connection, one after another; each has the limit
\`limitMs\` of the context, and one that reaches it does not end the client.`;

type Json = Record<string, any>;

const sleep = (ms: number) => new Promise<void>((r) => setTimeout(r, ms));

/** What the client does, in the order in which it arrives. */
type Seen =
  | { what: 'request'; id: unknown; method: string; tool?: string }
  | { what: 'cancel'; id: unknown; order: 'open' | 'answered' | 'unknown' }
  | { what: 'closed'; id: unknown; tool?: string };

/** A request of the client and its stream. */
class Stream {
  open = true;
  answered = false;

  constructor(
    readonly request: Json,
    private readonly res: http.ServerResponse,
    private readonly specVersion: SpecVersion,
    closed: () => void
  ) {
    res.on('close', () => {
      if (this.open && !res.writableEnded) closed();
      this.open = false;
    });
  }

  get tool(): string | undefined {
    return this.request.params?.name;
  }

  /** Send the headers, so that the client has a stream to wait on. */
  begin(): void {
    if (this.res.headersSent) return;
    this.res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    this.res.write(': at work\n\n');
  }

  /** Answer on the request's own stream; false if the client has closed it. */
  answer(result: Json): boolean {
    if (!this.open) return false;
    const message = {
      jsonrpc: '2.0',
      id: this.request.id,
      result: isStateless({ specVersion: this.specVersion })
        ? withRequiredDraftResultFields(this.request.method, result)
        : result
    };
    validateWireMessage(this.specVersion, message, {
      origin: 'harness',
      context: `mock result for '${this.request.method}'`,
      requestMethod: this.request.method
    });
    this.begin();
    this.res.end(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    this.answered = true;
    return true;
  }
}

const text = (it: string) => ({ content: [{ type: 'text', text: it }] });

abstract class ClientCancellationScenario implements Scenario {
  abstract name: string;
  abstract description: string;
  abstract source: ScenarioSource;
  allowClientError?: boolean;
  protected abstract defs: CheckDef[];
  protected seen: Seen[] = [];
  protected streams: Stream[] = [];
  protected specVersion: SpecVersion = '2025-11-25';
  protected word = '';
  private confirmed?: unknown;
  private checks!: Checks;
  private server?: http.Server;
  private stopped = false;

  /** Called for each call of a tool that is not test_echo or test_confirm. */
  protected called(_stream: Stream): void {}
  /** Called for each cancel, before it is answered with 202. */
  protected cancelled(_stream: Stream | undefined): void {}
  /** Called when test_echo was called, before its answer. */
  protected echoed(): void {}
  protected initialize(stream: Stream): void {
    stream.answer({
      protocolVersion: this.specVersion,
      serverInfo: { name: 'cancellation-mock', version: '1.0.0' },
      capabilities: { tools: {} }
    });
  }
  /** Report the checks from what was seen; may throw for what is missing. */
  protected abstract judge(): void;
  protected abstract tools: string[];

  async start(ctx: ScenarioContext): Promise<ScenarioUrls> {
    this.specVersion = ctx.specVersion;
    this.seen = [];
    this.streams = [];
    this.confirmed = undefined;
    this.stopped = false;
    this.word = randomUUID();
    this.server = http.createServer((req, res) => void this.serve(req, res));
    await new Promise<void>((resolve) => this.server!.listen(0, resolve));
    const { port } = this.server.address() as { port: number };
    return {
      serverUrl: `http://localhost:${port}/mcp`,
      context: { limitMs: LIMIT_MS, tools: this.tools }
    };
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.server?.closeAllConnections();
    await new Promise<void>((resolve) =>
      this.server ? this.server.close(() => resolve()) : resolve()
    );
  }

  private async serve(
    req: http.IncomingMessage,
    res: http.ServerResponse
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    if (req.method !== 'POST') {
      res.writeHead(req.method === 'DELETE' ? 200 : 405).end();
      return;
    }
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Json;
    validateWireMessage(this.specVersion, message, {
      origin: 'implementation',
      context: `client message '${message.method ?? '(response)'}'`
    });
    if (message.id === undefined || message.method === undefined) {
      if (message.method === 'notifications/cancelled') {
        this.takeCancel(message.params?.requestId);
      }
      res.writeHead(202).end();
      return;
    }
    // A close may arrive when the next run has begun, and is none of its own.
    const { seen } = this;
    const stream = new Stream(message, res, this.specVersion, () => {
      if (this.stopped) return;
      seen.push({ what: 'closed', id: message.id, tool: stream.tool });
    });
    this.streams.push(stream);
    this.seen.push({
      what: 'request',
      id: message.id,
      method: message.method,
      tool: stream.tool
    });
    await this.take(stream);
  }

  private takeCancel(id: unknown): void {
    const stream = this.streams.find((it) => it.request.id === id);
    this.seen.push({
      what: 'cancel',
      id,
      order: !stream ? 'unknown' : stream.answered ? 'answered' : 'open'
    });
    this.cancelled(stream);
  }

  private async take(stream: Stream): Promise<void> {
    switch (stream.request.method) {
      case 'initialize':
        this.initialize(stream);
        return;
      case 'server/discover':
        stream.answer({
          supportedVersions: [DRAFT_PROTOCOL_VERSION],
          capabilities: { tools: {} },
          serverInfo: { name: 'cancellation-mock', version: '1.0.0' }
        });
        return;
      case 'tools/list':
        stream.answer({
          tools: [...this.tools, 'test_echo', 'test_confirm'].map((name) => ({
            name,
            description: name,
            inputSchema: {
              type: 'object',
              properties:
                name === 'test_confirm' ? { word: { type: 'string' } } : {}
            }
          }))
        });
        return;
      case 'tools/call':
        break;
      default:
        stream.answer({});
        return;
    }
    if (stream.tool === 'test_echo') {
      this.echoed();
      await sleep(ECHO_MS);
      stream.answer(text(this.word));
    } else if (stream.tool === 'test_confirm') {
      this.confirmed = stream.request.params.arguments?.word;
      stream.answer(text('confirmed'));
    } else {
      this.called(stream);
    }
  }

  getChecks(): ConformanceCheck[] {
    this.checks = new Checks(this.defs);
    try {
      this.judge();
      return this.checks.all();
    } catch (error) {
      return this.checks.all(error);
    }
  }

  protected report(id: string, wrong: string | undefined): void {
    this.checks.report(id, wrong, { seen: this.seen });
  }

  protected skip(id: string, message: string): void {
    this.checks.skip(id, { message, seen: this.seen });
  }

  // -- what was seen --------------------------------------------------------

  protected calls(tool: string): Stream[] {
    return this.streams.filter((stream) => stream.tool === tool);
  }

  /** The one call of a tool; throws if the client did not make it. */
  protected call(tool: string): Stream {
    const [first] = this.calls(tool);
    if (!first) throw new Error(`the client never called ${tool}`);
    return first;
  }

  protected get cancels(): Extract<Seen, { what: 'cancel' }>[] {
    return this.seen.filter((it) => it.what === 'cancel');
  }

  /** Why the calls after a cancel do not work; undefined if they do. */
  protected nextCallFails(): string | undefined {
    const connects = this.seen.filter(
      (it) => it.what === 'request' && it.method === 'initialize'
    );
    if (connects.length > 1) {
      return 'The client connected again';
    }
    if (!this.calls('test_echo').length) {
      return 'The client did not call test_echo afterwards';
    }
    return this.confirmed === this.word
      ? undefined
      : `The client did not pass on what test_echo returned: ${JSON.stringify(this.confirmed)}`;
  }

  /** Cancels of what was never asked, or had its answer long before. */
  protected wrongCancels(crossing: string[] = []): string | undefined {
    const wrong = this.cancels.filter(({ id, order }) => {
      const tool = this.streams.find((it) => it.request.id === id)?.tool;
      return (
        order === 'unknown' ||
        (order === 'answered' && !crossing.includes(tool ?? ''))
      );
    });
    return wrong.length === 0
      ? undefined
      : `Cancels of requests that are not in progress: ${JSON.stringify(wrong)}`;
  }

  protected repeatedCancels(): string | undefined {
    const ids = this.cancels.map(({ id }) => JSON.stringify(id));
    return new Set(ids).size === ids.length
      ? undefined
      : `The same request was cancelled more than once: ${ids.join(', ')}`;
  }
}

export class ClientCancellationTimeoutScenario extends ClientCancellationScenario {
  name = 'client-cancellation-timeout';
  readonly source = { introducedIn: '2025-03-26' } as const;
  description = `Test that a call that reaches the client's limit is cancelled.

The client is to call \`test_never_answers\`, then ${AFTERWARDS}

**Requirements**:
- The client SHOULD cancel the call: up to 2025-11-25 by
  \`notifications/cancelled\`, from 2026-07-28 on by closing the stream.
- A cancel MUST name a request of the client that is in progress.`;
  protected tools = ['test_never_answers'];
  protected defs: CheckDef[] = [
    {
      id: 'client-cancellation-sent',
      name: 'ClientCancellationSent',
      description: 'Client cancels a call that reached its limit',
      severity: 'WARNING',
      specReferences: [TIMEOUTS, TRANSPORT_SPECIFIC]
    },
    {
      id: 'client-cancellation-names-request',
      name: 'ClientCancellationNamesRequest',
      description:
        'Each cancel names a request that is in progress, by the same id and type',
      severity: 'FAILURE',
      specReferences: [BEHAVIOR]
    },
    {
      id: 'client-cancellation-once',
      name: 'ClientCancellationOnce',
      description: 'A request is cancelled once',
      severity: 'FAILURE',
      specReferences: [BEHAVIOR]
    },
    {
      id: 'client-cancellation-next-call',
      name: 'ClientCancellationNextCall',
      description: 'The next call on the same connection works',
      severity: 'FAILURE',
      specReferences: [TIMING]
    }
  ];

  protected called(stream: Stream): void {
    stream.begin();
  }

  /** What had arrived when the echo was answered. */
  private get before(): Seen[] {
    const confirm = this.seen.findIndex(
      (it) => it.what === 'request' && it.tool === 'test_confirm'
    );
    return confirm < 0 ? this.seen : this.seen.slice(0, confirm);
  }

  protected judge(): void {
    const { id } = this.call('test_never_answers').request;
    const next = this.nextCallFails();
    this.report('client-cancellation-next-call', next);
    if (!this.calls('test_echo').length) {
      throw new Error('no later call shows that the client gave the call up');
    }
    const closes = this.before.filter(
      (it) => it.what === 'closed' && it.id === id
    );
    const cancels = this.before.filter(
      (it) => it.what === 'cancel' && it.id === id
    );
    if (isStateless({ specVersion: this.specVersion })) {
      this.report(
        'client-cancellation-sent',
        closes.length
          ? undefined
          : 'The client went on to the next call and left the stream open'
      );
    } else {
      this.report(
        'client-cancellation-sent',
        cancels.length
          ? undefined
          : 'The client went on to the next call and sent no notifications/cancelled for this one'
      );
    }
    if (this.cancels.length === 0) {
      const why = 'The client sent no notifications/cancelled';
      this.skip('client-cancellation-names-request', why);
      this.skip('client-cancellation-once', why);
      return;
    }
    this.report('client-cancellation-names-request', this.wrongCancels());
    this.report('client-cancellation-once', this.repeatedCancels());
  }
}

export class ClientCancellationLateResponseScenario extends ClientCancellationScenario {
  name = 'client-cancellation-late-response';
  readonly source = HANDSHAKE;
  description = `Test that a client ignores the response to a request that it cancelled.

The client is to call \`test_answers_late\`, then ${AFTERWARDS}
The response comes while \`test_echo\` is in flight.

**Requirements**:
- The client SHOULD ignore the late response: it harms nothing.`;
  protected tools = ['test_answers_late'];
  protected defs: CheckDef[] = [
    {
      id: 'client-cancellation-late-response-ignored',
      name: 'ClientCancellationLateResponseIgnored',
      description:
        'A late response ends neither the connection nor the call in flight, and is not taken for the answer to it',
      severity: 'WARNING',
      specReferences: [BEHAVIOR]
    },
    {
      id: 'client-cancellation-late-response-no-cancel',
      name: 'ClientCancellationLateResponseNoCancel',
      description: 'A late response brings no second cancel',
      severity: 'FAILURE',
      specReferences: [BEHAVIOR]
    }
  ];
  private delivered = false;

  protected called(stream: Stream): void {
    this.delivered = false;
    stream.begin();
  }

  protected echoed(): void {
    const [late] = this.calls('test_answers_late');
    if (late && !late.answered) this.delivered = late.answer(text('late'));
  }

  protected judge(): void {
    this.call('test_answers_late');
    this.call('test_echo');
    if (this.cancels.length === 0) {
      throw new Error('the client did not cancel the call');
    }
    if (!this.delivered) {
      const why =
        'The client had closed the stream, so no late response can reach it';
      this.skip('client-cancellation-late-response-ignored', why);
    } else {
      this.report(
        'client-cancellation-late-response-ignored',
        this.nextCallFails()
      );
    }
    this.report(
      'client-cancellation-late-response-no-cancel',
      this.repeatedCancels() ?? this.wrongCancels()
    );
  }
}

export class ClientCancellationCrossingScenario extends ClientCancellationScenario {
  name = 'client-cancellation-crossing';
  readonly source = HANDSHAKE;
  description = `Test that an answer and a cancel that cross do no harm.

The client is to call \`test_crosses\`, then \`test_answers_at_limit\` ${AT_LIMIT} times,
then ${AFTERWARDS}
The first is answered when its cancel arrives, before the cancel is accepted;
the others are answered about when they reach their limit, so that either may
come first.

**Requirements**:
- Both parties MUST handle these races gracefully.`;
  protected tools = [
    'test_crosses',
    ...Array<string>(AT_LIMIT).fill('test_answers_at_limit')
  ];
  protected defs: CheckDef[] = [
    {
      id: 'client-cancellation-crossing-next-call',
      name: 'ClientCancellationCrossingNextCall',
      description:
        'After answers and cancels that crossed, the next calls on the same connection work',
      severity: 'FAILURE',
      specReferences: [TIMING]
    },
    {
      id: 'client-cancellation-crossing-names-request',
      name: 'ClientCancellationCrossingNamesRequest',
      description:
        'Each cancel names a request of the client, once, and none that was over before',
      severity: 'FAILURE',
      specReferences: [BEHAVIOR, TIMING]
    }
  ];

  protected called(stream: Stream): void {
    stream.begin();
    if (stream.tool === 'test_answers_at_limit') {
      // A client's clock began before ours: each answer is a little earlier.
      const early = 20 * (this.calls(stream.tool).length - 1);
      setTimeout(() => stream.answer(text('at the limit')), LIMIT_MS - early);
    }
  }

  protected cancelled(stream: Stream | undefined): void {
    if (stream?.tool === 'test_crosses' && !stream.answered) {
      stream.answer(text('crossed'));
    }
  }

  protected judge(): void {
    const first = this.call('test_crosses');
    this.call('test_answers_at_limit');
    if (!this.cancels.some(({ id }) => id === first.request.id)) {
      throw new Error('the client did not cancel the call of test_crosses');
    }
    const calls = this.calls('test_answers_at_limit').length;
    this.report(
      'client-cancellation-crossing-next-call',
      calls < AT_LIMIT
        ? `The client made ${calls} of ${AT_LIMIT} calls of test_answers_at_limit`
        : this.nextCallFails()
    );
    this.report(
      'client-cancellation-crossing-names-request',
      this.repeatedCancels() ??
        this.wrongCancels(['test_crosses', 'test_answers_at_limit'])
    );
  }
}

export class ClientCancellationInitializeScenario extends ClientCancellationScenario {
  name = 'client-cancellation-initialize';
  readonly source = HANDSHAKE;
  allowClientError = true;
  description = `Test that a client does not cancel \`initialize\`.

The server never answers \`initialize\`. The client is to give up within ten
seconds, and to end.

**Requirements**:
- The \`initialize\` request MUST NOT be cancelled by clients.`;
  protected tools: string[] = [];
  protected defs: CheckDef[] = [
    {
      id: 'client-cancellation-initialize-not-cancelled',
      name: 'ClientCancellationInitializeNotCancelled',
      description:
        'A client that gives initialize up sends no notifications/cancelled for it',
      severity: 'FAILURE',
      specReferences: [BEHAVIOR]
    }
  ];
  private waits = 0;

  protected initialize(stream: Stream): void {
    stream.begin();
    this.waits = Date.now();
  }

  protected judge(): void {
    const [stream] = this.streams.filter(
      (it) => it.request.method === 'initialize'
    );
    if (!stream) throw new Error('the client sent no initialize');
    const cancel = this.cancels.find(({ id }) => id === stream.request.id);
    const waited = Date.now() - this.waits;
    if (!cancel && waited > INITIALIZE_MS) {
      throw new Error(
        `the client had not given initialize up after ${waited} ms`
      );
    }
    this.report(
      'client-cancellation-initialize-not-cancelled',
      cancel
        ? 'The client sent notifications/cancelled for initialize'
        : undefined
    );
  }
}
