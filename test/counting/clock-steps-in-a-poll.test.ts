import { describe, expect, test } from 'vitest';
import { Zone } from '../../src/counting/zone.ts';
import { CountedStream } from './counted.ts';
import { SmallService } from '../support/small-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const COPENHAGEN = new Zone('Europe/Copenhagen');
/** Before noon, and around the starts of a day and of a counting period. */
const STARTS = [
  Date.UTC(2026, 10, 18, 10),
  Date.UTC(2026, 10, 18, 2, 30),
  Date.UTC(2026, 10, 18, 3, 30),
  Date.UTC(2026, 11, 1, 2, 30),
  Date.UTC(2026, 11, 1, 3, 30),
];
const QUESTIONS_OF_AN_ANCHOR = 5;

/** One poll in whose middle our clock steps; then ordinary ones. What was wrong, in words. */
async function violationsOf(startMs: number, stepAt: number, stepMs: number): Promise<string[]> {
  const service = new SmallService(COPENHAGEN, 2);
  let asked = 0;
  const counted: CountedStream = new CountedStream(COPENHAGEN, startMs, (question) => {
    asked += 1;
    if (asked === stepAt) {
      counted.nowMs += stepMs;
      counted.serviceAheadMs -= stepMs;
    }
    return service.answer(question, counted.nowMs + counted.serviceAheadMs);
  });
  for (let minute = -120; minute < 60; minute++) {
    const eventMs = startMs + minute * MINUTE_MS + 30_000;
    service.records.push({ eventMs, arrivalMs: eventMs, counts: [2, 1] });
  }
  const violations: string[] = [];
  for (let poll = 0; poll < 8; poll++) {
    await counted.poll();
    const serviceMs = counted.nowMs + counted.serviceAheadMs;
    const truth = service.total(counted.figures().periodStartMs, serviceMs);
    const day = counted.customer.calendar.dayAt(counted.nowMs);
    const truthToday = service.total(day.startMs, serviceMs);
    counted.totals().forEach((total, kind) => {
      const today = counted.today()[kind];
      if (poll > 5 ? total !== truth[kind] : total !== undefined && total !== truth[kind]) {
        violations.push(`poll ${poll}: total ${total} of ${truth[kind]}`);
      }
      if (
        poll > 5 ? today !== truthToday[kind] : today !== undefined && today !== truthToday[kind]
      ) {
        violations.push(`poll ${poll}: today ${today} of ${truthToday[kind]}`);
      }
    });
    counted.nowMs += MINUTE_MS;
  }
  return violations.map(
    (violation) =>
      `${violation}, ${stepMs / MINUTE_MS} min at question ${stepAt} of a poll at ` +
      new Date(startMs).toISOString(),
  );
}

describe('a poll in whose middle our clock steps', () => {
  test.each([HOUR_MS, -HOUR_MS])(
    'by %i ms leaves no wrong value, at whichever question',
    async (stepMs) => {
      const violations = await Promise.all(
        STARTS.flatMap((startMs) =>
          Array.from({ length: QUESTIONS_OF_AN_ANCHOR }, (_, i) =>
            violationsOf(startMs, i + 1, stepMs),
          ),
        ),
      );
      expect(violations.flat()).toEqual([]);
    },
  );
});
