/** What is logged about the polls of a stream: when failures or a note begin, and the recovery. */
import type { FailureReason, ServiceError } from '../base/errors.ts';
import type { LogLimiter } from '../base/log-limiter.ts';
import type { LogFields, Logger } from '../base/log.ts';
import type { PollNote } from '../counting/totals/state.ts';
import type { NamedCustomer, PollJob } from './job.ts';

/** One stream of one customer. */
export type PolledStream = Pick<PollJob, 'stream'> & { readonly customer: NamedCustomer };

/** The last poll of a stream. */
interface LastPoll {
  /** Undefined after a success. */
  readonly reason: FailureReason | undefined;
  readonly failuresInARow: number;
  /** Whether a failure since the last success was logged. */
  readonly isLogged: boolean;
  /** Those of the last success. */
  readonly notes: readonly NoteKind[];
}

const NOT_POLLED: LastPoll = { reason: undefined, failuresInARow: 0, isLogged: false, notes: [] };

export class PollLog {
  readonly #log: Logger;
  readonly #limiter: LogLimiter;
  readonly #last = new WeakMap<PolledStream, LastPoll>();
  #isTooSlow = false;

  constructor(log: Logger, limiter: LogLimiter) {
    this.#log = log;
    this.#limiter = limiter;
  }

  /** Logs a failure whose reason differs from that of the poll before. */
  failed(polled: PolledStream, { reason, message }: ServiceError): void {
    const last = this.#last.get(polled) ?? NOT_POLLED;
    const fields = { ...fieldsOf(polled), reason, error: message };
    const isLogged =
      (reason !== last.reason && this.#limiter.tryLog('warn', 'poll failed', fields)) ||
      last.isLogged;
    this.#last.set(polled, { ...last, reason, isLogged, failuresInARow: last.failuresInARow + 1 });
  }

  /** Logs the recovery from a logged failure, and notes that the last successful poll did not have. */
  succeeded(polled: PolledStream, notes: readonly PollNote[]): void {
    const last = this.#last.get(polled) ?? NOT_POLLED;
    if (last.isLogged) {
      // Not limited: each of these follows a line that was.
      const { failuresInARow } = last;
      this.#log.info('polling recovered', {
        ...fieldsOf(polled),
        failures_in_a_row: failuresInARow,
      });
    }
    for (const note of notes.filter((one) => !last.notes.includes(kindOf(one)))) {
      this.#limiter.tryLog('warn', NOTE_MESSAGES[kindOf(note)], noteFields(polled, note));
    }
    this.#last.set(polled, { ...NOT_POLLED, notes: notes.map(kindOf) });
  }

  /** Once: it concerns the configuration more than the customer. */
  tooSlow(polled: PolledStream, tookMs: number, intervalMs: number): void {
    if (!this.#isTooSlow) {
      this.#isTooSlow = true;
      this.#log.warn('service too slow for the polling interval', {
        ...fieldsOf(polled),
        poll_seconds: tookMs / 1000,
        interval_seconds: intervalMs / 1000,
      });
    }
  }
}

const NOTE_MESSAGES = {
  empty_response_pending: 'empty response ignored until confirmed',
  decrease_pending: 'lower total ignored until confirmed',
  increase_pending: 'implausible increase ignored until confirmed',
  aggregations_inconsistent: 'aggregations inconsistent, keeping previous values',
  totals_by_quarter: 'day totals unusable, using quarter',
  totals_by_minute: 'day and quarter totals inconsistent, using minute',
  breakdown_keys_dropped: 'too many breakdown keys, some dropped',
  keys_unreadable: 'minute keys unreadable, occupancy unavailable',
  keys_off_clock: 'newest minute is hours off, check service.key_times',
} as const satisfies Record<NoteKind, string>;

type NoteKind = Extract<PollNote, string> | Exclude<PollNote, string>['kind'];

function kindOf(note: PollNote): NoteKind {
  return typeof note === 'string' ? note : note.kind;
}

/** Notes on keys name one of them. */
function noteFields(polled: PolledStream, note: PollNote): LogFields {
  if (typeof note === 'string') {
    return fieldsOf(polled);
  }
  const { kind: _, ...fields } = note;
  return { ...fieldsOf(polled), ...fields };
}

function fieldsOf({ customer, stream }: PolledStream): { customer: string; stream: string } {
  return { customer: customer.customer, stream };
}
