/**
 * Clocks that are wrong: ours, those of devices and that of the service. After every minute and every step,
 * each value must be the service's or absent.
 */
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { COUNTERS } from '../../src/base/model.ts';
import type { Question } from '../../src/base/model.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { Zone } from '../../src/counting/zone.ts';
import { ServerClock } from '../../src/service/server-clock.ts';
import { customerNamed, schedulerOn } from '../support/polled.ts';
import { SmallService } from '../support/small-service.ts';
import type { SmallConventions } from '../support/small-service.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Values are checked this long after the poll of a minute. */
const AFTER_POLL_MS = 500;

interface Options {
  /** The service's time at the start. */
  readonly startMs?: number;
  /** By how much our clock is ahead of the service's at the start. */
  readonly oursAheadMs?: number;
  readonly conventions?: Partial<SmallConventions>;
  /** Whether the service tells its time. */
  readonly tellsTime?: boolean;
}

/** In local time of Copenhagen in winter; day 31 of November is 1 December. */
function local(day: number, hour: number, minute = 0): number {
  return Date.UTC(2026, 10, day, hour - 1, minute);
}

/** The scheduler and a busy library between our clock, which steps, and the service's, which does not. */
class ClockFixture implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly service: SmallService;
  readonly customer = customerNamed('riverside');
  readonly violations: string[] = [];
  /** The counts of each minute of the service, at its half. */
  traffic = (minute: number): readonly number[] => [1 + (minute % 3), 1];
  requests = 0;
  readonly #startMs: number;
  readonly #scheduler;
  /** The highest total seen, by counting period and counter. */
  readonly #highest = new Map<string, number>();

  constructor(options: Options = {}) {
    const { startMs = local(18, 11), oursAheadMs = 0, conventions, tellsTime = true } = options;
    this.#startMs = startMs;
    this.clock = new VirtualClock(startMs + oursAheadMs);
    this.service = new SmallService(new Zone('Europe/Copenhagen'), 2, conventions);
    this.record(-5 * DAY_MS, [40, 38]);
    this.record(-2 * HOUR_MS, [5, 1]);
    this.record(-7 * MINUTE_MS, [2, 1]);
    const serviceClock = new ServerClock(this.clock, silentLogger);
    this.#scheduler = schedulerOn(this.clock, { serviceNowMs: () => serviceClock.nowMs() });
    const query = (question: Question) => {
      this.requests += 1;
      if (tellsTime) {
        serviceClock.update(new Date(this.serviceMs).toUTCString(), 0);
      }
      return Promise.resolve(this.service.answer(question, this.serviceMs));
    };
    this.#scheduler.start();
    this.#scheduler.setCustomers([{ customer: this.customer, client: { query } }]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scheduler.stop();
  }

  get serviceMs(): number {
    return this.#startMs + this.clock.monotonicMs();
  }

  get metrics(): CustomerMetrics {
    return this.customer.metricsAt(this.clock.nowMs());
  }

  get totals(): (number | undefined)[] {
    return COUNTERS.people.map((counter) => this.metrics.counters[counter]?.total);
  }

  get today(): (number | undefined)[] {
    return COUNTERS.people.map((counter) => this.metrics.counters[counter]?.today);
  }

  /** The service's own totals, of the counting period and of the day by our clock. */
  get truth(): { readonly totals: number[]; readonly today: number[] } {
    const day = this.customer.calendar.dayAt(this.clock.nowMs());
    return {
      totals: this.service.total(this.metrics.periodStartMs, this.serviceMs),
      today: this.service.total(day.startMs, this.serviceMs),
    };
  }

  /** Counts that arrive so long after now; dated later by a device whose clock is ahead. */
  record(afterMs: number, counts: readonly number[], aheadMs = 0): void {
    const arrivalMs = this.serviceMs + afterMs;
    this.service.records.push({ eventMs: arrivalMs + aheadMs, arrivalMs, counts });
  }

  /** So many minutes with traffic, each with a poll. */
  async minutes(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const restMs = AFTER_POLL_MS - (this.clock.monotonicMs() % MINUTE_MS);
      const afterMs = restMs + MINUTE_MS / 2;
      const minute = Math.floor((this.serviceMs + afterMs) / MINUTE_MS);
      this.record(afterMs, this.traffic(minute));
      await this.clock.advance(restMs + MINUTE_MS);
      this.check();
    }
  }

  step(ms: number): void {
    this.clock.step(ms);
    this.check();
  }

  check(): void {
    const { metrics, truth } = this;
    const at = new Date(this.clock.nowMs()).toISOString();
    this.totals.forEach((total, i) => {
      const key = `${metrics.periodStartMs} ${i}`;
      const highest = this.#highest.get(key) ?? 0;
      if (total !== undefined && (total < highest || total !== truth.totals[i])) {
        this.violations.push(`${at}: total ${total} after ${highest}, of ${truth.totals[i]}`);
      }
      this.#highest.set(key, Math.max(highest, total ?? 0));
    });
    this.today.forEach((count, i) => {
      if (count !== undefined && count !== truth.today[i]) {
        this.violations.push(`${at}: today ${count} of ${truth.today[i]}`);
      }
    });
  }

  get shown() {
    const { violations, totals, today, metrics } = this;
    return { violations, totals, today, isOccupancyKnown: metrics.occupancy !== undefined };
  }

  /** What `shown` must be: no value was wrong, and all are there. */
  get exact() {
    return { violations: [], ...this.truth, isOccupancyKnown: true };
  }
}

describe('our clock', () => {
  const TO_1970 = local(18, 12) / MINUTE_MS;

  /** Steps in minutes with a sign, and minutes that it runs. */
  test.each([
    ['forward by an hour at noon', local(18, 12), '10 +60 100'],
    ['back by an hour at noon', local(18, 12), '10 -60 100'],
    ['forward over the start of the day and back', local(18, 3, 40), '5 +60 5 -60 100'],
    ['back over the start of the day and forward', local(18, 3, 50), '30 -60 10 +60 100'],
    ['forward over the start of the period and back', local(31, 3, 40), '5 +60 5 -60 100'],
    ['back over the start of the period and forward', local(31, 3, 50), '30 -60 10 +60 100'],
    ['forward by three days over the start of the period', local(29, 12), '10 +4320 10 -4320 80'],
    ['to 1970 and back', local(18, 12), `10 -${TO_1970} 5 +${TO_1970} 80`],
    ['a little every minute', local(18, 3, 30), '-3 1 +3 1 '.repeat(60)],
    ['not at all for an hour, and is corrected', local(31, 3, 30), `${'1 -1 '.repeat(60)}+60 40`],
  ])('goes %s: no value is wrong, and all are back', async (_, startMs, moves) => {
    await using fixture = new ClockFixture({ startMs });
    for (const move of moves.trim().split(' ')) {
      if (/^[+-]/.test(move)) {
        fixture.step(Number(move) * MINUTE_MS);
      } else {
        await fixture.minutes(Number(move));
      }
    }
    expect(fixture.shown).toEqual(fixture.exact);
  });

  test('hides the values of another period and day at once', async () => {
    await using fixture = new ClockFixture({ startMs: local(31, 3, 30) });
    await fixture.minutes(5);
    fixture.step(HOUR_MS);
    expect(fixture.metrics.periodStartMs).toBe(local(31, 4));
    expect([...fixture.totals, ...fixture.today]).toEqual(Array(4).fill(undefined));
    expect(fixture.metrics.occupancy).toBeUndefined();
  });

  test('goes back by an hour over the start of the period: the period stays', async () => {
    await using fixture = new ClockFixture({ startMs: local(31, 3, 50) });
    await fixture.minutes(30);
    fixture.step(-HOUR_MS);
    expect(fixture.metrics.periodStartMs).toBe(local(31, 4));
    expect(fixture.totals).toEqual(fixture.truth.totals);
  });

  test('goes by days into the next period and back: the old mark stays', async () => {
    await using fixture = new ClockFixture({ startMs: local(29, 12) });
    await fixture.minutes(5);
    const [before = NaN] = fixture.totals;
    fixture.record(0, [-3, 0], -2 * MINUTE_MS);
    fixture.traffic = () => [0, 0];
    fixture.clock.step(3 * DAY_MS);
    await fixture.clock.advance(5 * MINUTE_MS);
    expect(fixture.totals).toEqual([0, 0]);
    fixture.clock.step(-3 * DAY_MS);
    await fixture.clock.advance(MINUTE_MS);
    expect(fixture.metrics.counters.people_entered).toMatchObject({ total: before, excess: 3 });
  });
});

describe('the clock of a device is ahead', () => {
  const AHEAD = [2 * MINUTE_MS, 20 * MINUTE_MS, 3 * HOUR_MS, 65 * DAY_MS, 4000 * DAY_MS];
  const CONVENTIONS: readonly Partial<SmallConventions>[] = [
    {},
    { fromMeans: 'arrival' },
    { key: 'utc', fromInclusive: false },
  ];
  const CASES = AHEAD.flatMap((aheadMs) => CONVENTIONS.map((own) => [aheadMs, own] as const));

  test.each(CASES)('by %i ms at a service with %j: who comes counts at once', async (...one) => {
    const [aheadMs, conventions] = one;
    await using fixture = new ClockFixture({ conventions });
    fixture.traffic = () => [1, 1];
    await fixture.minutes(5);
    const inside = fixture.metrics.occupancy ?? NaN;
    fixture.record(1000, [30, 0], aheadMs);
    await fixture.minutes(1);
    expect(fixture.shown).toEqual(fixture.exact);
    expect(fixture.metrics.occupancy).toBe(inside);
    const lastSeenMs = fixture.metrics.streams.people?.lastSeenMs;
    expect(lastSeenMs).toBeLessThanOrEqual(fixture.clock.nowMs());
    await fixture.minutes(80);
    expect(fixture.shown).toEqual(fixture.exact);
    // Inside from its minute on.
    expect(fixture.metrics.occupancy).toBe(inside + (aheadMs < HOUR_MS ? 30 : 0));
  });

  test('as all devices are: what cannot be dated is absent, and no counter is wrong', async () => {
    await using fixture = new ClockFixture();
    fixture.service.records.length = 0;
    fixture.traffic = () => [0, 0];
    await fixture.minutes(2);
    for (let i = 0; i < 20; i++) {
      fixture.record(1000, [3, 1], 3 * HOUR_MS);
      await fixture.minutes(1);
      expect(fixture.metrics.occupancy ?? 0).toBe(0);
      expect(fixture.metrics.streams.people?.lastSeenMs).toBeUndefined();
    }
    expect(fixture.violations).toEqual([]);
    expect([fixture.totals, fixture.today]).toEqual([
      [60, 20],
      [60, 20],
    ]);
  });
});

describe('our clock is ahead of the service by', () => {
  const OFFSETS = [10, -16, 60, -60, 185, -185].map((min) => min * MINUTE_MS);

  /** The start of a day or a period may lie between both clocks. */
  test.each(OFFSETS)('%i ms, and every counter is exact', async (oursAheadMs) => {
    for (const startMs of [local(18, 10), local(18, 2, 30), local(31, 2, 30)]) {
      await using fixture = new ClockFixture({ startMs, oursAheadMs });
      await fixture.minutes(130);
      expect(fixture.shown).toEqual(fixture.exact);
    }
  });

  test.each(OFFSETS)(
    '%i ms, and the people of the last minutes are inside',
    async (oursAheadMs) => {
      for (const key of ['iso_z', 'local', 'time_local'] as const) {
        await using fixture = new ClockFixture({ oursAheadMs, conventions: { key } });
        for (let i = 0; i < 70; i++) {
          await fixture.minutes(1);
          const [entered = NaN, exited = NaN] = fixture.truth.today;
          expect(fixture.metrics.occupancy).toBe(entered - exited);
        }
      }
    },
  );

  test('an hour, and a poll costs no more than otherwise', async () => {
    await using fixture = new ClockFixture({ oursAheadMs: HOUR_MS });
    await fixture.minutes(5);
    const before = fixture.requests;
    await fixture.minutes(30);
    expect(fixture.requests - before).toBe(30);
  });

  test('an hour that it does not tell: no counter is too high, and each is exact once an hour', async () => {
    await using fixture = new ClockFixture({ oursAheadMs: HOUR_MS, tellsTime: false });
    await fixture.minutes(10);
    let exact = 0;
    for (let i = 0; i < 130; i++) {
      await fixture.minutes(1);
      const [entered = NaN] = fixture.totals;
      const [truth = NaN] = fixture.truth.totals;
      expect(entered).toBeLessThanOrEqual(truth);
      exact += entered === truth ? 1 : 0;
    }
    expect(exact).toBeGreaterThanOrEqual(2);
  });
});
