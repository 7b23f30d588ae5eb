/** A scheduler with customers whose service answers as the test says. */
import { HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { ServiceError } from '../../src/base/errors.ts';
import type { AggregatedResponse, Stream, WindowQuery } from '../../src/base/model.ts';
import { LogLimiter } from '../../src/base/log-limiter.ts';
import type { PollJob } from '../../src/polling/job.ts';
import { Scheduler } from '../../src/polling/scheduler.ts';
import type { PolledCustomer, SchedulerOptions } from '../../src/polling/scheduler.ts';
import { captureLog } from '../support/captured-log.ts';
import type { Line } from '../support/captured-log.ts';
import { customerNamed } from '../support/polled.ts';
import { pageOf } from '../support/responses.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

export const GOOD: AggregatedResponse = {
  aggregation: 'minute',
  rows: [{ key: 1, counts: [3, 1] }],
};

export const UNAVAILABLE = new ServiceError('server', 'status 503', { status: 503 });

type Question = WindowQuery & { readonly priority: unknown };
type Answer = (question: WindowQuery, signal: AbortSignal) => Promise<AggregatedResponse>;

/** A job that is polled every minute and due at an instant of the monotonic clock. */
export function jobAt(dueMs: number): PollJob {
  return {
    kind: 'poll',
    customer: customerNamed('riverside'),
    stream: 'people',
    intervalMs: MINUTE_MS,
    client: { query: hang, page: hang },
    place: 0,
    phase: 'scheduled',
    dueMs,
    running: undefined,
    behind: [],
  };
}

export class SchedulerFixture implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly scheduler: Scheduler;
  readonly requests: { customer: string; question: Question; atMs: number }[] = [];
  /** Reasons of the polls that have ended; undefined of a success. */
  readonly ended: (string | undefined)[] = [];
  readonly lines: Line[];
  mostAtOnce = 0;
  #running = 0;

  constructor(options: Partial<SchedulerOptions> & { readonly startMs?: number } = {}) {
    const clock = new VirtualClock(options.startMs ?? Date.UTC(2026, 10, 18, 10));
    const { log, lines } = captureLog(clock);
    this.clock = clock;
    this.lines = lines;
    this.scheduler = new Scheduler({
      clock,
      log,
      limiter: new LogLimiter({ log, clock }),
      intervalMs: MINUTE_MS,
      reconcileIntervalMs: HOUR_MS,
      breakdownIntervalMs: 5 * MINUTE_MS,
      maxConcurrency: 32,
      maxRequestsPerSecond: 1_000,
      observer: { pollEnded: (_stream, _seconds, reason) => this.ended.push(reason), changed() {} },
      ...options,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.scheduler.stop();
    // Answers that ignore their signal come to their end.
    await this.clock.advance(10 * MINUTE_MS);
    await stopped;
    if (this.clock.sleepers > 0) {
      throw new Error(`${this.clock.sleepers} timers are left`);
    }
  }

  start(customers: readonly PolledCustomer[]): void {
    this.scheduler.start();
    this.scheduler.setCustomers(customers);
  }

  async run(customers: readonly PolledCustomer[], ms: number): Promise<void> {
    this.start(customers);
    await this.clock.advance(ms);
  }

  polled(name: string, answer: Answer = () => Promise.resolve(GOOD)): PolledCustomer {
    return {
      customer: customerNamed(name),
      client: {
        query: (question, signal, priority) => {
          const atMs = this.clock.monotonicMs();
          this.requests.push({ customer: name, question: { ...question, priority }, atMs });
          this.mostAtOnce = Math.max(this.mostAtOnce, (this.#running += 1));
          return answer(question, signal).finally(() => (this.#running -= 1));
        },
        page: () => Promise.resolve(pageOf()),
      },
    };
  }

  polledMany(count: number, answer?: Answer): PolledCustomer[] {
    return Array.from({ length: count }, (_, i) => this.polled(`c${i}`, answer));
  }

  after(ms: number): Answer {
    return async (_, signal) => {
      await this.clock.sleep(ms, signal).catch(() => {
        throw new ServiceError('timeout', 'no answer came');
      });
      return GOOD;
    };
  }

  /** Answers until an instant of the monotonic clock, and hangs from then on. */
  goodUntil(endMs: number): Answer {
    return (question, signal) =>
      this.clock.monotonicMs() < endMs ? Promise.resolve(GOOD) : hang(question, signal);
  }

  healthOf({ customer }: PolledCustomer, stream: Stream = 'people') {
    const { polls = 0, failures = 0, skipped = 0 } = customer.health[stream] ?? {};
    return { polls, failures, skipped };
  }

  /** People entered in the counting period, and today. */
  enteredOf({ customer }: PolledCustomer) {
    const { total, today } = customer.metricsAt(this.clock.nowMs()).counters.people_entered ?? {};
    return { total, today };
  }
}

export function hang(_question: unknown, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new ServiceError('timeout', 'no answer came')));
  });
}

/** Returns the times between successive instants. */
export function gapsOf(timesMs: readonly number[]): readonly number[] {
  return timesMs.slice(1).map((ms, i) => ms - (timesMs[i] ?? NaN));
}
