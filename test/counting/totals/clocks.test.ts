/**
 * Clocks that are wrong: ours, those of devices and that of the service. After every minute and every step,
 * each value must be the service's or absent.
 */
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/counting/calendar/calendar.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { NOVEMBER } from '../../support/owner.ts';
import { MINUTE_KEYS } from '../../support/simulated-people.ts';
import { countedPeople, HOUR_MS, MINUTE_MS } from '../counted.ts';

interface Options {
  /** The service's time at the start. */
  readonly startMs?: number;
  /** By how much our clock is ahead of the service's at the start. */
  readonly aheadMs?: number;
  readonly conventions?: Partial<Conventions>;
  readonly traffic?: (minute: number) => readonly number[];
}

/** In local time of Copenhagen in winter; day 31 of November is 1 December. */
function local(day: number, hour: number, minute = 0): number {
  return Date.UTC(2026, 10, day, hour - 1, minute);
}

/** A library with visitors in each minute, which is polled once a minute. */
async function busyLibrary(options: Options = {}) {
  const { aheadMs = 0, traffic = (minute) => [1 + (minute % 3), 1], ...given } = options;
  const { counted, service, record } = countedPeople({ startMs: local(18, 11), ...given });
  counted.aheadMs = aheadMs;
  const violations: string[] = [];
  /** The highest total seen, by counting period and counter. */
  const highest = new Map<string, number>();

  /** The service's own totals, of the counting period and of the day by our clock. */
  function truth() {
    const { periodStartMs } = counted.figures();
    const day = counted.customer.calendar.dayAt(counted.clockMs);
    return {
      totals: service.total(periodStartMs, counted.nowMs),
      today: service.total(day.startMs, counted.nowMs),
    };
  }
  function check(): void {
    const { totals, today } = truth();
    const at = new Date(counted.clockMs).toISOString();
    counted.totals().forEach((total, i) => {
      const key = `${counted.figures().periodStartMs} ${i}`;
      const before = highest.get(key) ?? 0;
      if (total !== undefined && (total < before || total !== totals[i])) {
        violations.push(`${at}: total ${total} after ${before}, of ${totals[i]}`);
      }
      highest.set(key, Math.max(before, total ?? 0));
    });
    counted.today().forEach((count, i) => {
      if (count !== undefined && count !== today[i]) {
        violations.push(`${at}: today ${count} of ${today[i]}`);
      }
    });
  }
  async function minutes(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      record(counted.nowMs + MINUTE_MS / 2, traffic(counted.nowMs / MINUTE_MS));
      await counted.polls(1);
      check();
    }
  }
  await counted.poll();
  return {
    counted,
    record,
    minutes,
    truth,
    /** Our clock steps. */
    step: (ms: number) => {
      counted.aheadMs += ms;
      check();
    },
    lastSeenMs: () => counted.figures().streams.people?.lastSeenMs,
    shown: () => ({
      violations,
      totals: counted.totals(),
      today: counted.today(),
      isOccupancyKnown: counted.figures().occupancy !== undefined,
    }),
    /** What `shown` must be: no value was wrong, and all are there. */
    exact: () => ({ violations: [], ...truth(), isOccupancyKnown: true }),
  };
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
    const library = await busyLibrary({ startMs });
    for (const move of moves.trim().split(' ')) {
      if (/^[+-]/.test(move)) {
        library.step(Number(move) * MINUTE_MS);
      } else {
        await library.minutes(Number(move));
      }
    }
    expect(library.shown()).toEqual(library.exact());
  });

  test('hides the values of another period and day at once', async () => {
    const { counted, minutes, step } = await busyLibrary({ startMs: local(31, 3, 30) });
    await minutes(5);
    step(HOUR_MS);
    expect(counted.figures().periodStartMs).toBe(local(31, 4));
    expect([...counted.totals(), ...counted.today()]).toEqual(Array(4).fill(undefined));
    expect(counted.figures().occupancy).toBeUndefined();
  });

  test('goes by days into the next period and back: the old mark stays', async () => {
    const { counted, record } = countedPeople({ startMs: local(29, 12) });
    record(local(29, 11), [3, 0], { goneMs: local(29, 12, 2) });
    await counted.poll();
    expect(counted.totals()).toEqual([50, 39]);
    counted.aheadMs = 3 * DAY_MS;
    // A first total of 0 is confirmed after a reconcile interval.
    await counted.polls(62);
    expect(counted.totals()).toEqual([0, 0]);
    counted.aheadMs = 0;
    await counted.polls(1);
    expect(counted.totals()).toEqual([50, 39]);
    expect(counted.excess()).toEqual([3, 0]);
  });

  test('goes by hours into the next period and back: the new period is discarded, also by a restart', async () => {
    const { counted, record } = countedPeople({ startMs: local(30, 21) });
    record(local(31, 5), [1, 0], { arrivesMs: local(30, 20) });
    await counted.poll();
    counted.aheadMs = 10 * HOUR_MS;
    await counted.polls(1);
    expect(counted.figures().periodStartMs).toBe(NOVEMBER.endMs);
    expect(counted.totals()).toEqual([1, 0]);
    counted.aheadMs = 0;
    counted.restart();
    await counted.polls(1);
    expect(counted.figures().periodStartMs).toBe(NOVEMBER.startMs);
    expect(counted.totals()).toEqual([48, 39]);
    const state = [...counted.marks.serialize(counted.nowMs)].join('');
    expect(state).not.toContain(new Date(NOVEMBER.endMs).toISOString());
  });
});

describe('the clock of a device is ahead', () => {
  const AHEAD = [2 * MINUTE_MS, 20 * MINUTE_MS, 3 * HOUR_MS, 65 * DAY_MS, 4000 * DAY_MS];
  const CONVENTIONS: readonly Partial<Conventions>[] = [
    { fromEdge: 'inclusive' },
    { windowTime: 'server' },
    { minuteKey: MINUTE_KEYS['UTC without Z'] },
  ];
  const CASES = AHEAD.flatMap((aheadMs) => CONVENTIONS.map((own) => [aheadMs, own] as const));

  test.each(CASES)('by %i ms at a service with %j: who comes counts at once', async (...one) => {
    const [aheadMs, conventions] = one;
    const library = await busyLibrary({ conventions, traffic: () => [1, 1] });
    const { counted, minutes, record } = library;
    await minutes(5);
    const inside = counted.figures().occupancy ?? NaN;
    const arrivesMs = counted.nowMs + 1000;
    record(arrivesMs + aheadMs, [30, 0], { arrivesMs });
    await minutes(1);
    expect(library.shown()).toEqual(library.exact());
    expect(counted.figures().occupancy).toBe(inside);
    expect(library.lastSeenMs()).toBeLessThanOrEqual(counted.nowMs);
    await minutes(80);
    expect(library.shown()).toEqual(library.exact());
    // Inside from its minute on.
    expect(counted.figures().occupancy).toBe(inside + (aheadMs < HOUR_MS ? 30 : 0));
  });

  test('as all devices are: what cannot be dated is absent, and no counter is wrong', async () => {
    const { counted, record } = countedPeople({ records: [] });
    await counted.polls(2);
    for (let i = 0; i < 20; i++) {
      const arrivesMs = counted.nowMs + 1000;
      record(arrivesMs + 3 * HOUR_MS, [3, 1], { arrivesMs });
      await counted.polls(1);
      expect(counted.totals()).toEqual([3 * i + 3, i + 1]);
      expect(counted.today()).toEqual(counted.totals());
      expect(counted.figures().occupancy ?? 0).toBe(0);
      expect(counted.figures().streams.people?.lastSeenMs).toBeUndefined();
    }
  });
});

describe('our clock is ahead of the service by', () => {
  const OFFSETS = [10, -16, 60, -60, 185, -185].map((min) => min * MINUTE_MS);

  /** The start of a day or a period may lie between both clocks. */
  test.each(OFFSETS)('%i ms, and every counter is exact', async (aheadMs) => {
    for (const startMs of [local(18, 10), local(18, 2, 30), local(31, 2, 30)]) {
      const library = await busyLibrary({ startMs, aheadMs });
      await library.minutes(130);
      expect(library.shown()).toEqual(library.exact());
    }
  });

  test.each(OFFSETS)('%i ms, and the people of the last minutes are inside', async (aheadMs) => {
    for (const key of ['UTC with Z', 'local time', 'local time of day'] as const) {
      const conventions = { minuteKey: MINUTE_KEYS[key] };
      const { counted, minutes, truth } = await busyLibrary({ aheadMs, conventions });
      for (let i = 0; i < 70; i++) {
        await minutes(1);
        const [entered = NaN, exited = NaN] = truth().today;
        expect(counted.figures().occupancy).toBe(entered - exited);
      }
    }
  });

  test('an hour, and a poll costs no more than otherwise', async () => {
    const { counted, minutes } = await busyLibrary({ aheadMs: HOUR_MS });
    await minutes(5);
    for (let i = 0; i < 30; i++) {
      await minutes(1);
      expect(counted.asked).toHaveLength(1);
    }
  });

  test('an hour that it does not tell: no counter is too high, and each is exact once an hour', async () => {
    const { counted, minutes, truth } = await busyLibrary({ aheadMs: HOUR_MS });
    counted.serviceTellsTime = false;
    await minutes(10);
    let exact = 0;
    for (let i = 0; i < 130; i++) {
      await minutes(1);
      const [entered = NaN] = counted.totals();
      const [total = NaN] = truth().totals;
      expect(entered).toBeLessThanOrEqual(total);
      exact += entered === total ? 1 : 0;
    }
    expect(exact).toBeGreaterThanOrEqual(2);
  });
});
