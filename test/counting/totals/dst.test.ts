import { expect, test } from 'vitest';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import { countedPeople } from '../counted.ts';
import { MINUTE_KEYS } from '../../support/simulated-people.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Keys that name the hour that occurs twice by one name. */
const AMBIGUOUS: readonly string[] = [
  'local time',
  'compact local time',
  'local time of day',
  'local minute of day',
];

/** The change of the offset, in a zone with an hour, with half of one, and with one at midnight. */
const NIGHTS: readonly [string, string, number][] = [
  ['back in Copenhagen', 'Europe/Copenhagen', Date.UTC(2026, 9, 25, 1)],
  ['forward in Copenhagen', 'Europe/Copenhagen', Date.UTC(2026, 2, 29, 1)],
  ['back in New York', 'America/New_York', Date.UTC(2026, 10, 1, 6)],
  ['forward in New York', 'America/New_York', Date.UTC(2026, 2, 8, 7)],
  ['back by half an hour on Lord Howe', 'Australia/Lord_Howe', Date.UTC(2026, 3, 4, 15)],
  ['forward by half an hour on Lord Howe', 'Australia/Lord_Howe', Date.UTC(2026, 9, 3, 15, 30)],
  ['back at midnight in Santiago', 'America/Santiago', Date.UTC(2026, 3, 5, 3)],
  ['forward at midnight in Santiago', 'America/Santiago', Date.UTC(2026, 8, 6, 4)],
];
const CASES = NIGHTS.flatMap(([name, zone, changeMs]) =>
  Object.entries(MINUTE_KEYS).map(
    ([key, minuteKey]) => [name, key, minuteKey, zone, changeMs] as const,
  ),
);

test.each(CASES)(
  'a night in which clocks go %s, with keys %s, loses and doubles nobody',
  async (_, key, minuteKey, timezone, changeMs) => {
    const zone = new Zone(timezone);
    const startMs = changeMs - 6 * HOUR_MS;
    const { counted, service } = countedPeople({
      timezone,
      startMs,
      records: [],
      conventions: { minuteKey },
    });
    const recordedMs: number[] = [];
    // Never more out than in, so that occupancy does not depend on the order within an hour.
    for (let i = -60; i < 16 * 60; i += 4) {
      const eventMs = startMs + i * MINUTE_MS + 30_000;
      service.record(eventMs, i % 12 === 0 ? [2, 1] : [1, 0]);
      recordedMs.push(eventMs);
    }
    const repeatedMs = zone.offsetMsAt(changeMs - 1) - zone.offsetMsAt(changeMs);
    expect(repeatedMs).not.toBe(0);
    const maxEarlyMs = AMBIGUOUS.includes(key) ? Math.max(0, repeatedMs) : 0;
    for (let poll = 0; poll < 130; poll++) {
      counted.nowMs += 5 * MINUTE_MS;
      await counted.poll();
      const at = zone.format(counted.nowMs);
      const { periodStartMs, occupancy, streams } = counted.figures();
      const totals = service.total(periodStartMs, counted.nowMs);
      const { startMs: dayStartMs } = counted.customer.calendar.dayAt(counted.nowMs);
      const today = service.total(dayStartMs, counted.nowMs);
      const [entered = 0, exited = 0] = today;
      // A period and a day without counts must be confirmed.
      if (entered === 0) {
        continue;
      }
      expect({ at, totals: counted.totals(), today: counted.today() }).toEqual({
        at,
        totals,
        today,
      });
      // It may take an hour until the key format is detected.
      if (occupancy === undefined && poll < 12) {
        continue;
      }
      expect({ at, occupancy }).toEqual({ at, occupancy: entered - exited });
      const newest = recordedMs.findLast((ms) => ms <= counted.nowMs) ?? NaN;
      const newestMs = Math.floor(newest / MINUTE_MS) * MINUTE_MS;
      const earlyMs = newestMs - (streams.people?.lastSeenMs ?? NaN);
      expect({ at, isSeen: earlyMs >= 0 && earlyMs <= maxEarlyMs }).toEqual({ at, isSeen: true });
    }
  },
);
