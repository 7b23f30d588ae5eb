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
import type { CustomerClient } from '../service/types.ts';
import { FailureLog } from './failure-log.ts';
import { LineBudget } from './line-budget.ts';
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
  /** What time it is for the service; without it, ours. */
  readonly serviceNowMs?: () => number;
  /** Shared with whoever else logs about customers. */
  readonly lines?: LineBudget;
}

export interface PolledCustomer {
  readonly customer: Customer;
  readonly client: CustomerClient;
}

interface Turn {
  readonly customer: Customer;
  client: CustomerClient;
  readonly stream: MinuteStream;
  /**
   * Place in the interval, in [0, 1). Neighbours in the list are neighbours in time, so that what
   * changes together lies together in the exposition.
   */
  phase: number;
  /** When the next poll is due; undefined before the first poll has ended. */
  dueMs: number | undefined;
  /** Ends the poll that is under way. */
  underWay: AbortController | undefined;
  /** Whether that poll came beside the turns, for an anchor: it serves a turn that falls into it. */
  isBesideTurns: boolean;
}

/** A poll ends before its next turn: the rest is for the work between two polls. */
const DEADLINE_SHARE = 0.9;
/** Turns that fall due within a tick are started together, which costs half the processor time. */
const LONGEST_TICK_MS = 250;
/** A first poll that does not end holds up others that wait for theirs, so it has less time. */
const FIRST_DEADLINE_MS = 15_000;
/** An anchor takes five requests; so many in its deadline leave room for the ordinary polls. */
const REQUESTS_PER_ANCHOR = 10;
/** Anchors are spread over this share of the interval between them, so that they do not gather. */
const RECONCILE_SPREAD = 0.25;

export class Poller {
  readonly #options: PollerOptions;
  readonly #lines: LineBudget;
  readonly #failures: FailureLog;
  readonly #deadlineMs: number;
  /** Anchors under way at once: more would not end before their deadline. */
  readonly #mostAnchors: number;
  readonly #underWay = new Set<Promise<void>>();
  #turns: readonly Turn[] = [];
  #waiting: Turn[] = [];
  #firstPolls = 0;
  #anchors = 0;
  /** Those who wished for an anchor when no place was free, in the order of their wishes. */
  readonly #wishes = new Set<Turn>();
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
    this.#lines = options.lines ?? new LineBudget(options);
    this.#failures = new FailureLog(this.#lines);
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
    const before = new Map(this.#turns.map((turn) => [keyOf(turn), turn]));
    const polled = customers.flatMap(({ customer, client }) =>
      customer.streams.map((stream) => ({ customer, client, stream })),
    );
    this.#turns = polled.map((one, i) => {
      const phase = i / polled.length;
      const turn = before.get(keyOf(one));
      if (turn?.customer !== one.customer) {
        return { ...one, phase, dueMs: undefined, underWay: undefined, isBesideTurns: false };
      }
      before.delete(keyOf(one));
      Object.assign(turn, { client: one.client, phase });
      turn.dueMs = turn.dueMs === undefined ? undefined : this.#nextDueMs(turn);
      return turn;
    });
    for (const gone of before.values()) {
      this.#wishes.delete(gone);
      gone.underWay?.abort(DROPPED);
    }
    this.#waiting = this.#turns.filter(({ dueMs, underWay }) => dueMs === undefined && !underWay);
    this.#admitFirstPolls();
    this.#waking.abort();
  }

  /** Ends the loop and every poll under way, whose figures are dropped. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#waking.abort();
    for (const { underWay } of this.#turns) {
      underWay?.abort(DROPPED);
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
      this.#lines.tellLeftOut();
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
    const isBusy = turn.underWay !== undefined && !turn.isBesideTurns;
    const skipped = passed + (isBusy ? 1 : 0);
    for (let i = 0; i < skipped; i++) {
      turn.customer.turnSkipped(turn.stream);
    }
    if (skipped > 0) {
      observer.changed(turn.customer.customer);
    }
    if (turn.underWay === undefined) {
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
    const stop = new AbortController();
    turn.underWay = stop;
    const poll = this.#poll(turn, stop).finally(() => {
      turn.underWay = undefined;
      turn.isBesideTurns = false;
      this.#underWay.delete(poll);
      done();
      this.#grantWishes();
    });
    this.#underWay.add(poll);
  }

  /** Anchors that had no place at their turn are taken as soon as there is one, first come first served. */
  #grantWishes(): void {
    for (const turn of this.#wishes) {
      if (this.#stopping || this.#anchors >= this.#mostAnchors) {
        return;
      }
      if (turn.underWay === undefined) {
        turn.isBesideTurns = true;
        this.#launch(turn);
      }
    }
  }

  async #poll(turn: Turn, stop: AbortController): Promise<void> {
    const { clock, observer, reconcileIntervalMs } = this.#options;
    const serviceNowMs = this.#options.serviceNowMs ?? (() => clock.nowMs());
    const { customer, client, stream } = turn;
    const spreadMs = reconcileIntervalMs * (1 - RECONCILE_SPREAD * turn.phase);
    const plan = planPoll(customer, stream, clock, spreadMs, serviceNowMs);
    const anchors = plan.need !== 'none' && this.#anchors < this.#mostAnchors;
    this.#anchors += anchors ? 1 : 0;
    if (plan.need === 'wish' && !anchors) {
      this.#wishes.add(turn);
    } else {
      this.#wishes.delete(turn);
    }
    const startMs = clock.monotonicMs();
    let reason: FailureReason | undefined;
    try {
      const deadlineMs = this.#deadlineOf(turn);
      const outcome = await this.#withDeadline(deadlineMs, stop, (signal) =>
        drive(plan.run(anchors, deadlineMs), (question) => client.ask(question, signal)),
      );
      if (stop.signal.reason === DROPPED) {
        return;
      }
      customer.pollSucceeded(stream, outcome.state, clock.nowMs());
      this.#failures.succeeded(turn, outcome.notes);
    } catch (error) {
      if (stop.signal.reason === DROPPED) {
        return;
      }
      if (!(error instanceof ServiceError)) {
        throw error;
      }
      reason = error.reason;
      customer.pollFailed(stream, error.message, clock.nowMs());
      this.#failures.failed(turn, error);
    } finally {
      this.#anchors -= anchors ? 1 : 0;
    }
    observer.pollEnded(stream, (clock.monotonicMs() - startMs) / 1000, reason);
    observer.changed(customer.customer);
  }

  #deadlineOf({ dueMs }: Turn): number {
    return dueMs === undefined ? Math.min(this.#deadlineMs, FIRST_DEADLINE_MS) : this.#deadlineMs;
  }

  async #withDeadline<Result>(
    deadlineMs: number,
    stop: AbortController,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const ended = new AbortController();
    this.#options.clock.sleep(deadlineMs, ended.signal).then(
      () => stop.abort(new DOMException('The poll reached its deadline', 'TimeoutError')),
      () => {},
    );
    try {
      return await work(stop.signal);
    } finally {
      ended.abort(POLL_ENDED);
    }
  }
}

/** Why a poll ends whose figures nobody waits for any more. */
const DROPPED = new ServiceError('unreachable', 'the exporter is stopping');
/** One for all: an abort without a reason makes a new one, which costs more than the rest of a poll's end. */
const POLL_ENDED = new Error('the poll has ended');

function keyOf(turn: { readonly customer: Customer; readonly stream: MinuteStream }): string {
  return JSON.stringify([turn.customer.customer, turn.stream]);
}
