/** What a building says about its day and its past, over new days and reloads. */
import { describe, expect, test } from 'vitest';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { CustomerDescription } from '../../src/counting/customer-metrics.ts';
import { ESTIMATED } from '../support/polled.ts';
import { HOUR_MS, MINUTE_MS } from './fixture.ts';
import {
  customer,
  historyBefore,
  metricsAt,
  passes,
  poll,
  TODAY,
  TOMORROW,
  UNESTIMATED,
  USUAL_DAY,
} from './site-fixture.ts';
import type { Minutes } from './site-fixture.ts';

/** A library whose history is read, and that counted once, at 08:00. */
function known(): Customer {
  const library = customer();
  library.pastRead('people', historyBefore(TODAY));
  poll(library, 480, { 240: [1, 0] });
  return library;
}

function expected(of: Customer, minute: number, day = TODAY): number | undefined {
  return metricsAt(of, minute, day).usual?.people;
}

function openFrom(hours: string) {
  return { ...UNESTIMATED, openingHours: parseOpeningHours(hours, undefined) };
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
    const { validUntilMs } = metricsAt(library, 480);
    expect(validUntilMs).toBe(TODAY.startMs + 495 * MINUTE_MS + 1);
    expect(expected(library, 495.001)).toBeUndefined();
  });

  test('is not known while keys cannot be parsed, nor who was last seen', () => {
    const library = known();
    poll(library, 481, undefined);
    const { usual, streams } = metricsAt(library, 481);
    expect([usual, streams.people?.lastSeenMs]).toEqual([undefined, undefined]);
  });

  test('follows new opening hours at once', () => {
    const library = known();
    expect(metricsAt(library, 480).usual).toMatchObject({ openSinceLastSeenMs: undefined });
    for (const [hours, people, openHours] of [
      ['Mo-Su 10:00-20:00', 40, 2],
      ['Mo-Su 09:00-20:00', 80, 3],
      ['Mo-Su 09:00-20:00; We off', 0, 0],
    ] as const) {
      library.setDescription(openFrom(hours));
      const { usual } = metricsAt(library, 480);
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
    const { usual } = metricsAt(polledToItsEnd(), 1, TOMORROW);
    expect(usual?.people).toBeCloseTo(30 + 40, 9);
    expect(usual?.entriesToday).toBeUndefined();
  });

  test('the past has the day before as it was counted, until it is compared', () => {
    const library = polledToItsEnd();
    poll(library, 1, {}, { day: TOMORROW });
    expect(expected(library, 1, TOMORROW)).toBeCloseTo(70, 9);
    const { streams } = metricsAt(library, 1, TOMORROW);
    expect(streams.people?.lastSeenMs).toBe(TODAY.startMs + 600 * MINUTE_MS);
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
      const { usual, streams } = metricsAt(library, 2, TOMORROW);
      expect([usual, streams[stream]?.lastSeenMs]).toEqual([undefined, undefined]);
    },
  );
});

test('the occupancy of today is known by quarter-hour up to the newest counts, however old they are', () => {
  const library = customer();
  expect(library.occupancySeriesAt(TODAY.startMs)).toBeUndefined();
  poll(library, 40, { 10: [3, 0], 20: [0, 1], 35: [2, 0] });
  const atMs = TODAY.startMs + 40 * MINUTE_MS;
  const series = { day: TODAY, inside: [3, 2, 4], atMs };
  expect(library.occupancySeriesAt(TODAY.endMs - 1)).toMatchObject(series);
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
  const late = polls.map(([minute, minutes, day]) => {
    poll(library, minute, minutes, { day });
    const { problems } = metricsAt(library, minute, day);
    return problems.some(({ kind }) => kind === 'counts_delayed');
  });
  expect(late).toEqual([false, false, true, false, true, false]);
});

describe('an estimate', () => {
  function estimated(minute: number, minutes: Minutes, history = historyBefore(TODAY)) {
    const library = customer(['people'], ESTIMATED);
    library.pastRead('people', history);
    poll(library, minute, minutes);
    return library;
  }

  test('is learned at the first poll of a day, and again once a day of the past has changed', () => {
    const library = estimated(24 * 60 - 2, { 240: [1, 0] });
    poll(library, 1, {}, { day: TOMORROW });
    expect(metricsAt(library, 1, TOMORROW).estimate.ratio).toBe(1);
    library.pastRead('people', historyBefore(TOMORROW, passes(240, 720, [10, 9])));
    expect(metricsAt(library, 1, TOMORROW).estimate.ratio).toBeCloseTo(10 / 9, 2);
  });

  test('that a reload switches on is learned from the history that was read', () => {
    const library = known();
    // All branches together have none, either.
    const branches = { configured: {}, others: ESTIMATED };
    const ratios = [UNESTIMATED, ESTIMATED, UNESTIMATED, { ...ESTIMATED, branches }].map((one) => {
      library.setDescription(one);
      return metricsAt(library, 480).estimate.ratio;
    });
    expect(ratios).toEqual([undefined, 1, undefined, undefined]);
  });

  /** Limits are in site-problems.test.ts. */
  test('is there while counts are trusted, not while exits are missed', () => {
    const noExits = { ...passes(240, 375, [5, 5]), ...passes(375, 720, [5, 0]) };
    for (const [minutes, kinds] of [
      [USUAL_DAY, []],
      [noExits, ['exits_missing']],
    ] as const) {
      const { problems, isTrusted, estimate, inside } = metricsAt(estimated(466, minutes), 466);
      expect(problems.map(({ kind }) => kind)).toEqual(kinds);
      expect(isTrusted).toBe(kinds.length === 0);
      expect([estimate.people !== undefined, inside !== undefined]).toEqual([isTrusted, isTrusted]);
    }
  });

  test('has a ratio until the day after, whatever the age of the poll', () => {
    const library = estimated(480, USUAL_DAY);
    const minutes = [496, 24 * 60 + 1, 48 * 60 + 1];
    const ratios = minutes.map((minute) => metricsAt(library, minute).estimate.ratio);
    expect(ratios).toEqual([1, 1, undefined]);
  });

  test.each([
    ['in a building that does not empty at night', TODAY, { ...USUAL_DAY, 1430: [9, 9] }, 1],
    ['after a day without a poll, until its past is read', TOMORROW, USUAL_DAY, 1],
    ['after four weeks of nights with people, without a ratio', TODAY, { 1430: [9, 9] }, undefined],
  ])('is absent %s', (_, day, minutes, ratio) => {
    const library = customer(['people'], ESTIMATED);
    library.pastRead('people', historyBefore(TODAY, minutes));
    poll(library, 480, USUAL_DAY, { day });
    expect(metricsAt(library, 480, day).estimate).toEqual({ people: undefined, ratio });
  });
});

describe('what is inside now', () => {
  /** 26 people are inside, since 08:10 more than 25. */
  const MINUTES = { 250: [30, 0], 300: [0, 4] };
  const LOSSY = historyBefore(TODAY, passes(240, 720, [10, 9]));

  function polled(description = UNESTIMATED, minutes: Minutes = MINUTES): Customer {
    const library = customer(['people'], description);
    poll(library, 480, minutes);
    return library;
  }

  test('is the estimate, or what was counted, and 0 while it is closed', () => {
    const library = polled(ESTIMATED);
    expect(metricsAt(library, 480).inside).toBe(26);
    library.pastRead('people', LOSSY);
    poll(library, 480, MINUTES);
    const { inside, estimate } = metricsAt(library, 480);
    expect(inside).toBe(Math.round(estimate.people?.people ?? NaN));
    expect(inside).not.toBe(26);
    expect(metricsAt(polled(openFrom('Mo-Su 08:00-11:00')), 480).inside).toBe(0);
  });

  test.each([
    ['', UNESTIMATED],
    [' also while it is closed', openFrom('Mo-Su 08:00-11:00')],
  ])('is unknown after 15 minutes, and while polls fail%s', (_, description) => {
    const library = polled(description);
    // Also after our clock was set back.
    for (const minutes of [-16, 16]) {
      const { inside, occupancy } = metricsAt(library, 480 + minutes);
      expect([inside, occupancy]).toEqual([undefined, undefined]);
    }
    library.pollFailed('people', 'status 503', TODAY.startMs + 480 * MINUTE_MS + 1);
    expect(metricsAt(library, 485).inside).toBeUndefined();
  });

  test('is above the capacity since the minute from which on it has been', () => {
    function above(description: CustomerDescription, minutes?: Minutes) {
      const { problems } = metricsAt(polled(description, minutes), 480);
      return problems.map(({ kind, sinceMs }) => [kind, (sinceMs - TODAY.startMs) / MINUTE_MS]);
    }
    const full = { ...UNESTIMATED, capacity: 25 };
    expect(above(full)).toEqual([['over_capacity', 250]]);
    const again = { ...MINUTES, 310: [0, 9], 311: [9, 0] };
    expect(above(full, again)).toEqual([['over_capacity', 311]]);
    expect(above({ ...openFrom('Mo-Su 08:00-11:00'), capacity: 25 })).toEqual([]);
    expect(above({ ...UNESTIMATED, capacity: 26 })).toEqual([]);
  });

  test('is compared with the capacity by the estimate, where there is one', () => {
    const library = polled({ ...ESTIMATED, capacity: 25 });
    library.pastRead('people', LOSSY);
    poll(library, 480, MINUTES);
    const kinds = metricsAt(library, 480).problems.map(({ kind }) => kind);
    expect(kinds).not.toContain('over_capacity');
  });
});
