/**
 * What the cancellation scenarios of both sides share: the places in the
 * specification, and the reports of their checks.
 */

import {
  ConformanceCheck,
  DRAFT_PROTOCOL_VERSION,
  SpecReference
} from '../types';
import { untestableCheck } from './untestable';

const reference = (id: string, place: string): SpecReference => ({
  id: `MCP-${id}`,
  url: `https://modelcontextprotocol.io/specification/${place}`
});

export const BEHAVIOR = reference(
  'Cancellation-Behavior',
  '2025-11-25/basic/utilities/cancellation#behavior-requirements'
);
export const TIMING = reference(
  'Cancellation-Timing',
  '2025-11-25/basic/utilities/cancellation#timing-considerations'
);
export const INVALID = reference(
  'Cancellation-Error-Handling',
  '2025-11-25/basic/utilities/cancellation#error-handling'
);
export const TIMEOUTS = reference(
  'Lifecycle-Timeouts',
  '2025-11-25/basic/lifecycle#timeouts'
);
export const SENDING = reference(
  'Transport-Sending',
  '2025-11-25/basic/transports#sending-messages-to-the-server'
);
export const TASK_CANCELLATION = reference(
  'Task-Cancellation',
  '2025-11-25/basic/utilities/tasks#task-cancellation'
);
export const TRANSPORT_SPECIFIC = reference(
  'Cancellation-Transport-Specific',
  'draft/basic/patterns/cancellation#transport-specific-cancellation'
);
export const DRAFT_BEHAVIOR = reference(
  'Cancellation-Behavior',
  'draft/basic/patterns/cancellation#behavior-requirements'
);

/** The revisions with a handshake, where a cancel is a notification. */
export const HANDSHAKE = {
  introducedIn: '2025-03-26',
  removedIn: DRAFT_PROTOCOL_VERSION
} as const;

export interface CheckDef {
  id: string;
  name: string;
  description: string;
  /** FAILURE for a MUST, WARNING for a SHOULD. */
  severity: 'FAILURE' | 'WARNING';
  specReferences: SpecReference[];
}

type Details = Record<string, unknown>;

/** The checks of one run of a scenario. */
export class Checks {
  private readonly list: ConformanceCheck[] = [];

  constructor(private readonly defs: CheckDef[]) {}

  /** Report a check: passed, unless `wrong` says what is wrong. */
  report(id: string, wrong: string | undefined, details?: Details): void {
    const { severity, ...def } = this.def(id);
    this.list.push({
      ...def,
      status: wrong === undefined ? 'SUCCESS' : severity,
      timestamp: new Date().toISOString(),
      errorMessage: wrong,
      details
    });
  }

  /** Report a check as not applicable. */
  skip(id: string, details: Details): void {
    const { name, description, specReferences } = this.def(id);
    this.list.push({
      id,
      name,
      description,
      specReferences,
      status: 'SKIPPED',
      timestamp: new Date().toISOString(),
      details
    });
  }

  /** All checks; those not reported are not testable, because of `missing`. */
  all(missing: unknown = 'the scenario ended early'): ConformanceCheck[] {
    const reason = missing instanceof Error ? missing.message : String(missing);
    const reported = new Set(this.list.map((check) => check.id));
    const rest = this.defs.filter(({ id }) => !reported.has(id));
    return [
      ...this.list,
      ...rest.map(({ id, name, description, specReferences, severity }) =>
        untestableCheck(id, name, description, reason, specReferences, severity)
      )
    ];
  }

  private def(id: string): CheckDef {
    return this.defs.find((it) => it.id === id)!;
  }
}
