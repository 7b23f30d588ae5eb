import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/base/duration.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import { readFourWeeks } from '../../../src/counting/past/read-four-weeks.ts';
import { learnDoors } from '../../../src/counting/occupancy/door-model.ts';
import { pastDays } from '../../../src/counting/past/past.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import type { Change, Requested } from '../../support/responses.ts';
import { CALENDAR } from '../../support/owner.ts';
import {
  fittingKeyTimes,
  forcedAbove,
  MINUTE_KEYS,
  SimulatedPeople,
} from '../../support/simulated-people.ts';
import { sourceOf } from './fixture.ts';

/** Clocks are set back within the four weeks before. */
const NOW_MS = Date.UTC(2026, 10, 18, 12);
const TODAY = CALENDAR.dayAt(NOW_MS);
const NO_MINUTES = { reason: 'malformed', message: 'the service returns no minutes' };

/** 100 visits a day; every 25th exit is missed. Today and the 29th day before count differently. */
function libraryOf(conventions: Partial<Conventions>): SimulatedPeople {
  const service = new SimulatedPeople(conventions);
  for (let day = -29; day <= 0; day++) {
    for (let visit = 0; visit < 100; visit++) {
      const inMs = TODAY.startMs + day * DAY_MS + (5 + (visit % 50) / 10) * HOUR_MS;
      const outMs = inMs + (20 + visit) * 60_000;
      const counted = day === 0 || day === -29 ? 0 : Number(visit % 25 > 0);
      service.record(inMs, [1, 0]);
      service.record(outMs, [0, counted]);
    }
  }
  return service;
}

async function read(conventions: Partial<Conventions>, change: Change = (response) => response) {
  const service = libraryOf(conventions);
  const requests: Requested[] = [];
  function respond(question: Requested) {
    return change(service.respond(question, NOW_MS), question);
  }
  const keyTimes = fittingKeyTimes(conventions.minuteKey);
  const past = await readFourWeeks(sourceOf(respond, requests, CALENDAR, keyTimes), TODAY);
  return { model: learnDoors(pastDays(past), past.weekday), requests };
}

describe('the doors are learned from the 28 days before today', () => {
  test('by quarter', async () => {
    const { model, requests } = await read({});
    expect(model.rejectedDays).toEqual([]);
    expect(Math.exp(model.learnedLogRatio ?? NaN)).toBeCloseTo(100 / 96, 3);
    expect(model.emptiesAtNight).toBe(true);
    expect(requests.map(({ aggregation }) => aggregation)).toEqual(['day', 'quarter', 'minute']);
  });

  test('in shorter windows if the service forces another aggregation', async () => {
    const { model, requests } = await read(forcedAbove(600));
    expect(model).toEqual((await read({})).model);
    expect(requests.length).toBeLessThan(40);
  });

  test('not at all if the service never answers by the minute', async () => {
    await expect(read(forcedAbove(2))).rejects.toMatchObject(NO_MINUTES);
  });

  /** Changes the keys of a response by quarter, which are the starts of quarter-hours in seconds. */
  function changed(keys: (of: readonly number[]) => readonly number[]): Change {
    return (response, { aggregation }) => {
      const changedKeys = keys(response.rows.map(({ key }) => Number(key)));
      const rows = changedKeys.map((key, i) => ({ counts: [0, 0], ...response.rows[i], key }));
      return aggregation === 'quarter' ? { ...response, rows } : response;
    };
  }

  type Keys = readonly number[];
  function within(keys: Keys): Keys {
    return keys.map((key) => key + 60);
  }
  test.each<[string, readonly string[], (keys: Keys) => Keys]>([
    ['within quarter-hours', ['minute'], within],
    ['of which half are', [], (keys) => [...keys, ...within(keys)]],
    [
      'of which most are',
      ['minute'],
      (keys) => [...keys, ...within([...keys, ...keys.slice(0, 1)])],
    ],
  ])('by minute if quarters have keys %s', async (_, older, keys) => {
    const conventions = { minuteKey: MINUTE_KEYS.seconds };
    const { model, requests } = await read(conventions, changed(keys));
    expect(model).toEqual((await read({})).model);
    const ofDays = requests.filter(
      ({ from, to = '' }) => Date.parse(to) - Date.parse(from) >= DAY_MS,
    );
    const aggregations = ofDays.map(({ aggregation }) => aggregation);
    expect(aggregations).toEqual(['day', 'quarter', ...older, 'minute']);
  });
});

describe('a library that counted nobody for days', () => {
  const ENTRY_MS = TODAY.startMs - 5 * DAY_MS + 6 * HOUR_MS + 7 * 60_000;
  const EXIT_MS = ENTRY_MS - HOUR_MS;

  async function readQuiet(
    conventions: Partial<Conventions> = {},
    daysWithCounts = 9,
    change: Change = (response) => response,
  ) {
    const service = new SimulatedPeople(conventions);
    for (let day = 0; day < daysWithCounts; day += 1) {
      service.record(ENTRY_MS - day * DAY_MS, [1, 0]);
      service.record(EXIT_MS - day * DAY_MS, [0, 1]);
    }
    const source = sourceOf((question) => change(service.respond(question, NOW_MS), question));
    return readFourWeeks(source, TODAY);
  }

  const QUARTERS_MS = [ENTRY_MS - 7 * 60_000, EXIT_MS - 7 * 60_000];

  test('has both minutes if two quarter-hours, which may be of a year, have rows', async () => {
    expect((await readQuiet({}, 1))?.lastSeenMs).toEqual([ENTRY_MS, EXIT_MS]);
  });

  test('has the quarter-hours if three have rows', async () => {
    const past = await readQuiet({}, 2, (response, { aggregation }) =>
      aggregation === 'quarter' ? { ...response, rows: response.rows.slice(-3) } : response,
    );
    expect(past.lastSeenMs).toEqual([ENTRY_MS, QUARTERS_MS[1]]);
  });

  test.each<[string, Change]>([
    [
      'no response',
      () => {
        throw new ServiceError('unreachable', 'closed');
      },
    ],
    ['other keys', ({ rows, ...own }) => ({ ...own, rows: rows.map((r) => ({ ...r, key: 'x' })) })],
  ])('has the quarter-hours if its minutes have %s', async (_, change) => {
    const past = await readQuiet({}, 9, (response, question) =>
      question.aggregation === 'minute' && question.from.includes('T10:')
        ? change(response, question)
        : response,
    );
    expect(past.lastSeenMs).toEqual(QUARTERS_MS);
  });

  test('has an empty past if it never counted anybody', async () => {
    const past = await readQuiet({}, 0);
    expect(past).toMatchObject({ days: 28, sums: [0, 0], lastSeenMs: [undefined, undefined] });
  });

  test('has no past if its keys cannot be read', async () => {
    const read = readQuiet({ minuteKey: { form: 'opaque' } });
    await expect(read).rejects.toThrow(/^minute keys unreadable: "bucket \w+"$/);
  });
});
