/** What a building says about its day and its past, over new days, reloads and polls that fail. */
import { describe, expect, test } from 'vitest';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import { createPast } from '../../src/counting/past/past.ts';
import type { Past } from '../../src/counting/past/past.ts';
import { DayCounter, lastSeenIn } from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { INITIAL_BREAKDOWN } from '../../src/counting/breakdowns/poll-breakdown.ts';
import { INITIAL_STATE } from '../../src/counting/totals/state.ts';
import type { Snapshot } from '../../src/counting/totals/state.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { CustomerDescription } from '../../src/counting/customer-metrics.ts';
import { CALENDAR, NOVEMBER } from '../support/owner.ts';
import { customerNamed, ESTIMATED } from '../support/polled.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './fixture.ts';

const TODAY = CALENDAR.dayAt(Date.UTC(2026, 10, 25, 12));
const TOMORROW = CALENDAR.dayAt(TODAY.endMs);
const UNESTIMATED = { ...ESTIMATED, estimate: false };

/** The clocks change in the nights after the second and the third day. */
const NIGHTS = [
  TODAY,
  ...[Date.UTC(2026, 9, 24, 12), Date.UTC(2026, 2, 28, 12)].map((atMs) => CALENDAR.dayAt(atMs)),
];

/** Counts of one day, by minutes since its start. */
type Minutes = Readonly<Record<number, readonly number[]>>;

function dayOf(day: Span, minutes: Minutes): DayCounts {
  const counter = new DayCounter(CALENDAR, [day], 'people');
  Object.entries(minutes).forEach(([minute, counts]) => {
    counter.add(day.startMs + Number(minute) * MINUTE_MS, counts);
  });
  const [counted] = counter.days() as [DayCounts];
  return counted;
}

/** 20 people enter and leave each hour from 08:00 to 16:00, 4 of them log in. */
const USUAL_DAY: Minutes = Object.fromEntries(
  Array.from({ length: 32 }, (_, quarter) => [240 + quarter * 15, [5, 5]]),
);

function historyBefore(day: Span, minutes: Minutes = USUAL_DAY, yesterday = minutes): Past {
  return historyOf(day, ({ endMs }) => (endMs === day.startMs ? yesterday : minutes));
}

/** Four weeks before a day, each day with its own counts. */
function historyOf(day: Span, minutesOf: (past: Span) => Minutes): Past {
  const days: Span[] = [];
  for (let before = day; days.length < 28;) {
    before = CALENDAR.dayBefore(before);
    days.unshift(before);
  }
  return createPast(
    CALENDAR,
    day,
    days.map((past) => dayOf(past, minutesOf(past))),
  );
}

function customer(
  streams: Customer['streams'] = ['people'],
  description: CustomerDescription = UNESTIMATED,
): Customer {
  const created = customerNamed('riverside', undefined, { streams });
  created.setDescription(description);
  return created;
}

/** A poll that is accepted at a minute of the day, after these counts. */
function poll(
  of: Customer,
  minute: number,
  minutes: Minutes | undefined,
  { day = TODAY, stream = 'people' }: { day?: Span; stream?: 'people' | 'logins' } = {},
): void {
  const atMs = day.startMs + minute * MINUTE_MS;
  const counts = minutes && dayOf(day, minutes);
  const endMs = atMs + 1;
  const snapshot: Snapshot = {
    period: NOVEMBER,
    day,
    atMs,
    totals: [0, 0],
    today: [0, 0],
    minutes: counts && { counts, atMs, endMs, lastSeenMs: lastSeenIn(counts, endMs) },
  };
  of.pollSucceeded(stream, { state: { ...INITIAL_STATE, snapshot }, result: 'accepted' }, atMs);
}

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

/** Eight or more are a problem. */
describe('missed logins', () => {
  const LOGINS: Minutes = Object.fromEntries(
    Array.from({ length: 32 }, (_, quarter) => [240 + quarter * 15, [1]]),
  );

  const COUNTED = { people: { 300: [90, 0], 479: [1, 0] }, logins: { 240: [1] } };

  function polled(): Customer {
    const library = customer(['people', 'logins']);
    library.pastRead('people', historyBefore(TODAY));
    library.pastRead('logins', historyBefore(TODAY, LOGINS));
    poll(library, 480, COUNTED.people);
    poll(library, 480, COUNTED.logins, { stream: 'logins' });
    return library;
  }
  function loginsAt(of: Customer, minute: number): number | undefined {
    const { problems } = of.metricsAt(TODAY.startMs + minute * MINUTE_MS);
    return problems.find(({ kind }) => kind === 'no_logins')?.missed;
  }

  test.each([
    ['people', 'logins'],
    ['logins', 'people'],
  ] as const)('are known once the history of %s and then that of %s is read', (first, second) => {
    const histories = { people: historyBefore(TODAY), logins: historyBefore(TODAY, LOGINS) };
    const library = customer(['people', 'logins']);
    poll(library, 480, { 300: [90, 0], 479: [1, 0] });
    poll(library, 480, { 240: [1] }, { stream: 'logins' });
    library.pastRead(first, histories[first]);
    expect(loginsAt(library, 480)).toBeUndefined();
    library.pastRead(second, histories[second]);
    expect(loginsAt(library, 480)).toBeCloseTo((479 - 60 - 255) / 15, 9);
  });

  test('are known for 15 minutes after the older poll', () => {
    expect(loginsAt(polled(), 495)).toBeDefined();
    for (const stream of ['people', 'logins'] as const) {
      const library = polled();
      poll(library, 490, COUNTED[stream], { stream });
      expect(loginsAt(library, 495.001)).toBeUndefined();
    }
  });

  test('follow new opening hours at once', () => {
    const library = polled();
    const openingHours = parseOpeningHours('Mo-Su 10:00-20:00', undefined);
    library.setDescription({ ...UNESTIMATED, openingHours });
    expect(loginsAt(library, 480)).toBeUndefined();
    library.setDescription(UNESTIMATED);
    expect(loginsAt(library, 480)).toBeDefined();
  });

  test('are unknown while the keys of a stream cannot be parsed', () => {
    for (const stream of ['people', 'logins'] as const) {
      const library = polled();
      poll(library, 481, undefined, { stream });
      expect(loginsAt(library, 481)).toBeUndefined();
    }
  });

  test('stay when a new day was polled by one stream only', () => {
    const library = polled();
    poll(library, 24 * 60 - 1, { 300: [90, 0], 479: [1, 0] });
    poll(library, 24 * 60 - 1, { 240: [1] }, { stream: 'logins' });
    const before = loginsAt(library, 24 * 60);
    expect(before).toBeCloseTo((479 - 60 - 255) / 15, 9);
    poll(library, 0, { 0: [1, 0] }, { day: TOMORROW });
    expect(loginsAt(library, 24 * 60)).toBe(before);
    poll(library, 0, {}, { day: TOMORROW, stream: 'logins' });
    // The usual share of the 92 who came in since.
    const share = (27 * 32 + 1) / (27 * 160 + 91);
    expect(loginsAt(library, 24 * 60)).toBeCloseTo(share * 92, 9);
  });
});

test('minutes that cannot be read are a problem since the first poll in a row without them', () => {
  const library = customer(['people', 'logins']);
  const polls = [
    ['people', undefined, 0],
    ['people', undefined, 0],
    ['people', {}, undefined],
    ['logins', undefined, 3],
  ] as const;
  const since = polls.map(([stream, minutes], minute) => {
    poll(library, minute, minutes, { stream });
    const { problems } = library.metricsAt(TODAY.startMs + minute * MINUTE_MS);
    return problems.map(({ kind, sinceMs }) => [kind, (sinceMs - TODAY.startMs) / MINUTE_MS]);
  });
  expect(since).toEqual(
    polls.map(([, , minute]) => (minute === undefined ? [] : [['minutes_unreadable', minute]])),
  );
});

describe('the occupancy of today', () => {
  const MINUTES = { 10: [3, 0], 20: [0, 1], 35: [2, 0] };

  test('is known by quarter-hour up to the newest counts, however old they are', () => {
    const library = customer();
    expect(library.occupancySeriesAt(TODAY.startMs)).toBeUndefined();
    poll(library, 40, MINUTES);
    expect(library.occupancySeriesAt(TODAY.endMs - 1)).toEqual({
      day: TODAY,
      stepMs: 15 * MINUTE_MS,
      inside: [3, 2, 4],
      atMs: TODAY.startMs + 40 * MINUTE_MS,
    });
    expect(library.occupancySeriesAt(TODAY.endMs)).toBeUndefined();
  });
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

/** So many people in each quarter-hour between two minutes of the day. */
function passes(from: number, until: number, counts: readonly number[]): Minutes {
  const quarters = Array.from({ length: (until - from) / 15 }, (_, i) => from + 15 * i);
  return Object.fromEntries(quarters.map((minute) => [minute, counts]));
}

const NOBODY = passes(240, 600, [5, 5]);

describe('an estimate', () => {
  function estimated(minute: number, minutes: Minutes, history = historyBefore(TODAY)) {
    const library = customer(['people'], ESTIMATED);
    library.pastRead('people', history);
    poll(library, minute, minutes);
    return library;
  }

  const NO_EXITS = { ...passes(240, 375, [5, 5]), ...passes(375, 720, [5, 0]) };
  const NO_ENTRIES = { ...passes(240, 375, [5, 5]), ...passes(375, 720, [0, 5]) };
  const AGAIN = passes(600, 720, [5, 5]);

  /** Limits are in problems.test.ts. */
  test.each<[string, Minutes, number, boolean, readonly string[]]>([
    ['as usual', USUAL_DAY, 700, true, []],
    ['after 10 missed people, whom no login shows', NOBODY, 675, true, []],
    ['while exits are missed', NO_EXITS, 466, false, ['exits_missing']],
    ['while entries are missed', NO_ENTRIES, 466, false, ['entries_missing']],
    ['after exits were missed', { ...NO_EXITS, ...AGAIN }, 700, false, []],
    ['after entries were missed', { ...NO_ENTRIES, ...AGAIN }, 700, false, []],
  ])('is there while counts are trusted: %s', (_, minutes, minute, isTrusted, kinds) => {
    const metrics = estimated(minute, minutes).metricsAt(TODAY.startMs + minute * MINUTE_MS);
    expect(metrics.problems.map(({ kind }) => kind)).toEqual(kinds);
    expect(metrics.isTrusted).toBe(isTrusted);
    expect(metrics.estimate.people !== undefined).toBe(isTrusted);
    expect(metrics.inside !== undefined).toBe(isTrusted);
  });

  test.each([
    [1, false],
    [300, true],
  ])('after a day without exits has at minute %i trusted counts: %s', (minute, isTrusted) => {
    const history = historyBefore(TODAY, USUAL_DAY, NO_EXITS);
    const library = estimated(minute, minute === 1 ? {} : USUAL_DAY, history);
    expect(library.metricsAt(TODAY.startMs + minute * MINUTE_MS).isTrusted).toBe(isTrusted);
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

describe('a building that counts nobody', () => {
  const LOGINS: Minutes = { 590: [1], 610: [1] };
  function problemsOf(library: Customer, minute: number, day: Span) {
    return library.metricsAt(day.startMs + minute * MINUTE_MS);
  }
  function started(day: Span): Customer {
    const library = customer(['people', 'logins'], ESTIMATED);
    library.pastRead('people', historyBefore(day));
    return library;
  }
  function pollBoth(
    library: Customer,
    minute: number,
    day: Span,
    people = NOBODY,
    logins = LOGINS,
  ): void {
    poll(library, minute, people, { day });
    poll(library, minute, logins, { day, stream: 'logins' });
  }

  test('has a problem from the tenth missed person on, until somebody is counted', () => {
    const library = started(TODAY);
    pollBoth(library, 674, TODAY);
    expect(problemsOf(library, 674, TODAY).problems).toEqual([]);
    pollBoth(library, 675, TODAY);
    // From 10:00 to 10:15, 5 enter and 5 leave in a quarter-hour.
    const missed = expect.closeTo(5, 9) as number;
    const sinceMs = TODAY.startMs + 585 * MINUTE_MS;
    const metrics = problemsOf(library, 675, TODAY);
    expect(metrics.problems).toEqual([{ kind: 'nobody_counted', sinceMs, missed }]);
    expect(metrics).toMatchObject({ isTrusted: false, missed, inside: undefined });
    expect(metrics.estimate.people).toBeUndefined();
    pollBoth(library, 300, TOMORROW, { 299: [1, 0] }, {});
    expect(problemsOf(library, 300, TOMORROW)).toMatchObject({ problems: [], isTrusted: true });
  });

  /** Entries of doors in the month, and today; as many leave. */
  type Doors = Readonly<Record<string, number>>;
  function pollDevices(library: Customer, minute: number, month: Doors, today = month): void {
    const [totals, ofToday] = [month, today].map(
      (doors) => new Map(Object.entries(doors).map(([door, count]) => [door, [count, count]])),
    ) as [Map<string, number[]>, Map<string, number[]>];
    const atMs = TODAY.startMs + minute * MINUTE_MS;
    const counts = { totals, today: ofToday, droppedKeys: 0 };
    const snapshot = { period: NOVEMBER, day: TODAY, atMs, ...counts };
    const state = { ...INITIAL_BREAKDOWN, snapshot };
    library.breakdownSucceeded('device', { state, result: 'accepted' }, atMs);
  }

  test('has a silent device by its share of the month, since the start of a day without counts', () => {
    const library = started(TODAY);
    library.breakdowns.configure(['device']);
    poll(library, 600, passes(240, 600, [5, 4]));
    expect(problemsOf(library, 600, TODAY).problems).toEqual([]);
    pollDevices(library, 600, { front: 80, side: 20 }, { front: 120 });
    const { problems, missed, isTrusted, breakdowns } = problemsOf(library, 600, TODAY);
    // A fifth of the 120 who came in.
    expect(problems).toEqual([{ kind: 'door_silent', sinceMs: TODAY.startMs, missed: 24 }]);
    expect({ missed, isTrusted }).toEqual({ missed: 24, isTrusted: false });
    expect(breakdowns.device?.keys.map(({ device }) => device)).toEqual([
      { lastSeenMs: TODAY.startMs + 600 * MINUTE_MS, missed: 0 },
      { lastSeenMs: TODAY.startMs, missed: 24 },
    ]);
  });

  test('does not know what its devices missed before its past is read, or while keys cannot be parsed', () => {
    const library = customer();
    library.breakdowns.configure(['device']);
    pollDevices(library, 600, { front: 80 });
    for (const minutes of [{}, undefined]) {
      poll(library, 600, minutes);
      const { breakdowns } = problemsOf(library, 600, TODAY);
      expect(breakdowns.device?.keys[0]?.device?.missed).toBeUndefined();
      library.pastRead('people', historyBefore(TODAY));
    }
  });

  test('has no silent device after a day that ended soon after its last count', () => {
    const library = started(TODAY);
    library.breakdowns.configure(['device']);
    for (const [minute, front] of [
      [300, 80],
      [720, 200],
    ] as const) {
      poll(library, minute, passes(240, 330, [150, 150]));
      pollDevices(library, minute, { front, side: 30 });
    }
    expect(problemsOf(library, 720, TODAY).problems).toEqual([]);
  });

  test('has no problems of counts while polls fail, nor before the first poll', () => {
    const library = started(TODAY);
    expect(problemsOf(library, 0, TODAY)).toMatchObject({ problems: [], isTrusted: undefined });
    pollBoth(library, 675, TODAY);
    const failedMs = TODAY.startMs + 676 * MINUTE_MS;
    library.pollFailed('people', 'HTTP 503', failedMs);
    expect(library.metricsAt(failedMs).validUntilMs).toBe(TODAY.startMs + 680 * MINUTE_MS);
    const { problems, isTrusted, missed } = problemsOf(library, 680, TODAY);
    expect(problems).toEqual([{ kind: 'polls_failing', sinceMs: TODAY.startMs + 675 * MINUTE_MS }]);
    expect({ isTrusted, missed }).toEqual({ isTrusted: false, missed: undefined });
    pollBoth(library, 681, TODAY);
    expect(problemsOf(library, 681, TODAY).problems).toMatchObject([{ kind: 'nobody_counted' }]);
  });
});

describe.each(NIGHTS)('over the night after %o', (day) => {
  const next = CALENDAR.dayAt(day.endMs);
  const MORNING = passes(240, 480, [5, 5]);
  const BUSY = passes(240, 720, [5, 5]);
  const LOGINS = passes(240, 720, [2]);
  const LAST_MINUTE = 345;
  const sinceMs = day.startMs + LAST_MINUTE * MINUTE_MS;

  /** Counts of the day, and of the next one until it is polled; of days before, by how many days before. */
  interface Scenario {
    readonly people?: readonly [Minutes, Minutes];
    readonly logins?: readonly [Minutes, Minutes];
    readonly past?: (daysBefore: number) => Minutes;
    /** When the problem began, if that is not the last count in the day. */
    readonly sinceMs?: number;
  }
  /** One direction counts nobody from 09:45 on. */
  function oneWay(counts: readonly number[]): Pick<Scenario, 'people'> {
    const both = passes(240, LAST_MINUTE + 15, [5, 5]);
    return { people: [{ ...both, ...passes(360, 720, counts) }, passes(240, 480, counts)] };
  }
  const SCENARIOS: Readonly<Record<string, Scenario>> = {
    nobody_counted: {
      people: [NOBODY, {}],
      logins: [{ 590: [1], 610: [1] }, {}],
      sinceMs: day.startMs + 585 * MINUTE_MS,
    },
    entries_missing: oneWay([0, 5]),
    exits_missing: oneWay([5, 0]),
    no_logins: { logins: [passes(240, 360, [2]), {}] },
    directions_unbalanced: {
      past: (ago) =>
        passes(
          240,
          720,
          [
            [5, 5],
            [30, 1],
            [2, 20],
            [20, 2],
          ][ago] ?? [5, 5],
        ),
      sinceMs: dayBefore(3).startMs,
    },
    door_ratio_off: {
      past: (ago) => passes(240, 720, ago < 15 ? [15, 12] : [20, 19]),
      people: [passes(240, 720, [15, 12]), passes(240, 480, [15, 12])],
      // Two days later, the learned ratio is above 1.1.
      sinceMs: dayBefore(12).startMs,
    },
  };

  function dayBefore(count: number): Span {
    return count === 0 ? day : CALENDAR.dayBefore(dayBefore(count - 1));
  }
  /** A process that knows what was counted before today. */
  function started(today: Span, { past = () => BUSY, people, logins }: Scenario): Customer {
    const library = customer(['people', 'logins'], ESTIMATED);
    const [ofDay, loginsOfDay] = [people?.[0] ?? BUSY, logins?.[0] ?? LOGINS];
    const history = historyOf(today, ({ startMs }) =>
      startMs === day.startMs ? ofDay : past(Math.round((day.startMs - startMs) / DAY_MS)),
    );
    library.pastRead('people', history);
    library.pastRead('logins', historyBefore(today, LOGINS, today === day ? LOGINS : loginsOfDay));
    return library;
  }
  function problemsAt(library: Customer, today: Span, minute: number, scenario: Scenario) {
    const index = today === day ? 0 : 1;
    const { people = [BUSY, MORNING], logins = [LOGINS, passes(240, 480, [2])] } = scenario;
    poll(library, minute, people[index], { day: today });
    poll(library, minute, logins[index], { day: today, stream: 'logins' });
    const { problems } = library.metricsAt(today.startMs + minute * MINUTE_MS);
    return problems.map(({ kind, sinceMs: fromMs }) => ({ kind, sinceMs: fromMs }));
  }

  test.each(Object.entries(SCENARIOS))('%s has one start, also in a replica', (kind, scenario) => {
    const problem = [{ kind, sinceMs: scenario.sinceMs ?? sinceMs }];
    const library = started(day, scenario);
    expect(problemsAt(library, day, 719, scenario)).toEqual(problem);
    problemsAt(library, day, (day.endMs - day.startMs) / MINUTE_MS - 1, scenario);
    expect(problemsAt(library, next, 0, scenario)).toEqual(problem);
    expect(problemsAt(library, next, 480, scenario)).toEqual(problem);
    expect(problemsAt(started(next, scenario), next, 480, scenario)).toEqual(problem);
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
      expect(library.metricsAt(nowMs + 16 * MINUTE_MS).inside).toBeUndefined();
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
