/** What a building says about its day and its past, over new days and reloads. */
import { describe, expect, test } from 'vitest';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import type { Customer } from '../../src/counting/customer.ts';
import { ESTIMATED } from '../support/polled.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './fixture.ts';
import {
  customer,
  historyBefore,
  passes,
  poll,
  TODAY,
  TOMORROW,
  UNESTIMATED,
  USUAL_DAY,
} from './site-fixture.ts';
import type { Minutes } from './site-fixture.ts';

function expected(of: Customer, minute: number, day = TODAY): number | undefined {
  return of.metricsAt(day.startMs + minute * MINUTE_MS).usual?.people;
}

describe('what is usual', () => {
  test('is known once the history is read, for 15 minutes after a poll', () => {
    const library = customer();
    poll(library, 480, { 240: [1, 0] });
    expect(expected(library, 480)).toBeUndefined();
    library.pastRead('people', historyBefore(TODAY));
    // From 08:15 to 11:00, 40 in an hour.
    expect(expected(library, 480)).toBeCloseTo(110, 9);
    expect(expected(library, 495)).toBeCloseTo(110, 9);
    expect(library.metricsAt(TODAY.startMs + 480 * MINUTE_MS).validUntilMs).toBe(
      TODAY.startMs + 495 * MINUTE_MS + 1,
    );
    expect(expected(library, 495.001)).toBeUndefined();
  });

  test('is not known while keys cannot be parsed, nor who was last seen', () => {
    const library = customer();
    library.pastRead('people', historyBefore(TODAY));
    poll(library, 480, { 240: [1, 0] });
    poll(library, 481, undefined);
    const { usual, streams } = library.metricsAt(TODAY.startMs + 481 * MINUTE_MS);
    expect([usual, streams.people?.lastSeenMs]).toEqual([undefined, undefined]);
  });

  test('follows new opening hours at once', () => {
    const library = customer();
    library.pastRead('people', historyBefore(TODAY));
    poll(library, 480, { 240: [1, 0] });
    expect(library.metricsAt(TODAY.startMs + 480 * MINUTE_MS).usual).toMatchObject({
      openSinceLastSeenMs: undefined,
    });
    for (const [hours, people, openHours] of [
      ['Mo-Su 10:00-20:00', 40, 2],
      ['Mo-Su 09:00-20:00', 80, 3],
      ['Mo-Su 09:00-20:00; We off', 0, 0],
    ] as const) {
      const openingHours = parseOpeningHours(hours, undefined);
      library.setDescription({ ...UNESTIMATED, openingHours });
      const { usual } = library.metricsAt(TODAY.startMs + 480 * MINUTE_MS);
      expect(usual?.people).toBeCloseTo(people, 9);
      expect(usual?.openSinceLastSeenMs).toBe(openHours * HOUR_MS);
    }
  });
});

describe('on a new day', () => {
  function polledToItsEnd(): Customer {
    const library = customer();
    library.pastRead('people', historyBefore(TODAY));
    poll(library, 24 * 60 - 2, { 600: [1, 0] });
    return library;
  }

  test('the values stay until its first poll, but not those of the day', () => {
    const library = polledToItsEnd();
    const { usual } = library.metricsAt(TOMORROW.startMs + MINUTE_MS);
    expect(usual?.people).toBeCloseTo(30 + 40, 9);
    expect(usual?.entriesToday).toBeUndefined();
  });

  test('the past has the day before as it was counted, until it is compared', () => {
    const library = polledToItsEnd();
    poll(library, 1, {}, { day: TOMORROW });
    expect(expected(library, 1, TOMORROW)).toBeCloseTo(70, 9);
    expect(library.metricsAt(TOMORROW.startMs + MINUTE_MS).streams.people?.lastSeenMs).toBe(
      TODAY.startMs + 600 * MINUTE_MS,
    );
    expect(library.streamOf('people').days.comparedPastOf(TOMORROW)).toBeUndefined();
    // Meanwhile the service has late records of the whole day.
    library.pastRead('people', historyBefore(TOMORROW));
    expect(expected(library, 1, TOMORROW)).toBe(0);
  });

  test.each(['people', 'logins'] as const)(
    'the past of %s of the day before, if read late, says nothing',
    (stream) => {
      const library = customer([stream]);
      poll(library, 1, {}, { day: TOMORROW, stream });
      library.pastRead(stream, historyBefore(TODAY));
      poll(library, 2, {}, { day: TOMORROW, stream });
      const { usual, streams } = library.metricsAt(TOMORROW.startMs + 2 * MINUTE_MS);
      expect(usual).toBeUndefined();
      expect(streams[stream]?.lastSeenMs).toBeUndefined();
    },
  );
});

test('the occupancy of today is known by quarter-hour up to the newest counts, however old they are', () => {
  const library = customer();
  expect(library.occupancySeriesAt(TODAY.startMs)).toBeUndefined();
  poll(library, 40, { 10: [3, 0], 20: [0, 1], 35: [2, 0] });
  expect(library.occupancySeriesAt(TODAY.endMs - 1)).toMatchObject({
    day: TODAY,
    inside: [3, 2, 4],
    atMs: TODAY.startMs + 40 * MINUTE_MS,
  });
  expect(library.occupancySeriesAt(TODAY.endMs)).toBeUndefined();
});

test('counts are late when a poll adds people of more than an hour ago, and those of today only', () => {
  const library = customer();
  const polls: [minute: number, minutes: Minutes, day?: Span][] = [
    [100, { 10: [1, 0] }],
    [110, { 10: [1, 0] }],
    [120, { 10: [1, 1] }],
    [130, { 10: [1, 1], 125: [1, 0] }],
    // Of the minutes before the day starts.
    [190, { 10: [1, 1], 125: [1, 0], '-5': [2, 0] }],
    [100, { 10: [9, 0] }, TOMORROW],
  ];
  const late = polls.map(([minute, minutes, day = TODAY]) => {
    poll(library, minute, minutes, { day });
    const { problems } = library.metricsAt(day.startMs + minute * MINUTE_MS);
    return problems.some(({ kind }) => kind === 'counts_delayed');
  });
  expect(late).toEqual([false, false, true, false, true, false]);
});

test('doors learn at the first poll of a day, and again once a day of the past has changed', () => {
  const library = customer(['people'], ESTIMATED);
  library.pastRead('people', historyBefore(TODAY));
  poll(library, 24 * 60 - 2, { 240: [1, 0] });
  poll(library, 1, {}, { day: TOMORROW });
  const nowMs = TOMORROW.startMs + MINUTE_MS;
  expect(library.metricsAt(nowMs).estimate.ratio).toBe(1);
  const lossy = Object.fromEntries(Object.keys(USUAL_DAY).map((minute) => [minute, [10, 9]]));
  library.pastRead('people', historyBefore(TOMORROW, lossy));
  expect(library.metricsAt(nowMs).estimate.ratio).toBeCloseTo(10 / 9, 2);
});

test('an estimate that a reload switches on is learned from the history that was read', () => {
  const library = customer();
  library.pastRead('people', historyBefore(TODAY));
  poll(library, 480, { 240: [1, 0] });
  expect(library.metricsAt(TODAY.startMs + 8 * HOUR_MS).estimate.ratio).toBeUndefined();
  library.setDescription(ESTIMATED);
  expect(library.metricsAt(TODAY.startMs + 8 * HOUR_MS).estimate.ratio).toBe(1);
  // All branches together have none, either.
  const branches = { configured: {}, others: ESTIMATED };
  for (const description of [UNESTIMATED, { ...ESTIMATED, branches }]) {
    library.setDescription(description);
    expect(library.metricsAt(TODAY.startMs + DAY_MS / 3).estimate.ratio).toBeUndefined();
  }
});

describe('an estimate', () => {
  function estimated(minute: number, minutes: Minutes, history = historyBefore(TODAY)) {
    const library = customer(['people'], ESTIMATED);
    library.pastRead('people', history);
    poll(library, minute, minutes);
    return library;
  }

  const NO_EXITS = { ...passes(240, 375, [5, 5]), ...passes(375, 720, [5, 0]) };

  /** Limits are in site-problems.test.ts. */
  test.each<[string, Minutes, number, boolean, readonly string[]]>([
    ['as usual', USUAL_DAY, 700, true, []],
    ['while exits are missed', NO_EXITS, 466, false, ['exits_missing']],
    ['after exits were missed', { ...NO_EXITS, ...passes(600, 720, [5, 5]) }, 700, false, []],
  ])('is there while counts are trusted: %s', (_, minutes, minute, isTrusted, kinds) => {
    const metrics = estimated(minute, minutes).metricsAt(TODAY.startMs + minute * MINUTE_MS);
    expect(metrics.problems.map(({ kind }) => kind)).toEqual(kinds);
    expect(metrics.isTrusted).toBe(isTrusted);
    expect(metrics.estimate.people !== undefined).toBe(isTrusted);
    expect(metrics.inside !== undefined).toBe(isTrusted);
  });

  test('trusts the day after cleaners who usually come before the first visitors', () => {
    const cleaners = passes(60, 120, [5, 5]);
    const history = historyBefore(TODAY, { ...USUAL_DAY, ...cleaners });
    const today = { ...passes(240, 300, [5, 0]), ...passes(300, 315, [5, 5]) };
    const trusted = [290, 310].map(
      (minute) =>
        estimated(minute, today, history).metricsAt(TODAY.startMs + minute * MINUTE_MS).isTrusted,
    );
    expect(trusted).toEqual([false, true]);
  });

  test('follows the age of the poll and the day, the ratio stays until the day after', () => {
    const library = estimated(480, USUAL_DAY);
    const [fresh, old, tomorrow, later] = [480, 496, 24 * 60 + 1, 48 * 60 + 1].map(
      (minute) => library.metricsAt(TODAY.startMs + minute * MINUTE_MS).estimate,
    );
    expect(fresh).toMatchObject({ people: { people: 0 }, ratio: 1 });
    expect(old).toMatchObject({ people: undefined, ratio: 1 });
    expect(tomorrow).toMatchObject({ people: undefined, ratio: 1 });
    expect(later?.ratio).toBeUndefined();
  });

  test('has no ratio where nobody was counted', () => {
    const library = estimated(480, {}, historyBefore(TODAY, {}));
    const { estimate } = library.metricsAt(TODAY.startMs + 480 * MINUTE_MS);
    expect(estimate).toMatchObject({ people: { people: 0 }, ratio: undefined });
  });

  test.each([
    ['in a building that does not empty at night', TODAY, { ...USUAL_DAY, 1430: [9, 9] }],
    ['after a day without a poll, until its past is read', TOMORROW, USUAL_DAY],
  ])('is absent %s', (_, day, minutes) => {
    const library = customer(['people'], ESTIMATED);
    library.pastRead('people', historyBefore(TODAY, minutes));
    poll(library, 480, USUAL_DAY, { day });
    const { estimate } = library.metricsAt(day.startMs + 480 * MINUTE_MS);
    expect(estimate).toEqual({ people: undefined, ratio: 1 });
  });
});

describe('what is inside now', () => {
  const MINUTES = { 250: [30, 0], 300: [0, 4] };

  function insideWith(hours?: string, capacity?: number, minutes: Minutes = MINUTES) {
    const openingHours = hours === undefined ? undefined : parseOpeningHours(hours, undefined);
    const library = customer(['people'], { ...UNESTIMATED, openingHours, capacity });
    poll(library, 480, minutes);
    return library.metricsAt(TODAY.startMs + 480 * MINUTE_MS);
  }

  test('is the estimate, or what was counted, and 0 while it is closed', () => {
    const library = customer(['people'], ESTIMATED);
    poll(library, 480, MINUTES);
    const nowMs = TODAY.startMs + 480 * MINUTE_MS;
    expect(library.metricsAt(nowMs).inside).toBe(26);
    library.pastRead('people', historyBefore(TODAY, passes(240, 720, [10, 9])));
    poll(library, 480, MINUTES);
    const { inside, estimate } = library.metricsAt(nowMs);
    expect(inside).toBe(Math.round(estimate.people?.people ?? NaN));
    expect(inside).not.toBe(26);
    expect(insideWith('Mo-Su 08:00-11:00').inside).toBe(0);
  });

  test.each([undefined, 'Mo-Su 08:00-11:00'])(
    'is unknown after 15 minutes, and while polls fail: %s',
    (hours) => {
      const openingHours = hours === undefined ? undefined : parseOpeningHours(hours, undefined);
      const library = customer(['people'], { ...UNESTIMATED, openingHours });
      poll(library, 480, MINUTES);
      const nowMs = TODAY.startMs + 480 * MINUTE_MS;
      // Also after our clock was set back.
      for (const minutes of [-16, 16]) {
        const { inside, occupancy } = library.metricsAt(nowMs + minutes * MINUTE_MS);
        expect([inside, occupancy]).toEqual([undefined, undefined]);
      }
      library.pollFailed('people', 'status 503', nowMs + 1);
      expect(library.metricsAt(nowMs + 5 * MINUTE_MS).inside).toBeUndefined();
    },
  );

  test('is above the capacity since the minute from which on it has been', () => {
    const above = [{ kind: 'over_capacity', sinceMs: TODAY.startMs + 250 * MINUTE_MS }];
    expect(insideWith(undefined, 25).problems).toEqual(above);
    expect(insideWith('Mo-Su 08:00-20:00', 25).problems).toEqual(above);
    expect(insideWith(undefined, 26).problems).toEqual([]);
    expect(insideWith('Mo-Su 08:00-11:00', 25).problems).toEqual([]);
    const again = { ...MINUTES, 310: [0, 9], 311: [9, 0] };
    expect(insideWith(undefined, 25, again).problems).toMatchObject([
      { sinceMs: TODAY.startMs + 311 * MINUTE_MS },
    ]);
  });

  test('is compared with another capacity as soon as that is configured', () => {
    const library = customer(['people'], { ...UNESTIMATED, capacity: 25 });
    poll(library, 480, MINUTES);
    const nowMs = TODAY.startMs + 480 * MINUTE_MS;
    expect(library.metricsAt(nowMs).problems).toHaveLength(1);
    library.setDescription({ ...UNESTIMATED, capacity: 26 });
    expect(library.metricsAt(nowMs).problems).toEqual([]);
    // Nor are all branches together.
    const branches = { configured: {}, others: UNESTIMATED };
    library.setDescription({ ...UNESTIMATED, capacity: 25, branches });
    expect(library.metricsAt(nowMs).problems).toEqual([]);
  });

  test('is compared with the capacity by the estimate, where there is one', () => {
    const library = customer(['people'], { ...ESTIMATED, capacity: 25 });
    poll(library, 480, MINUTES);
    function kinds() {
      const { problems } = library.metricsAt(TODAY.startMs + 480 * MINUTE_MS);
      return problems.map(({ kind }) => kind);
    }
    expect(kinds()).toEqual(['over_capacity']);
    library.pastRead('people', historyBefore(TODAY, passes(240, 720, [10, 9])));
    poll(library, 480, MINUTES);
    expect(kinds()).not.toContain('over_capacity');
  });
});

test('entries of the last hour are those of whole minutes, also of the day before', () => {
  const library = customer();
  const NIGHT = { 1425: [6, 0], 1439: [0, 3] };
  function enteredHour(minute: number, minutes: Minutes): number | undefined {
    poll(library, minute, minutes);
    return library.metricsAt(TODAY.startMs + minute * MINUTE_MS).enteredHour;
  }
  expect(enteredHour(30, { 5: [2, 0] })).toBeUndefined();
  expect(enteredHour(65, { 4: [1, 0], 5: [2, 0], 60: [0, 9], 65: [4, 0] })).toBe(2);
  library.pastRead('people', historyBefore(TODAY, NIGHT));
  expect(enteredHour(30, { 5: [2, 0] })).toBe(8);
  // 8 of the 15 minutes that have 6: 3.2.
  expect(enteredHour(52, {})).toBe(3);
});
