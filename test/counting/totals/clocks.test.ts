/**
 * Clocks that are wrong: ours, those of devices and that of the service. After every minute and every
 * step, no value may be above the service's, and no period is shown after a later one.
 */
import { describe, expect, test } from 'vitest';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { MINUTE_KEYS } from '../../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, StreamFixture } from '../fixture.ts';
import type { StreamOptions } from '../fixture.ts';

/** Returns an instant by local time of Copenhagen in winter; day 31 of November is 1 December. */
function local(day: number, hour: number, minute = 0): number {
  return Date.UTC(2026, 10, day, hour - 1, minute);
}

/** A library with visitors in each minute, whose values are compared after each of them. */
class BusyLibrary extends StreamFixture {
  readonly #violations: string[] = [];
  #shownPeriodMs = 0;
  traffic = (minute: number): readonly number[] => [1 + (minute % 3), 1];

  static async polled(options: StreamOptions, aheadMs = 0): Promise<BusyLibrary> {
    const library = new BusyLibrary({ startMs: local(18, 11), ...options });
    library.aheadMs = aheadMs;
    await library.poll();
    return library;
  }

  /** If it is not `lagging`, each value that is shown must be the service's. */
  async minutes(count: number, lagging?: 'lagging'): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.record(this.nowMs + MINUTE_MS / 2, this.traffic(this.nowMs / MINUTE_MS));
      await this.polls(1);
      this.#audit(lagging);
    }
  }

  /** Steps our clock. */
  step(ms: number): void {
    this.aheadMs += ms;
    this.#audit('lagging');
  }

  /** Returns the service's totals of the day by our clock. */
  servedToday(): number[] {
    return this.served(this.customer.calendar.dayAt(this.clockMs).startMs);
  }

  #audit(lagging?: 'lagging', missing?: 'reported'): void {
    const exported = [...this.totals(), ...this.today()];
    const { periodStartMs } = this.metrics();
    const served = [...this.served(periodStartMs), ...this.servedToday()];
    const isWrong = served.some((most, i) => {
      const value = exported[i];
      return value === undefined
        ? missing === 'reported'
        : value > most || (lagging === undefined && value < most);
    });
    const isShown = exported[0] !== undefined;
    if (isWrong || (isShown && periodStartMs < this.#shownPeriodMs)) {
      const at = new Date(this.clockMs).toISOString();
      this.#violations.push(`${at}: ${exported.join()} of ${served.join()}`);
    }
    if (isShown) {
      this.#shownPeriodMs = periodStartMs;
    }
  }

  /** Returns the values that were wrong, or are absent now. */
  violations(): readonly string[] {
    this.#audit(undefined, 'reported');
    return this.metrics().occupancy === undefined
      ? [...this.#violations, 'no occupancy']
      : this.#violations;
  }
}

describe('our clock', () => {
  /** Steps in minutes with a sign, and minutes that it runs. */
  test.each([
    ['forward over the start of the period and back', local(31, 3, 40), '5 +60 5 -60 100'],
    ['back over the start of the period and forward', local(31, 3, 50), '30 -60 10 +60 100'],
  ])('goes %s: no value is too high, and all are back', async (_, startMs, moves) => {
    const library = await BusyLibrary.polled({ startMs });
    for (const move of moves.split(' ')) {
      if (/^[+-]/.test(move)) {
        library.step(Number(move) * MINUTE_MS);
      } else {
        await library.minutes(Number(move), 'lagging');
      }
    }
    expect(library.violations()).toEqual([]);
  });

  test('is wrong by months at the start: nothing is shown until it is right', async () => {
    const people = new StreamFixture({ startMs: local(18, 12) });
    people.record(local(18, 11), [3, 0], { goneMs: local(18, 12, 2) });
    await people.poll();
    people.aheadMs = 65 * DAY_MS;
    people.restart();
    await people.polls(1);
    expect(people.totals()).toEqual([undefined, undefined]);
    expect(people.metrics().streams.people?.lastError?.message).toBe(
      "the clock here says 2027-01-22T11:01:00Z, the service's says 2026-11-18T11:01:00Z: they differ by more than 6 h",
    );
    people.restart();
    people.aheadMs = 0;
    await people.polls(1);
    // The mark from before is still there, though the service has removed its counts.
    expect(people.totals()).toEqual([50, 39]);
    expect(people.excess()).toEqual([3, 0]);
  });
});

describe('the clock of a device is ahead', () => {
  test.each<[number, Partial<Conventions>]>([
    [2 * MINUTE_MS, { fromEdge: 'inclusive' }],
    [3 * HOUR_MS, { minuteKey: MINUTE_KEYS['UTC without Z'] }],
  ])('by %i ms at a service with %j: who comes counts at once', async (...one) => {
    const [aheadMs, conventions] = one;
    const library = await BusyLibrary.polled({ conventions });
    library.traffic = () => [1, 1];
    await library.minutes(5);
    const { occupancy = NaN } = library.metrics();
    const arrivesMs = library.nowMs + 1000;
    library.record(arrivesMs + aheadMs, [30, 0], { arrivesMs });
    await library.minutes(1);
    expect(library.violations()).toEqual([]);
    const { occupancy: before, streams } = library.metrics();
    expect(before).toBe(occupancy);
    expect(streams.people?.lastSeenMs).toBeLessThanOrEqual(library.nowMs);
    await library.minutes(80);
    expect(library.violations()).toEqual([]);
    // Inside from its minute on.
    expect(library.metrics().occupancy).toBe(occupancy + (aheadMs < HOUR_MS ? 30 : 0));
  });
});

describe('our clock is ahead of the service by', () => {
  test.each([1, -5])(
    '%i hours: no counter is too high, each is exact once an hour, and a poll costs no more',
    async (hours) => {
      const people = new StreamFixture();
      people.aheadMs = hours * HOUR_MS;
      await people.poll();
      let exact = 0;
      let single = 0;
      for (let i = 0; i < 140; i++) {
        people.record(people.nowMs + MINUTE_MS / 2, [1 + (i % 3), 1]);
        await people.polls(1);
        const [entered = NaN] = people.totals();
        const [total = NaN] = people.served();
        expect(entered).toBeLessThanOrEqual(total);
        exact += entered === total ? 1 : 0;
        single += people.requests.length === 1 ? 1 : 0;
      }
      expect(exact).toBeGreaterThanOrEqual(2);
      expect(single).toBeGreaterThanOrEqual(130);
    },
  );
});
