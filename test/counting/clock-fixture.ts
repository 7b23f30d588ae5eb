/**
 * The scheduler and one customer between two clocks: ours, which a test steps, and the service's, which
 * goes on evenly. What the contract promises is checked at every look.
 */
import { silentLogger } from '../../src/base/log.ts';
import { COUNTERS } from '../../src/base/model.ts';
import type { CounterName } from '../../src/base/model.ts';
import { Calendar } from '../../src/counting/calendar.ts';
import { Customer } from '../../src/counting/customer.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { Zone } from '../../src/counting/zone.ts';
import { LogLimiter } from '../../src/polling/log-limiter.ts';
import { Scheduler } from '../../src/polling/scheduler.ts';
import { ServerClock } from '../../src/service/server-clock.ts';
import { SmallService } from '../support/small-service.ts';
import type { SmallConventions } from '../support/small-service.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Looks and polls are apart, so that a look sees what the newest poll has left. */
const LOOK_AFTER_POLL_MS = 500;

export interface ClockFixtureOptions {
  /** The service's time at the start. */
  readonly startMs: number;
  /** By how much our clock is ahead of the service's at the start. */
  readonly oursAheadMs?: number;
  readonly timezone?: string;
  readonly conventions?: Partial<SmallConventions>;
  /** Whether the service tells its time. */
  readonly tellsTime?: boolean;
}

export class ClockFixture {
  readonly clock: VirtualClock;
  readonly service: SmallService;
  readonly customer: Customer;
  readonly calendar: Calendar;
  readonly violations: string[] = [];
  /** People of every minute of the service to come, at its half. */
  traffic: (serviceMs: number) => readonly number[] = () => [0, 0];
  away = false;
  requests = 0;
  readonly #options: ClockFixtureOptions;
  readonly #scheduler: Scheduler;
  /** The highest total seen, by counting period and kind. */
  readonly #highest = new Map<string, number>();

  constructor(options: ClockFixtureOptions) {
    const { startMs, oursAheadMs = 0, timezone = 'Europe/Copenhagen', conventions } = options;
    this.#options = options;
    this.clock = new VirtualClock(startMs + oursAheadMs);
    const zone = new Zone(timezone);
    this.service = new SmallService(zone, 2, conventions);
    this.calendar = new Calendar(zone, { hour: 4, minute: 0 });
    this.customer = new Customer({
      name: 'riverside',
      timezone,
      description: { labels: {}, capacity: undefined, openingHours: undefined, estimate: false },
      calendar: this.calendar,
      streams: ['people'],
      owner: { service: 's', clientId: 'i', customer: 'riverside' },
      marks: new HighWaterMarks(),
    });
    const serviceClock = new ServerClock(this.clock, silentLogger);
    this.#scheduler = new Scheduler({
      clock: this.clock,
      log: silentLogger,
      limiter: new LogLimiter({ log: silentLogger, clock: this.clock }),
      observer: { pollEnded() {}, changed() {} },
      intervalMs: MINUTE_MS,
      reconcileIntervalMs: HOUR_MS,
      breakdownIntervalMs: 5 * MINUTE_MS,
      maxConcurrency: 32,
      maxRequestsPerSecond: 1000,
      serviceNowMs: () => serviceClock.nowMs(),
    });
    const client = {
      query: async (question: Parameters<SmallService['answer']>[0], signal: AbortSignal) => {
        if (this.away) {
          await this.clock.sleep(HOUR_MS, signal);
        }
        this.requests += 1;
        if (options.tellsTime !== false) {
          serviceClock.update(new Date(this.serviceMs).toUTCString(), 0);
        }
        return this.service.answer(question, this.serviceMs);
      },
    };
    this.#scheduler.start();
    this.#scheduler.setCustomers([{ customer: this.customer, client }]);
  }

  get serviceMs(): number {
    return this.#options.startMs + this.clock.monotonicMs();
  }

  /** What happened at the service before the start. */
  before(agoMs: number, counts: readonly number[]): void {
    const eventMs = this.#options.startMs - agoMs;
    this.service.records.push({ eventMs, arrivalMs: eventMs, counts });
  }

  /** So many minutes with traffic, each with a poll and a look. */
  async minutes(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const restMs = LOOK_AFTER_POLL_MS - (this.clock.monotonicMs() % MINUTE_MS);
      const eventMs = this.serviceMs + restMs + MINUTE_MS / 2;
      this.service.records.push({
        eventMs,
        arrivalMs: eventMs,
        counts: this.traffic(eventMs),
      });
      await this.clock.advance(restMs + MINUTE_MS);
      this.look();
    }
  }

  step(ms: number): void {
    this.clock.step(ms);
    this.look();
  }

  metrics(): CustomerMetrics {
    return this.customer.metricsAt(this.clock.nowMs());
  }

  totals(): (number | undefined)[] {
    return this.#ofKinds((kind) => this.metrics().counters[kind]?.total);
  }

  today(): (number | undefined)[] {
    return this.#ofKinds((kind) => this.metrics().counters[kind]?.today);
  }

  /** The service's own totals now, of the counting period and of the day that our clock names. */
  truth(): { readonly totals: number[]; readonly today: number[] } {
    const nowMs = this.clock.nowMs();
    return {
      totals: this.service.total(this.metrics().periodStartMs, this.serviceMs),
      today: this.service.total(this.calendar.dayAt(nowMs).startMs, this.serviceMs),
    };
  }

  /** Checks what may never be wrong, whatever the clocks do: a value is the service's or absent. */
  look(): void {
    const { periodStartMs } = this.metrics();
    const [totals, today, truth] = [this.totals(), this.today(), this.truth()];
    const at = new Date(this.clock.nowMs()).toISOString();
    totals.forEach((total, kind) => {
      const key = `${periodStartMs}:${kind}`;
      const highest = this.#highest.get(key) ?? 0;
      if (total !== undefined && (total < highest || total !== truth.totals[kind])) {
        this.violations.push(`${at}: total ${total} after ${highest}, of ${truth.totals[kind]}`);
      }
      this.#highest.set(key, Math.max(highest, total ?? 0));
    });
    today.forEach((count, kind) => {
      if (count !== undefined && count !== truth.today[kind]) {
        this.violations.push(`${at}: today ${count} of ${truth.today[kind]}`);
      }
    });
  }

  async stop(): Promise<void> {
    await this.#scheduler.stop();
  }

  #ofKinds<Result>(read: (kind: CounterName) => Result): Result[] {
    return COUNTERS.people.map(read);
  }
}

/** A library that has counted before, and counts in every minute. */
export function busyFixture(options: ClockFixtureOptions): ClockFixture {
  const fixture = new ClockFixture(options);
  fixture.before(5 * DAY_MS, [40, 38]);
  fixture.before(2 * HOUR_MS, [5, 1]);
  fixture.before(7 * MINUTE_MS, [2, 1]);
  fixture.traffic = (serviceMs) => [1 + (Math.floor(serviceMs / MINUTE_MS) % 3), 1];
  return fixture;
}
