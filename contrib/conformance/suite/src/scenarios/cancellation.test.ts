/**
 * Each cancellation scenario passes an implementation that obeys, and fails one
 * that breaks a rule, in the check for that rule.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { createServerFor } from '../mock-server';
import { testContext } from '../connection/testing';
import {
  DRAFT_PROTOCOL_VERSION,
  LATEST_SPEC_VERSION,
  type ConformanceCheck,
  type SpecVersion
} from '../types';
import { takeWireViolations } from '../validation/wire-schema';
import { clientScenarios, scenarios } from './index';

// Not the tsx command: killing that would leave its child behind.
const TSX = ['--import', 'tsx'];
const SERVER = path.join(
  process.cwd(),
  'examples/servers/typescript/cancellation-server.ts'
);
const CLIENT = path.join(
  process.cwd(),
  'examples/clients/typescript/cancellation-client.ts'
);
/** The checks that did not pass. */
function broken(checks: ConformanceCheck[]): Record<string, string> {
  return Object.fromEntries(
    checks
      .filter(({ status }) => status !== 'SUCCESS' && status !== 'SKIPPED')
      .map(({ id, status }) => [id, status])
  );
}

async function judgeServer(
  scenario: string,
  mode: string
): Promise<ConformanceCheck[]> {
  const server: ChildProcess = spawn(process.execPath, [...TSX, SERVER, mode], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit']
  });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      server.once('exit', () => reject(new Error('the server ended')));
      server.stdout!.once('data', (data) => resolve(/http\S+/.exec(data)![0]));
    });
    const it = clientScenarios.get(scenario)!;
    const version =
      'introducedIn' in it.source &&
      it.source.introducedIn === DRAFT_PROTOCOL_VERSION
        ? DRAFT_PROTOCOL_VERSION
        : LATEST_SPEC_VERSION;
    return await it.run(testContext(url, version));
  } finally {
    server.kill('SIGKILL');
  }
}

async function judgeClient(
  name: string,
  mode: string,
  specVersion: SpecVersion
): Promise<ConformanceCheck[]> {
  const scenario = scenarios.get(name)!;
  const urls = await scenario.start({
    specVersion,
    createServer: createServerFor(specVersion)
  });
  try {
    const client = spawn(
      process.execPath,
      [...TSX, CLIENT, mode, urls.serverUrl],
      {
        env: {
          ...process.env,
          MCP_CONFORMANCE_SCENARIO: name,
          MCP_CONFORMANCE_PROTOCOL_VERSION: specVersion,
          MCP_CONFORMANCE_CONTEXT: JSON.stringify({ name, ...urls.context })
        },
        stdio: ['ignore', 'ignore', 'inherit']
      }
    );
    const timer = setTimeout(() => client.kill('SIGKILL'), 20_000);
    await new Promise((resolve) => client.once('exit', resolve));
    clearTimeout(timer);
    return scenario.getChecks();
  } finally {
    await scenario.stop();
  }
}

/** A client that breaks a rule may break the schema too. */
async function judgeBreakingClient(
  name: string,
  mode: string,
  specVersion: SpecVersion = LATEST_SPEC_VERSION
): Promise<ConformanceCheck[]> {
  const checks = await judgeClient(name, mode, specVersion);
  takeWireViolations();
  return checks;
}

/** Each mode fails its check, whose id is `check` after `server-cancellation-` or so. */
function eachFails(
  title: string,
  side: 'server' | 'client',
  judge: (scenario: string, mode: string) => Promise<ConformanceCheck[]>,
  rows: [
    scenario: string,
    mode: string,
    check: string,
    status: 'FAILURE' | 'WARNING'
  ][]
): void {
  it.each(rows)(
    title,
    async (scenario, mode, check, status) => {
      const checks = await judge(scenario, mode);
      expect(broken(checks)).toMatchObject({
        [`${side}-cancellation-${check}`]: status
      });
    },
    60_000
  );
}

const STOPS = 'server-cancellation-stops';
const UNKNOWN = 'server-cancellation-unknown-request';
const FINISHED = 'server-cancellation-finished-request';
const INITIALIZE = 'server-cancellation-initialize';
const TASK = 'server-cancellation-task';
const CLOSED = 'server-cancellation-closed-stream';

describe.each([STOPS, UNKNOWN, FINISHED, INITIALIZE, TASK, CLOSED])(
  '%s',
  (scenario) => {
    it('passes a server that obeys', async () => {
      const checks = await judgeServer(scenario, 'good');
      expect(checks.length).toBeGreaterThan(0);
      expect(checks.map(({ id, status }) => [id, status])).toEqual(
        checks.map(({ id }) => [id, 'SUCCESS'])
      );
    }, 40_000);
  }
);

describe('servers that break a rule', () => {
  eachFails('%s: %s', 'server', judgeServer, [
    [STOPS, 'works-on-silently', 'work-stopped', 'WARNING'],
    [STOPS, 'ignores-cancel', 'work-stopped', 'WARNING'],
    [STOPS, 'ignores-cancel', 'no-response', 'WARNING'],
    [STOPS, 'answers-cancel', 'no-response', 'WARNING'],
    [STOPS, 'reports-on', 'no-progress', 'WARNING'],
    [STOPS, 'refuses-cancel', 'accepted', 'FAILURE'],
    [STOPS, 'cancels-all', 'other-call-unharmed', 'FAILURE'],
    [STOPS, 'breaks-next-call', 'next-call', 'FAILURE'],
    [UNKNOWN, 'unknown-cancels-all', 'unknown-ignored', 'WARNING'],
    [UNKNOWN, 'mixes-types', 'other-type-ignored', 'WARNING'],
    [UNKNOWN, 'malformed-cancels-all', 'malformed-ignored', 'WARNING'],
    [FINISHED, 'finished-ends-session', 'finished-ignored', 'WARNING'],
    [FINISHED, 'finished-ends-session', 'finished-next-call', 'FAILURE'],
    [FINISHED, 'answers-twice', 'crossing-one-response', 'FAILURE'],
    [INITIALIZE, 'initialize-ends-session', 'initialize-ignored', 'WARNING'],
    [TASK, 'task-works-on', 'task-work-stopped', 'WARNING'],
    [TASK, 'task-says-working', 'task-cancelled', 'FAILURE'],
    [TASK, 'task-completes-later', 'task-stays-cancelled', 'FAILURE'],
    [TASK, 'task-cancels-twice', 'task-twice-refused', 'FAILURE'],
    [CLOSED, 'ignores-close', 'close-work-stopped', 'FAILURE'],
    [CLOSED, 'close-cancels-all', 'close-other-call-unharmed', 'FAILURE']
  ]);

  it('sees by the heartbeat alone that a silent server works on', async () => {
    const checks = await judgeServer(STOPS, 'works-on-silently');
    expect(broken(checks)).toEqual({
      'server-cancellation-work-stopped': 'WARNING'
    });
  }, 40_000);
});

const TIMEOUT = 'client-cancellation-timeout';
const LATE = 'client-cancellation-late-response';
const CROSSING = 'client-cancellation-crossing';
const CONNECTS = 'client-cancellation-initialize';

describe('clients', () => {
  it.each([
    [TIMEOUT, LATEST_SPEC_VERSION],
    [TIMEOUT, DRAFT_PROTOCOL_VERSION],
    [LATE, LATEST_SPEC_VERSION],
    [CROSSING, LATEST_SPEC_VERSION],
    [CONNECTS, LATEST_SPEC_VERSION]
  ] as const)(
    '%s passes one that obeys (%s)',
    async (name, version) => {
      const checks = await judgeClient(name, 'good', version);
      expect(broken(checks)).toEqual({});
      expect(checks.some(({ status }) => status === 'SUCCESS')).toBe(true);
    },
    40_000
  );

  eachFails(
    '%s fails one that breaks a rule: %s',
    'client',
    judgeBreakingClient,
    [
      [TIMEOUT, 'silent', 'sent', 'WARNING'],
      [TIMEOUT, 'wrong-id', 'names-request', 'FAILURE'],
      [TIMEOUT, 'text-id', 'names-request', 'FAILURE'],
      [TIMEOUT, 'cancels-twice', 'once', 'FAILURE'],
      [TIMEOUT, 'cancels-answered', 'names-request', 'FAILURE'],
      [TIMEOUT, 'gives-up', 'next-call', 'FAILURE'],
      [LATE, 'takes-the-next-answer', 'late-response-ignored', 'WARNING'],
      [LATE, 'reconnects', 'late-response-ignored', 'WARNING'],
      [LATE, 'cancels-twice', 'late-response-no-cancel', 'FAILURE'],
      [CROSSING, 'gives-up', 'crossing-next-call', 'FAILURE'],
      [CROSSING, 'text-id', 'crossing-names-request', 'FAILURE'],
      [CONNECTS, 'cancels-initialize', 'initialize-not-cancelled', 'FAILURE'],
      [CONNECTS, 'waits-for-initialize', 'initialize-not-cancelled', 'FAILURE']
    ]
  );

  it.each(['silent', 'notifies-only'])(
    'the stream that a client leaves open at 2026-07-28 is no cancel: %s',
    async (mode) => {
      const checks = await judgeBreakingClient(
        TIMEOUT,
        mode,
        DRAFT_PROTOCOL_VERSION
      );
      expect(broken(checks)).toMatchObject({
        'client-cancellation-sent': 'WARNING'
      });
    },
    40_000
  );
});
