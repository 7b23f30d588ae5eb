/**
 * When to poll what: every stream of every customer once an interval, each at its own place in it,
 * always in the same order, and never two polls of one stream at once.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { MinuteStream } from '../base/nouns.ts';
import type { Customer } from '../counting/customer.ts';
import type { PollNote } from '../counting/state.ts';
import type { CustomerClient } from '../service/types.ts';
import { FailureLog } from './failure-log.ts';
import { drive, planPoll } from './round.ts';

export interface PollObserver {
  /** A poll has ended; `reason` where it failed. */
  pollEnded(stream: MinuteStream, durationSeconds: number, reason: FailureReason | undefined): void;
  /** Something of this customer is to be shown anew. */
  changed(customer: string): void;
}

export interface PollerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: PollObserver;
  readonly intervalMs: number;
  readonly reconcileIntervalMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerSecond: number;
}

export interface PolledCustomer {
  readonly customer: Customer;
  readonly client: CustomerClient;
}

interface Turn extends PolledCustomer {
  readonly stream: MinuteStream;
  /**
   * Place in the interval, in [0, 1). Neighbours in the list are neighbours in time, so that what
   * changes together lies together in the exposition.
   */
  phase: number;
  /** When the next poll is due; undefined before the first poll has ended. */
  dueMs: number | undefined;
  underWay: boolean;
}

/** A poll ends before its next turn: the rest is for the work between two polls. */
const DEADLINE_SHARE = 0.9;
/** Turns that fall due within a tick are started together, which costs half the processor time. */
const LONGEST_TICK_MS = 250;
/** An anchor takes five requests; so many in its deadline leave room for the ordinary polls. */
const REQUESTS_PER_ANCHOR = 10;
/** Anchors are spread over this share of the interval between them, so that they do not gather. */
const RECONCILE_SPREAD = 0.25;

export class Poller {
  readonly #options: PollerOptions;
  readonly #failures: FailureLog;
  readonly #deadlineMs: number;
  /** Anchors under way at once: more would not end before their deadline. */
  readonly #mostAnchors: number;
  readonly #deadlines = new Set<AbortController>();
  readonly #underWay = new Set<Promise<void>>();
  #turns: readonly Turn[] = [];
  #waiting: Turn[] = [];
  #firstPolls = 0;
  #anchors = 0;
  #stopping = false;
  #wakesAtMs = 0;
  #waking = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#deadlineMs = options.intervalMs * DEADLINE_SHARE;
    const requests = (options.maxRequestsPerSecond * this.#deadlineMs) / 1000;
    this.#mostAnchors = Math.max(
      1,
      Math.min(options.maxConcurrency, Math.floor(requests / REQUESTS_PER_ANCHOR)),
    );
    this.#failures = new FailureLog(options.log);
  }

  /** Starts the loop. Whom it polls is told by {@link setCustomers}. */
  start(): void {
    this.#wakesAtMs = this.#options.clock.monotonicMs();
    this.#loop = this.#run();
  }

  /**
   * Whom to poll from now on. Those that stay keep their turns and the poll that is under way; new
   * ones are polled at once, as many together as the limits allow.
   */
  setCustomers(customers: readonly PolledCustomer[]): void {
    const kept = new Map(this.#turns.map((turn) => [keyOf(turn), turn]));
    this.#turns = customers
      .flatMap(({ customer, client }) =>
        customer.streams.map((stream) => ({ customer, client, stream })),
      )
      .map((polled, i, all) => {
        const phase = i / all.length;
        const turn = kept.get(keyOf(polled));
        return turn?.customer === polled.customer
          ? Object.assign(turn, { phase })
          : { ...polled, phase, dueMs: undefined, underWay: false };
      });
    this.#waiting = this.#turns.filter((turn) => turn.dueMs === undefined && !turn.underWay);
    this.#admitFirstPolls();
  }

  /** Ends the loop and every poll under way, whose figures are dropped. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#waking.abort();
    for (const deadline of this.#deadlines) {
      deadline.abort(new ServiceError('unreachable', 'the exporter is stopping'));
    }
    await Promise.allSettled([this.#loop, ...this.#underWay]);
  }

  /** For how long the loop has been late: 0 while it makes progress. */
  lateMs(): number {
    return Math.max(0, this.#options.clock.monotonicMs() - this.#wakesAtMs);
  }

  async #run(): Promise<void> {
    const { clock, intervalMs } = this.#options;
    const tickMs = Math.min(LONGEST_TICK_MS, intervalMs / 20);
    while (!this.#stopping) {
      const nowMs = clock.monotonicMs();
      let nextMs = nowMs + intervalMs;
      for (const turn of this.#turns) {
        this.#takeTurn(turn, nowMs);
        nextMs = Math.min(nextMs, turn.dueMs ?? Infinity);
      }
      this.#wakesAtMs = Math.max(nextMs, nowMs + tickMs);
      this.#waking = new AbortController();
      await clock.sleep(this.#wakesAtMs - nowMs, this.#waking.signal).catch(() => {});
    }
  }

  #takeTurn(turn: Turn, nowMs: number): void {
    if (turn.dueMs === undefined || turn.dueMs > nowMs) {
      return;
    }
    const { intervalMs, observer } = this.#options;
    const passed = Math.floor((nowMs - turn.dueMs) / intervalMs);
    turn.dueMs += (passed + 1) * intervalMs;
    const skipped = passed + (turn.underWay ? 1 : 0);
    for (let i = 0; i < skipped; i++) {
      turn.customer.turnSkipped(turn.stream);
    }
    if (skipped > 0) {
      observer.changed(turn.customer.customer);
    }
    if (!turn.underWay) {
      this.#launch(turn);
    }
  }

  /** First polls take five requests each: they queue here and not in the limits, where they would hold up the others. */
  #admitFirstPolls(): void {
    while (this.#firstPolls < this.#mostAnchors && !this.#stopping) {
      const turn = this.#waiting.shift();
      if (turn === undefined) {
        return;
      }
      this.#firstPolls += 1;
      this.#launch(turn, () => {
        this.#firstPolls -= 1;
        turn.dueMs = this.#nextDueMs(turn);
        this.#waking.abort();
        this.#admitFirstPolls();
      });
    }
  }

  #nextDueMs(turn: Turn): number {
    const { clock, intervalMs } = this.#options;
    const offsetMs = turn.phase * intervalMs;
    return offsetMs + (Math.floor((clock.monotonicMs() - offsetMs) / intervalMs) + 1) * intervalMs;
  }

  #launch(turn: Turn, done: () => void = () => {}): void {
    turn.underWay = true;
    const poll = this.#poll(turn).finally(() => {
      turn.underWay = false;
      this.#underWay.delete(poll);
      done();
    });
    this.#underWay.add(poll);
  }

  async #poll(turn: Turn): Promise<void> {
    const { clock, observer, reconcileIntervalMs } = this.#options;
    const { customer, client, stream } = turn;
    const spreadMs = reconcileIntervalMs * (1 - RECONCILE_SPREAD * turn.phase);
    const plan = planPoll(customer, stream, clock, spreadMs);
    const anchors = plan.need !== 'none' && this.#anchors < this.#mostAnchors;
    this.#anchors += anchors ? 1 : 0;
    const startMs = clock.monotonicMs();
    let reason: FailureReason | undefined;
    try {
      const outcome = await this.#withDeadline((signal) =>
        drive(plan.run(anchors), (question) => client.ask(question, signal)),
      );
      customer.pollSucceeded(stream, outcome.state, clock.nowMs());
      this.#failures.succeeded(customer.customer, stream);
      outcome.notes.forEach((note) => this.#tell(turn, note));
    } catch (error) {
      if (this.#stopping) {
        return;
      }
      if (!(error instanceof ServiceError)) {
        throw error;
      }
      reason = error.reason;
      customer.pollFailed(stream, error.message, clock.nowMs());
      this.#failures.failed(customer.customer, stream, error);
    } finally {
      this.#anchors -= anchors ? 1 : 0;
    }
    observer.pollEnded(stream, (clock.monotonicMs() - startMs) / 1000, reason);
    observer.changed(customer.customer);
  }

  async #withDeadline<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const deadline = new AbortController();
    const ended = new AbortController();
    this.#deadlines.add(deadline);
    this.#options.clock.sleep(this.#deadlineMs, ended.signal).then(
      () => deadline.abort(new DOMException('The poll reached its deadline', 'TimeoutError')),
      () => {},
    );
    try {
      return await work(deadline.signal);
    } finally {
      this.#deadlines.delete(deadline);
      ended.abort();
    }
  }

  #tell(turn: Turn, note: PollNote): void {
    const fields = { customer: turn.customer.customer, stream: turn.stream };
    const { level, message } = NOTES[note];
    this.#options.log[level](message, fields);
  }
}

const NOTES = {
  empty_not_believed: {
    level: 'warn',
    message: 'an answer without counts is not believed before it has come again',
  },
  rise_not_believed: {
    level: 'warn',
    message: 'a rise out of all proportion is not believed before it has come again',
  },
  totals_by_quarter: {
    level: 'warn',
    message: 'the aggregation day does not agree with minute, totals are read by quarter',
  },
  totals_by_minute: {
    level: 'warn',
    message: 'the aggregations day and quarter do not agree with minute, totals are read by minute',
  },
  keys_unknown: {
    level: 'warn',
    message: 'the keys of the minutes have no known form, there is no occupancy and no last seen',
  },
  keys_established: { level: 'debug', message: 'the form of the minute keys is established' },
} as const satisfies Record<PollNote, { level: 'debug' | 'warn'; message: string }>;

function keyOf(turn: { readonly customer: Customer; readonly stream: MinuteStream }): string {
  return JSON.stringify([turn.customer.customer, turn.stream]);
}
