/**
 * When to poll what: every stream of every customer once an interval, each at its own place in it,
 * always in the same order, and never two polls of one stream at once.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Stream } from '../base/model.ts';
import type { Customer } from '../counting/customer.ts';
import { DueTurns } from './due-turns.ts';
import { FailureLog } from './failure-log.ts';
import { LogLimiter } from './log-limiter.ts';
import { DROPPED, runPoll } from './poll.ts';
import type { PollObserver } from './poll.ts';
import { planPoll } from './round.ts';
import { spread, tickMsFor } from './spread.ts';
import type { PolledCustomer } from './spread.ts';
import { deadlineOf, keyOf } from './turn.ts';
import type { Turn } from './turn.ts';

export interface PollerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: PollObserver;
  /** Of the streams of minutes. */
  readonly intervalMs: number;
  readonly reconcileIntervalMs: number;
  readonly breakdownIntervalMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerSecond: number;
  /** What time it is for the service; without it, ours. */
  readonly serviceNowMs?: () => number;
  /** Shared with whoever else logs about customers. */
  readonly lines?: LogLimiter;
}

/** An anchor takes five requests; so many in its deadline leave room for the ordinary polls. */
const REQUESTS_PER_ANCHOR = 10;
/** An anchor comes sooner by one poll, but not by more than this share, so that it is never late. */
const RENEWAL_SHARE = 0.9;

export class Poller {
  readonly #options: PollerOptions;
  readonly #lines: LogLimiter;
  readonly #noteLines: LogLimiter;
  readonly #failures: FailureLog;
  /** Anchors under way at once: more would not end before their deadline. */
  readonly #mostAnchors: number;
  /** How long the loop sleeps at least. */
  #tickMs = 0;
  readonly #underWay = new Set<Promise<void>>();
  #turns: readonly Turn[] = [];
  #turnByKey: ReadonlyMap<string, Turn> = new Map();
  #due = new DueTurns([]);
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
    const requests = (options.maxRequestsPerSecond * deadlineOf(options.intervalMs)) / 1000;
    this.#mostAnchors = Math.max(
      1,
      Math.min(options.maxConcurrency, Math.floor(requests / REQUESTS_PER_ANCHOR)),
    );
    this.#lines = options.lines ?? new LogLimiter(options);
    this.#noteLines = new LogLimiter(options);
    this.#failures = new FailureLog(this.#lines, this.#noteLines);
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
    const before = new Map(this.#turnByKey);
    this.#turns = spread(customers, this.#options, before, this.#options.clock.monotonicMs());
    this.#turnByKey = new Map(this.#turns.map((turn) => [keyOf(turn), turn]));
    this.#due = new DueTurns(this.#turns);
    this.#tickMs = tickMsFor(customers, this.#options);
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

  /** How long until a stream is polled next: 0 while it is, or waits to be; undefined if it never is. */
  nextPollInMs(customer: Customer, stream: Stream): number | undefined {
    const turn = this.#turnByKey.get(keyOf({ customer, stream }));
    if (turn === undefined) {
      return undefined;
    }
    const nowMs = this.#options.clock.monotonicMs();
    return turn.underWay === undefined ? Math.max(0, (turn.dueMs ?? nowMs) - nowMs) : 0;
  }

  async #run(): Promise<void> {
    const { clock, intervalMs } = this.#options;
    while (!this.#stopping) {
      this.#lines.reportSuppressed();
      this.#noteLines.reportSuppressed();
      const nowMs = clock.monotonicMs();
      const due = this.#due;
      for (let turn = due.take(nowMs); turn !== undefined; turn = due.take(nowMs)) {
        this.#takeTurn(turn, nowMs);
        due.push(turn);
      }
      this.#wakesAtMs = Math.max(Math.min(due.nextMs, nowMs + intervalMs), nowMs + this.#tickMs);
      this.#waking = new AbortController();
      await clock.sleep(this.#wakesAtMs - nowMs, this.#waking.signal).catch(() => {});
    }
  }

  /** Not for a few milliseconds: a thousand first polls would wake the loop a thousand times. */
  #wakeFor({ dueMs = Infinity }: Turn): void {
    if (dueMs < this.#wakesAtMs - this.#tickMs) {
      this.#waking.abort();
    }
  }

  #takeTurn(turn: Turn, nowMs: number): void {
    const due = turn.fallDue(nowMs);
    if (due === undefined) {
      return;
    }
    for (let i = 0; i < due.missed; i++) {
      turn.customer.turnSkipped(turn.stream);
    }
    if (due.missed > 0) {
      this.#options.observer.changed(turn.customer.customer);
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
        turn.schedule(this.#options.clock.monotonicMs());
        // It may be nobody's any more.
        if (this.#turnByKey.get(keyOf(turn)) === turn) {
          this.#due.push(turn);
        }
        this.#wakeFor(turn);
        this.#admitFirstPolls();
      });
    }
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

  /**
   * When the turn's anchor was due for the last time: each has its place in the reconcile interval, so
   * that those that started together do not come together ever after.
   */
  #renewalMs(turn: Turn): number {
    const { clock, intervalMs, reconcileIntervalMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const periodMs = Math.max(
      reconcileIntervalMs - intervalMs,
      RENEWAL_SHARE * reconcileIntervalMs,
    );
    // It may have got another place.
    return Math.max(turn.lastMomentMs(nowMs, periodMs), nowMs - reconcileIntervalMs);
  }

  async #poll(turn: Turn, stop: AbortController): Promise<void> {
    const { clock, observer } = this.#options;
    const plan = planPoll(turn.customer, turn.stream, {
      clock,
      renewalMs: this.#renewalMs(turn),
      serviceNowMs: this.#options.serviceNowMs ?? (() => clock.nowMs()),
    });
    const anchors = plan.need !== 'none' && this.#anchors < this.#mostAnchors;
    this.#anchors += anchors ? 1 : 0;
    if (plan.need === 'wish' && !anchors) {
      this.#wishes.add(turn);
    } else {
      this.#wishes.delete(turn);
    }
    try {
      await runPoll(turn, (query) => plan.run(anchors, turn.deadlineMs, query), stop, {
        clock,
        observer,
        failures: this.#failures,
      });
    } finally {
      this.#anchors -= anchors ? 1 : 0;
    }
  }
}
