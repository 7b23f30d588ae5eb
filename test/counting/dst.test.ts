import { describe, expect, test } from 'vitest';
import { Zone } from '../../src/counting/zone.ts';
import { CountedStream } from './counted.ts';
import { SMALL_KEYS, SmallService } from '../support/small-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Keys that name the hour that occurs twice by one name. */
const AMBIGUOUS: readonly string[] = [
  'local',
  'compact_local',
  'time_local',
  'minute_of_day_local',
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
  SMALL_KEYS.map((key) => [name, key, zone, changeMs] as const),
);

describe('a night in which clocks on the wall go', () => {
  test.each(CASES)(
    '%s, with keys %s, loses and doubles nobody',
    async (_, key, timezone, changeMs) => {
      const zone = new Zone(timezone);
      expect(zone.offsetMsAt(changeMs - 1)).not.toBe(zone.offsetMsAt(changeMs));
      const service = new SmallService(zone, 2, { key });
      const startMs = changeMs - 6 * HOUR_MS;
      const counted = new CountedStream(zone, startMs, (question, nowMs) =>
        service.answer(question, nowMs),
      );
      // Never more out than in, so that occupancy does not depend on the order within an hour.
      for (let i = -60; i < 16 * 60; i += 4) {
        const eventMs = startMs + i * MINUTE_MS + 30_000;
        service.records.push({
          eventMs,
          arrivalMs: eventMs,
          counts: i % 12 === 0 ? [2, 1] : [1, 0],
        });
      }
      const doubledMs = zone.offsetMsAt(changeMs - 1) - zone.offsetMsAt(changeMs);
      const wrong: string[] = [];
      for (let poll = 0; poll < 130; poll++) {
        counted.nowMs += 5 * MINUTE_MS;
        await counted.poll();
        const { periodStartMs, occupancy, streams } = counted.figures();
        const dayStartMs = counted.customer.calendar.dayAt(counted.nowMs).startMs;
        const today = service.total(dayStartMs, counted.nowMs);
        const [entered = 0, exited = 0] = today;
        const newestMs = service.records.findLast(
          ({ eventMs }) => eventMs <= counted.nowMs,
        )?.eventMs;
        const lastSeenMs = Math.floor((newestMs ?? 0) / MINUTE_MS) * MINUTE_MS;
        const mayBeEarlyMs = AMBIGUOUS.includes(key) ? Math.max(0, doubledMs) : 0;
        const at = zone.format(counted.nowMs);
        const totals = service.total(periodStartMs, counted.nowMs);
        // A month and a day that have just begun: the one is absent until it is accepted to be empty,
        // and who came since the newest poll of the day before is not last seen.
        if (today.every((count) => count === 0)) {
          continue;
        }
        if (String(counted.totals()) !== String(totals)) {
          wrong.push(`${at}: totals ${counted.totals().join()}`);
        }
        if (String(counted.today()) !== String(today)) {
          wrong.push(`${at}: today ${counted.today().join()} and not ${today.join()}`);
        }
        // It may take a while after the start until the keys are established.
        if (occupancy === undefined && poll < 12) {
          continue;
        }
        if (occupancy !== entered - exited) {
          wrong.push(`${at}: occupancy ${occupancy} and not ${entered - exited}`);
        }
        const seenMs = streams.people?.lastSeenMs;
        const earlyMs = lastSeenMs - (seenMs ?? -Infinity);
        if (earlyMs < 0 || earlyMs > mayBeEarlyMs) {
          wrong.push(`${at}: last seen ${seenMs === undefined ? 'never' : zone.format(seenMs)}`);
        }
      }
      expect(wrong).toEqual([]);
    },
  );
});
