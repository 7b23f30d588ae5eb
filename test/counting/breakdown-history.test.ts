import { expect, test } from 'vitest';
import type { Question, AggregatedResponse } from '../../src/base/model.ts';
import { keyFiguresAt, readBreakdownHistory } from '../../src/counting/breakdown-history.ts';
import type { BreakdownHistory } from '../../src/counting/breakdown-history.ts';
import { Calendar } from '../../src/counting/calendar.ts';
import { Zone } from '../../src/counting/zone.ts';
import { queryFrom } from '../support/ask.ts';
import { readingOf } from '../support/counted-breakdown.ts';

const CALENDAR = new Calendar(new Zone('Europe/Copenhagen'), { hour: 4, minute: 0 });
const PERIOD = CALENDAR.periodAt(Date.UTC(2026, 9, 10));
const DAY_MS = 86_400_000;

function dayEnd(day: number): number {
  return CALENDAR.dayAt(PERIOD.startMs + (day - 1) * DAY_MS).endMs;
}

function read(
  answer: (question: Question) => AggregatedResponse,
  toldFromMs = PERIOD.startMs,
  endMs = dayEnd(4),
  asked: Question[] = [],
): Promise<BreakdownHistory> {
  const span = { startMs: PERIOD.startMs, endMs };
  const context = { breakdown: 'branch', calendar: CALENDAR, span, toldFromMs } as const;
  return readBreakdownHistory(context, queryFrom(answer, asked));
}

/** Ten a day come to the one branch, three to the other. */
function steady({ to = '' }: Question): AggregatedResponse {
  const days = Math.round((Date.parse(to) - PERIOD.startMs) / DAY_MS);
  return readingOf([
    ['101', 10 * days, 9 * days],
    [20, 3 * days, 0],
  ]);
}

function totalAt(history: BreakdownHistory, key: string, atMs: number): number | undefined {
  return keyFiguresAt(history, key, {}, atMs).counters.people_entered?.total;
}

test('a counter rises where a day ends, a second before it at the soonest', async () => {
  const history = await read(steady);
  expect(history.keys).toEqual(['20', '101']);
  expect(totalAt(history, '101', PERIOD.startMs)).toBe(0);
  expect(totalAt(history, '101', dayEnd(1) - 2_000)).toBe(0);
  expect(totalAt(history, '101', dayEnd(1) - 1_000)).toBe(10);
  expect(totalAt(history, '101', dayEnd(2))).toBe(20);
  expect(totalAt(history, '20', dayEnd(4) - 1_000)).toBe(12);
});

test('every question is about the time since the epoch, so that there is no seam', async () => {
  const asked: Question[] = [];
  await read(steady, PERIOD.startMs, dayEnd(4), asked);
  expect(new Set(asked.map(({ from }) => from))).toEqual(new Set(['2026-10-01T04:00:00+02:00']));
  expect(asked.map(({ to }) => to?.slice(0, 16))).toEqual([
    '2026-10-02T04:00',
    '2026-10-03T04:00',
    '2026-10-04T04:00',
    '2026-10-05T04:00',
  ]);
});

test('nothing is asked of days before it is told, but for the end of the last one', async () => {
  const asked: Question[] = [];
  const history = await read(steady, dayEnd(2) + 3_600_000, dayEnd(4) + 3_600_000, asked);
  expect(asked.map(({ to }) => to?.slice(0, 10))).toEqual([
    '2026-10-03',
    '2026-10-04',
    '2026-10-05',
  ]);
  expect(totalAt(history, '101', dayEnd(2) + 3_600_000)).toBe(20);
});

test('what the service takes back or lists no more is held', async () => {
  const answers = [
    readingOf([['a', 5, 1]]),
    readingOf([['a', 4, 2]]),
    readingOf([['b', 1, 0]]),
    readingOf([['a', 7, 2]]),
  ];
  const history = await read(() => answers.shift() ?? readingOf([]));
  expect([1, 2, 3, 4].map((day) => totalAt(history, 'a', dayEnd(day)))).toEqual([5, 5, 5, 7]);
  expect([1, 2, 3, 4].map((day) => totalAt(history, 'b', dayEnd(day)))).toEqual([0, 0, 1, 1]);
});

test('no counter is above what was shown first', async () => {
  const history = await read(steady);
  const { counters } = keyFiguresAt(history, '101', { people_entered: 33 }, dayEnd(4));
  expect([counters.people_entered?.total, counters.people_exited?.total]).toEqual([33, 36]);
});

test('there is room for a thousand keys', async () => {
  const rows = Array.from({ length: 1_002 }, (_, i) => [i, 1, 1] as const);
  const history = await read(() => readingOf(rows));
  expect([history.keys.length, history.keys.at(-1), history.droppedKeys]).toEqual([
    1_000,
    '999',
    2,
  ]);
});

test('a forced aggregation is no breakdown', async () => {
  await expect(read(() => readingOf([['2026-10-01', 5, 5]], 'day'))).rejects.toThrow(
    'the answer has another aggregation than "branch"',
  );
});
