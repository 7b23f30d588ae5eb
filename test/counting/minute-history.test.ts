/**
 * History by the minute from services of every convention: whatever the service means by its windows
 * and writes as its keys, a month has the service's own totals, and each minute is where it was.
 */
import { expect, test } from 'vitest';
import type { Question, AggregatedResponse } from '../../src/base/model.ts';
import { seededRandom } from '../../src/base/random.ts';
import { Calendar } from '../../src/counting/calendar.ts';
import { UNKNOWN_FORMAT, readMinuteHistory } from '../../src/counting/minute-history.ts';
import type { MinuteHistory } from '../../src/counting/minute-history.ts';
import { Zone } from '../../src/counting/zone.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { drawConventions } from '../../src/simulator/conventions.ts';
import { ALWAYS_OPEN, OFFICE_HOURS } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { pick } from '../../src/simulator/chance.ts';
import { small } from '../simulator/support.ts';
import type { Row } from '../simulator/support.ts';
import { queryFrom } from '../support/ask.ts';
import { answerable } from '../support/answerable.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** After the clocks were set back in Europe and America, and after an epoch began. */
const NOW_MS = Date.parse('2026-11-05T15:00:00Z');
const ZONES = ['Europe/Copenhagen', 'Europe/London', 'America/New_York', 'Asia/Kathmandu'];

interface Read {
  readonly history: MinuteHistory;
  readonly asked: readonly Question[];
  /** How many the service has of the time between two instants, by its own windows. */
  readonly between: (fromMs: number, toMs: number) => { entered: number; exited: number };
  readonly calendar: Calendar;
}

/** The people of a stretch that ends now, as a library of these conventions has it. */
async function read(
  conventions: Partial<Conventions>,
  library: Partial<Library>,
  startMs: number,
  endMs: number,
): Promise<Read> {
  const world = small(conventions, library, NOW_MS);
  const calendar = new Calendar(new Zone(library.timezone ?? 'Europe/Copenhagen'), {
    hour: 4,
    minute: 0,
  });
  function answer({ aggregation, from, to }: Question): AggregatedResponse {
    const { metadata, result } = world.ask<Row>('/v1/peoplecount', {
      aggregation,
      from,
      ...(to === undefined ? {} : { to }),
    });
    return {
      aggregation: metadata.aggregation ?? '',
      rows: result.map((row) => ({ key: row.key, counts: [row.in, row.out] })),
    };
  }
  const asked: Question[] = [];
  const span = { startMs, endMs };
  const context = { stream: 'people', calendar, span, needsDayBefore: true } as const;
  const { history } = await readMinuteHistory(context, UNKNOWN_FORMAT, queryFrom(answer, asked));
  return {
    history,
    asked,
    calendar,
    between(fromMs, toMs) {
      const [from, to] = [world.service.served('lone', fromMs), world.service.served('lone', toMs)];
      return { entered: from.entered - to.entered, exited: from.exited - to.exited };
    },
  };
}

function countedUntil({ span, minutes }: MinuteHistory, atMs: number): number[] {
  const count = Math.round((atMs - span.startMs) / MINUTE_MS);
  return minutes.map((kind) => kind.subarray(0, count).reduce((sum, more) => sum + more, 0));
}

/** What is forced even for minutes, and then widened, no way of asking can tell. */
function tellable(drawn: Conventions): Conventions {
  return { ...answerable(drawn), forced: { ...drawn.forced, window: 'as asked' } };
}

test.each(Array.from({ length: 40 }, (_, i) => i + 1))(
  'has the totals of the service in the drawn world %i',
  { timeout: 120_000 },
  async (seed) => {
    const random = seededRandom(seed);
    const conventions = tellable(drawConventions(random));
    const timezone = pick(random, ZONES);
    const opening = pick(random, [ALWAYS_OPEN, OFFICE_HOURS]);
    const visitsPerDay = pick(random, [3, 60, 400]);
    const calendar = new Calendar(new Zone(timezone), { hour: 4, minute: 0 });
    const endMs = calendar.dayAt(NOW_MS - 2 * DAY_MS).startMs;
    const startMs = calendar.dayAt(endMs - 11 * DAY_MS).startMs;
    const quietHours = opening === OFFICE_HOURS ? 0.15 : 0.5;
    const found = await read(
      conventions,
      { timezone, opening, visitsPerDay, quietHours },
      startMs,
      endMs,
    );
    const truth = found.between(startMs, endMs);
    const [entered = 0, exited = 0] = countedUntil(found.history, endMs);
    // Who passes exactly where the stretch ends belongs to it or not, as the service likes.
    const most = opening === OFFICE_HOURS ? 0 : 3;
    expect(Math.abs(entered - truth.entered)).toBeLessThanOrEqual(most);
    expect(Math.abs(exited - truth.exited)).toBeLessThanOrEqual(most);
    const isByEvent = conventions.windowTime === conventions.keyTime;
    const days = isByEvent && opening === OFFICE_HOURS ? daysOf(calendar, startMs, endMs) : [];
    expect(days.map((dayMs) => countedUntil(found.history, dayMs))).toEqual(
      days.map((dayMs) => Object.values(found.between(startMs, dayMs))),
    );
  },
);

function daysOf(calendar: Calendar, startMs: number, endMs: number): readonly number[] {
  const days: number[] = [];
  for (let dayMs = startMs; dayMs < endMs; dayMs = calendar.dayAt(dayMs).endMs) {
    days.push(dayMs);
  }
  return days;
}
