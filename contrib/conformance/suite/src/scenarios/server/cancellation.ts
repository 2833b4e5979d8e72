/**
 * Cancellation conformance test scenarios for MCP servers.
 *
 * Whether a server stopped cannot be told from its silence: one that drops the
 * response and works on looks the same on the wire. So the oracle is a
 * heartbeat. The fixture tool `test_cancellation_work` counts a beat at least
 * ten times a second while it works, and `test_cancellation_heartbeat` returns
 * the count. A second call, which is not cancelled, works at the same time:
 * if its heartbeat stands still too, the machine was slow, and nothing is said
 * about the first.
 */

import { DRAFT_PROTOCOL_VERSION } from '../../types';
import {
  BEHAVIOR,
  DRAFT_BEHAVIOR,
  HANDSHAKE,
  INVALID,
  SENDING,
  TASK_CANCELLATION,
  TIMING,
  TRANSPORT_SPECIFIC,
  type CheckDef
} from '../cancellation-checks';
import {
  CancellationScenario,
  FIXTURES,
  incomplete,
  sleep,
  stopped,
  TRANSIT_MS,
  within,
  WORK,
  type Call,
  type Peer
} from './cancellation-helpers';

export class CancellationStopsScenario extends CancellationScenario {
  name = 'server-cancellation-stops';
  readonly source = HANDSHAKE;
  description = `Test that \`notifications/cancelled\` stops a call that is at work.

**Requirements**:
- The server SHOULD stop the work, seen by its heartbeat, and not by silence.
- It SHOULD NOT send a response for the cancelled request.
- Another call in flight and the next call are unharmed.

${FIXTURES}`;
  protected defs: CheckDef[] = [
    {
      id: 'server-cancellation-accepted',
      name: 'CancellationAccepted',
      description:
        'Server answers the POST of notifications/cancelled with 202 while the tool works',
      severity: 'FAILURE',
      specReferences: [SENDING]
    },
    {
      id: 'server-cancellation-work-stopped',
      name: 'CancellationWorkStopped',
      description: 'The heartbeat of the cancelled call stops',
      severity: 'WARNING',
      specReferences: [BEHAVIOR]
    },
    {
      id: 'server-cancellation-no-response',
      name: 'CancellationNoResponse',
      description: 'Server sends no response for the cancelled request',
      severity: 'WARNING',
      specReferences: [BEHAVIOR]
    },
    {
      id: 'server-cancellation-no-progress',
      name: 'CancellationNoProgress',
      description: 'Server sends no more progress for the cancelled request',
      severity: 'WARNING',
      specReferences: [BEHAVIOR]
    },
    {
      id: 'server-cancellation-other-call-unharmed',
      name: 'CancellationOtherCallUnharmed',
      description: 'Another call in flight works on and gets its result',
      severity: 'FAILURE',
      specReferences: [BEHAVIOR]
    },
    {
      id: 'server-cancellation-next-call',
      name: 'CancellationNextCall',
      description: 'The next call after a cancel works',
      severity: 'FAILURE',
      specReferences: [TIMING]
    }
  ];

  protected async observe(peer: Peer): Promise<void> {
    await peer.open();
    const cancelled = await peer.working();
    const other = await peer.working();

    const status = await peer.cancel(cancelled.id);
    this.report(
      'server-cancellation-accepted',
      status === 202
        ? undefined
        : `Expected HTTP 202, got ${status ?? 'no status within 3 s'}`,
      { status }
    );

    // The call that is not cancelled is watched first: if a cancel of one ends
    // both, there is no control, and that is the finding.
    const harmed = other.responses.length > 0;
    if (!harmed) {
      try {
        const seen = await peer.watch(cancelled, other);
        this.report('server-cancellation-work-stopped', stopped(seen), seen);
      } catch (error) {
        this.report(
          'server-cancellation-next-call',
          await peer.nextCallFails()
        );
        this.report(
          'server-cancellation-other-call-unharmed',
          await incomplete(other)
        );
        throw error;
      }
    }
    const before = cancelled.progress;
    // It began later and works as long: what the cancelled call would have
    // sent has been sent by then.
    const wrong = await incomplete(other);
    await sleep(TRANSIT_MS);
    this.report('server-cancellation-other-call-unharmed', wrong);
    this.report(
      'server-cancellation-no-response',
      cancelled.responses.length === 0
        ? undefined
        : `Got a response for the cancelled request: ${JSON.stringify(cancelled.responses[0])}`,
      { watched: 'until a call that began later had its result' }
    );
    this.report('server-cancellation-next-call', await peer.nextCallFails());
    if (other.progress === 0) {
      throw new Error(`the fixture tool ${WORK} reported no progress`);
    }
    this.report(
      'server-cancellation-no-progress',
      cancelled.progress === before
        ? undefined
        : `Got ${cancelled.progress - before} progress notifications after the cancel`
    );
  }
}

export class CancellationUnknownRequestScenario extends CancellationScenario {
  name = 'server-cancellation-unknown-request';
  readonly source = HANDSHAKE;
  description = `Test that a \`notifications/cancelled\` that names no request in progress is ignored.

**Requirements**:
- Cancels of an unknown id, of an id of another type than that of a call in
  flight (\`"7"\` for \`7\`), and malformed ones SHOULD be ignored.
- The call in flight works on meanwhile, seen by its heartbeat.

${FIXTURES}`;
  protected defs: CheckDef[] = [
    {
      id: 'server-cancellation-unknown-ignored',
      name: 'CancellationUnknownIgnored',
      description: 'A cancel of an unknown id leaves the call in flight alone',
      severity: 'WARNING',
      specReferences: [INVALID]
    },
    {
      id: 'server-cancellation-other-type-ignored',
      name: 'CancellationOtherTypeIgnored',
      description:
        'A cancel of the same id as a string leaves the call in flight alone',
      severity: 'WARNING',
      specReferences: [INVALID]
    },
    {
      id: 'server-cancellation-malformed-ignored',
      name: 'CancellationMalformedIgnored',
      description: 'Malformed cancels leave the call in flight alone',
      severity: 'WARNING',
      specReferences: [INVALID]
    },
    {
      id: 'server-cancellation-unknown-next-call',
      name: 'CancellationUnknownNextCall',
      description: 'The next call after cancels that name no request works',
      severity: 'FAILURE',
      specReferences: [TIMING]
    }
  ];

  protected async observe(peer: Peer): Promise<void> {
    await peer.open();
    const attempt = async (id: string, of: (call: Call) => unknown[]) => {
      const call = await peer.working(1);
      const statuses: (number | undefined)[] = [];
      for (const requestId of of(call)) {
        statuses.push(await peer.cancel(requestId));
      }
      const before = await peer.beats(call.key);
      const wrong = await incomplete(call);
      const after = await peer.beats(call.key).catch(() => before);
      this.report(id, wrong, { statuses, beatsAfterwards: after - before });
    };
    await attempt('server-cancellation-unknown-ignored', () => [
      987654321,
      'no-such-request'
    ]);
    await attempt('server-cancellation-other-type-ignored', (call) => [
      String(call.id)
    ]);
    await attempt('server-cancellation-malformed-ignored', () => [
      undefined,
      null,
      {},
      []
    ]);
    this.report(
      'server-cancellation-unknown-next-call',
      await peer.nextCallFails()
    );
  }
}

export class CancellationFinishedRequestScenario extends CancellationScenario {
  name = 'server-cancellation-finished-request';
  readonly source = HANDSHAKE;
  description = `Test that a \`notifications/cancelled\` for a request that is over is ignored.

**Requirements**:
- A cancel of a request that has its response SHOULD be ignored, and so SHOULD
  the second cancel of a request.
- A cancel and a response that cross MUST be handled gracefully: at most one
  response, and the next call works.

${FIXTURES}`;
  protected defs: CheckDef[] = [
    {
      id: 'server-cancellation-finished-ignored',
      name: 'CancellationFinishedIgnored',
      description:
        'A cancel of a request that has its response harms no other call and not the next',
      severity: 'WARNING',
      specReferences: [INVALID]
    },
    {
      id: 'server-cancellation-twice-ignored',
      name: 'CancellationTwiceIgnored',
      description:
        'A second cancel of a request harms no other call and not the next',
      severity: 'WARNING',
      specReferences: [INVALID]
    },
    {
      id: 'server-cancellation-crossing-one-response',
      name: 'CancellationCrossingOneResponse',
      description:
        'A request whose cancel crosses its response gets at most one response',
      severity: 'FAILURE',
      specReferences: [TIMING]
    },
    {
      id: 'server-cancellation-finished-next-call',
      name: 'CancellationFinishedNextCall',
      description:
        'The next call after cancels of requests that are over works',
      severity: 'FAILURE',
      specReferences: [TIMING]
    }
  ];

  protected async observe(peer: Peer): Promise<void> {
    await peer.open();
    const bystander = async (late: () => Promise<void>) => {
      const call = await peer.working(1);
      await late();
      return (await incomplete(call)) ?? peer.nextCallFails();
    };

    const finished = peer.work(0.1);
    await within('a short call', finished.answered);
    this.report(
      'server-cancellation-finished-ignored',
      await bystander(async () => {
        await peer.cancel(finished.id);
      })
    );

    const cancelled = await peer.working(60);
    await peer.cancel(cancelled.id);
    this.report(
      'server-cancellation-twice-ignored',
      await bystander(async () => {
        await peer.cancel(cancelled.id);
      })
    );

    // Cancels around the moment of the response: before it, with it, after it.
    const crossing: Call[] = [];
    for (const after of [60, 80, 90, 100, 110, 120, 140]) {
      const call = peer.work(0.1);
      crossing.push(call);
      await sleep(after);
      await peer.cancel(call.id);
    }
    await sleep(TRANSIT_MS);
    const counts = crossing.map((call) => call.responses.length);
    this.report(
      'server-cancellation-crossing-one-response',
      Math.max(...counts) <= 1
        ? undefined
        : `Got ${Math.max(...counts)} responses for one request`,
      { responses: counts }
    );
    this.report(
      'server-cancellation-finished-next-call',
      await peer.nextCallFails()
    );
  }
}

export class CancellationInitializeScenario extends CancellationScenario {
  name = 'server-cancellation-initialize';
  readonly source = HANDSHAKE;
  description = `Test that \`initialize\` cannot be cancelled.

Clients MUST NOT cancel \`initialize\`. A server SHOULD ignore a cancel that
names it, as any invalid one: the handshake goes on, and the session works.

${FIXTURES}`;
  protected defs: CheckDef[] = [
    {
      id: 'server-cancellation-initialize-ignored',
      name: 'CancellationInitializeIgnored',
      description:
        'A cancel of initialize before notifications/initialized does not end the handshake',
      severity: 'WARNING',
      specReferences: [BEHAVIOR, INVALID]
    },
    {
      id: 'server-cancellation-initialize-session-works',
      name: 'CancellationInitializeSessionWorks',
      description:
        'After the handshake a cancel of initialize leaves the call in flight and the session alone',
      severity: 'WARNING',
      specReferences: [BEHAVIOR, INVALID]
    }
  ];

  protected async observe(peer: Peer): Promise<void> {
    let initialize = 0;
    let reached = false;
    try {
      await peer.open(async (id) => {
        initialize = id;
        reached = true;
        await peer.cancel(id);
      });
    } catch (error) {
      if (!reached) throw error;
      this.report('server-cancellation-initialize-ignored', String(error));
      throw error;
    }
    this.report(
      'server-cancellation-initialize-ignored',
      await peer.nextCallFails()
    );
    const call = await peer.working(1);
    await peer.cancel(initialize);
    this.report(
      'server-cancellation-initialize-session-works',
      (await incomplete(call)) ?? (await peer.nextCallFails())
    );
  }
}

export class CancellationTaskScenario extends CancellationScenario {
  name = 'server-cancellation-task';
  // The tasks of the extension, which came later, are another protocol: see
  // the tasks-* scenarios.
  readonly source = {
    introducedIn: '2025-11-25',
    removedIn: DRAFT_PROTOCOL_VERSION
  } as const;
  description = `Test that \`tasks/cancel\` stops a task.

**Requirements**, for a server that declares \`tasks.cancel\` and
\`tasks.requests.tools.call\` (others are SKIPPED):
- The response MUST show the task as \`cancelled\`, and it MUST stay so.
- The server SHOULD stop the work, seen by its heartbeat.
- A second cancel MUST be refused with -32602.

${FIXTURES}

\`${WORK}\` has \`execution.taskSupport: "optional"\`.`;
  protected defs: CheckDef[] = [
    {
      id: 'server-cancellation-task-cancelled',
      name: 'CancellationTaskCancelled',
      description: 'The response to tasks/cancel shows the task as cancelled',
      severity: 'FAILURE',
      specReferences: [TASK_CANCELLATION]
    },
    {
      id: 'server-cancellation-task-work-stopped',
      name: 'CancellationTaskWorkStopped',
      description: 'The heartbeat of the cancelled task stops',
      severity: 'WARNING',
      specReferences: [TASK_CANCELLATION]
    },
    {
      id: 'server-cancellation-task-stays-cancelled',
      name: 'CancellationTaskStaysCancelled',
      description:
        'The task is still cancelled when its work would have been done',
      severity: 'FAILURE',
      specReferences: [TASK_CANCELLATION]
    },
    {
      id: 'server-cancellation-task-twice-refused',
      name: 'CancellationTaskTwiceRefused',
      description: 'A second tasks/cancel is refused with -32602',
      severity: 'FAILURE',
      specReferences: [TASK_CANCELLATION]
    }
  ];

  protected async observe(peer: Peer): Promise<void> {
    await peer.open();
    const { tasks } = peer.capabilities;
    if (!tasks?.cancel || !tasks?.requests?.tools?.call) {
      this.skip(
        'Server does not declare that tool calls are cancellable tasks'
      );
      return;
    }
    const task = peer.work(undefined, { task: { ttl: 60_000 } });
    const created = await within('the call as a task', task.answered);
    const taskId = created?.result?.task?.taskId;
    if (typeof taskId !== 'string') {
      throw new Error(
        `the fixture tool ${WORK} did not run as a task: ${JSON.stringify(created)}`
      );
    }
    await peer.beating(task);
    const other = await peer.working();

    const response = await peer.request('tasks/cancel', { taskId });
    this.report(
      'server-cancellation-task-cancelled',
      response.result?.status === 'cancelled'
        ? undefined
        : `Expected status "cancelled", got ${JSON.stringify(response.result ?? response.error)}`
    );
    const seen = await peer.watch(task, other);
    this.report('server-cancellation-task-work-stopped', stopped(seen), seen);

    await incomplete(other);
    const later = await peer.request('tasks/get', { taskId });
    this.report(
      'server-cancellation-task-stays-cancelled',
      later.result?.status === 'cancelled'
        ? undefined
        : `Expected status "cancelled", got ${JSON.stringify(later.result ?? later.error)}`
    );
    const again = await peer.request('tasks/cancel', { taskId });
    this.report(
      'server-cancellation-task-twice-refused',
      again.error?.code === -32602
        ? undefined
        : `Expected error -32602, got ${JSON.stringify(again.result ?? again.error)}`
    );
  }
}

export class CancellationClosedStreamScenario extends CancellationScenario {
  name = 'server-cancellation-closed-stream';
  readonly source = { introducedIn: DRAFT_PROTOCOL_VERSION } as const;
  description = `Test that closing the response stream cancels the request.

**Requirements**:
- The server MUST treat a client disconnect as cancellation of that request.
  The fixture tool stops when it is told of a cancel, so a heartbeat that goes
  on shows that the disconnect was not taken for one.
- Another call in flight and the next call are unharmed.

${FIXTURES}`;
  protected defs: CheckDef[] = [
    {
      id: 'server-cancellation-close-work-stopped',
      name: 'CancellationCloseWorkStopped',
      description: 'The heartbeat stops after the response stream was closed',
      severity: 'FAILURE',
      specReferences: [TRANSPORT_SPECIFIC]
    },
    {
      id: 'server-cancellation-close-other-call-unharmed',
      name: 'CancellationCloseOtherCallUnharmed',
      description: 'Another call in flight works on and gets its result',
      severity: 'FAILURE',
      specReferences: [TRANSPORT_SPECIFIC, DRAFT_BEHAVIOR]
    },
    {
      id: 'server-cancellation-close-next-call',
      name: 'CancellationCloseNextCall',
      description: 'The next call after a closed stream works',
      severity: 'FAILURE',
      specReferences: [DRAFT_BEHAVIOR]
    }
  ];

  protected async observe(peer: Peer): Promise<void> {
    await peer.open();
    const closed = await peer.working();
    const other = await peer.working();
    closed.close();
    let unseen: unknown;
    try {
      const seen = await peer.watch(closed, other);
      this.report(
        'server-cancellation-close-work-stopped',
        stopped(seen),
        seen
      );
    } catch (error) {
      unseen = error;
    }
    this.report(
      'server-cancellation-close-other-call-unharmed',
      await incomplete(other)
    );
    this.report(
      'server-cancellation-close-next-call',
      await peer.nextCallFails()
    );
    if (unseen) throw unseen;
  }
}
