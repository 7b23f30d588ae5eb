/** What a building says about a silence: of its doors, of those who log in, and while polls fail. */
import { describe, expect, test } from 'vitest';
import { INITIAL_BREAKDOWN } from '../../src/counting/breakdowns/poll-breakdown.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import type { Customer } from '../../src/counting/customer.ts';
import { daysBefore } from '../../src/counting/past/past.ts';
import { CALENDAR, NOVEMBER } from '../support/owner.ts';
import { ESTIMATED } from '../support/polled.ts';
import { DAY_MS, MINUTE_MS } from './fixture.ts';
import {
  customer,
  historyBefore,
  historyOf,
  NOBODY,
  passes,
  poll,
  TODAY,
  TOMORROW,
} from './site-fixture.ts';
import type { Minutes } from './site-fixture.ts';

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

/** What was counted on a day, and on the next one until it is polled. */
interface Scenario {
  readonly people?: readonly [Minutes, Minutes];
  readonly logins?: readonly [Minutes, Minutes];
  /** People of the days before, by how many days ago. */
  readonly past?: readonly (Minutes | undefined)[];
  readonly sinceMs: number;
}

describe.each([
  ['back', CALENDAR.dayAt(Date.UTC(2026, 9, 24, 12))],
  ['forward', CALENDAR.dayAt(Date.UTC(2026, 2, 28, 12))],
])('over the night in which clocks go %s', (_night, day) => {
  const next = CALENDAR.dayAt(day.endMs);
  const BUSY = passes(240, 720, [5, 5]);
  const LOGINS = passes(240, 720, [2]);
  const SCENARIOS: Readonly<Record<string, Scenario>> = {
    nobody_counted: {
      people: [NOBODY, {}],
      logins: [{ 590: [1], 610: [1] }, {}],
      sinceMs: day.startMs + 585 * MINUTE_MS,
    },
    exits_missing: {
      people: [{ ...BUSY, ...passes(360, 720, [5, 0]) }, passes(240, 480, [5, 0])],
      sinceMs: day.startMs + 345 * MINUTE_MS,
    },
    no_logins: {
      logins: [passes(240, 360, [2]), {}],
      sinceMs: day.startMs + 345 * MINUTE_MS,
    },
    directions_unbalanced: {
      past: [
        undefined,
        passes(240, 720, [30, 1]),
        passes(240, 720, [2, 20]),
        passes(240, 720, [20, 2]),
      ],
      sinceMs: daysBefore(CALENDAR, day).at(-3)?.startMs ?? NaN,
    },
  };

  /** A process that knows what was counted before today. */
  function started(today: Span, { past = [], people, logins }: Scenario): Customer {
    const library = customer(['people', 'logins'], ESTIMATED);
    const history = historyOf(today, ({ startMs }) => {
      const daysAgo = Math.round((day.startMs - startMs) / DAY_MS);
      return (daysAgo === 0 ? people?.[0] : past[daysAgo]) ?? BUSY;
    });
    library.pastRead('people', history);
    const yesterday = today === day ? LOGINS : (logins?.[0] ?? LOGINS);
    library.pastRead('logins', historyBefore(today, LOGINS, yesterday));
    return library;
  }
  function problemsAt(library: Customer, today: Span, minute: number, scenario: Scenario) {
    const index = today === day ? 0 : 1;
    const { people = [BUSY, passes(240, 480, [5, 5])] } = scenario;
    const { logins = [LOGINS, passes(240, 480, [2])] } = scenario;
    poll(library, minute, people[index], { day: today });
    poll(library, minute, logins[index], { day: today, stream: 'logins' });
    const { problems } = library.metricsAt(today.startMs + minute * MINUTE_MS);
    return problems.map(({ kind, sinceMs }) => ({ kind, sinceMs }));
  }

  test.each(Object.entries(SCENARIOS))('%s has one start, also in a replica', (kind, scenario) => {
    const problem = [{ kind, sinceMs: scenario.sinceMs }];
    const library = started(day, scenario);
    expect(problemsAt(library, day, 719, scenario)).toEqual(problem);
    problemsAt(library, day, (day.endMs - day.startMs) / MINUTE_MS - 1, scenario);
    expect(problemsAt(library, next, 0, scenario)).toEqual(problem);
    expect(problemsAt(library, next, 480, scenario)).toEqual(problem);
    expect(problemsAt(started(next, scenario), next, 480, scenario)).toEqual(problem);
  });
});
