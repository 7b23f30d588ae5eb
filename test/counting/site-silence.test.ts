/** What a building says about a silence: of its people, of those who log in, and while polls fail. */
import { describe, expect, test } from 'vitest';
import { MINUTE_STREAMS } from '../../src/base/model.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import type { Customer } from '../../src/counting/customer.ts';
import { daysBefore } from '../../src/counting/past/past.ts';
import { CALENDAR } from '../support/owner.ts';
import { ESTIMATED } from '../support/polled.ts';
import { MINUTE_MS } from './fixture.ts';
import {
  customer,
  historyBefore,
  historyOf,
  metricsAt,
  NOBODY,
  passes,
  poll,
  TODAY,
  TOMORROW,
  USUAL_DAY,
} from './site-fixture.ts';
import type { Minutes } from './site-fixture.ts';

function pollBoth(
  library: Customer,
  minute: number,
  people: Minutes,
  logins: Minutes,
  day = TODAY,
): void {
  poll(library, minute, people, { day });
  poll(library, minute, logins, { day, stream: 'logins' });
}

/** Eight or more are a problem. */
describe('missed logins', () => {
  const HISTORIES = {
    people: historyBefore(TODAY),
    logins: historyBefore(TODAY, passes(240, 720, [1])),
  };
  const COUNTED = { people: { 300: [90, 0], 479: [1, 0] }, logins: { 240: [1] } };

  function polled(): Customer {
    const library = customer(['people', 'logins']);
    pollBoth(library, 480, COUNTED.people, COUNTED.logins);
    return library;
  }
  function known(): Customer {
    const library = polled();
    MINUTE_STREAMS.forEach((stream) => library.pastRead(stream, HISTORIES[stream]));
    return library;
  }
  function loginsAt(of: Customer, minute: number): number | undefined {
    return metricsAt(of, minute).problems.find(({ kind }) => kind === 'no_logins')?.missed;
  }

  test.each([
    ['people', 'logins'],
    ['logins', 'people'],
  ] as const)('are known once the history of %s and then that of %s is read', (first, second) => {
    const library = polled();
    library.pastRead(first, HISTORIES[first]);
    expect(loginsAt(library, 480)).toBeUndefined();
    library.pastRead(second, HISTORIES[second]);
    expect(loginsAt(library, 480)).toBeCloseTo((479 - 60 - 255) / 15, 9);
  });

  test('are known for 15 minutes after the older poll', () => {
    expect(loginsAt(known(), 495)).toBeDefined();
    for (const stream of MINUTE_STREAMS) {
      const library = known();
      poll(library, 490, COUNTED[stream], { stream });
      expect(loginsAt(library, 495.001)).toBeUndefined();
    }
  });

  test('stay when a new day was polled by one stream only', () => {
    const library = known();
    pollBoth(library, 24 * 60 - 1, COUNTED.people, COUNTED.logins);
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
    ['people', undefined, [0]],
    ['people', undefined, [0]],
    ['people', {}, []],
    ['logins', undefined, [3]],
  ] as const;
  for (const [minute, [stream, minutes, since]] of polls.entries()) {
    poll(library, minute, minutes, { stream });
    const { problems } = metricsAt(library, minute);
    const expected = since.map((begin) => TODAY.startMs + begin * MINUTE_MS);
    expect(problems).toEqual(expected.map((sinceMs) => ({ kind: 'minutes_unreadable', sinceMs })));
  }
});

describe('a building that counts nobody', () => {
  const LOGINS: Minutes = { 590: [1], 610: [1] };
  function started(): Customer {
    const library = customer(['people', 'logins'], ESTIMATED);
    library.pastRead('people', historyBefore(TODAY));
    return library;
  }

  test('has a problem from the tenth missed person on, until somebody is counted', () => {
    const library = started();
    pollBoth(library, 674, NOBODY, LOGINS);
    expect(metricsAt(library, 674).problems).toEqual([]);
    pollBoth(library, 675, NOBODY, LOGINS);
    // From 10:00 to 10:15, 5 enter and 5 leave in a quarter-hour.
    const missed = expect.closeTo(5, 9) as number;
    const sinceMs = TODAY.startMs + 585 * MINUTE_MS;
    const metrics = metricsAt(library, 675);
    expect(metrics.problems).toEqual([{ kind: 'nobody_counted', sinceMs, missed }]);
    expect(metrics).toMatchObject({ isTrusted: false, missed, inside: undefined });
    expect(metrics.estimate.people).toBeUndefined();
    pollBoth(library, 300, { 299: [1, 0] }, {}, TOMORROW);
    expect(metricsAt(library, 300, TOMORROW)).toMatchObject({ problems: [], isTrusted: true });
  });

  test('has no problems of counts while polls fail, nor before the first poll', () => {
    const library = started();
    expect(metricsAt(library, 0)).toMatchObject({ problems: [], isTrusted: undefined });
    pollBoth(library, 675, NOBODY, LOGINS);
    library.pollFailed('people', 'HTTP 503', TODAY.startMs + 676 * MINUTE_MS);
    expect(metricsAt(library, 676).validUntilMs).toBe(TODAY.startMs + 680 * MINUTE_MS);
    expect(metricsAt(library, 680)).toMatchObject({
      problems: [{ kind: 'polls_failing', sinceMs: TODAY.startMs + 675 * MINUTE_MS }],
      isTrusted: false,
      missed: undefined,
    });
    pollBoth(library, 681, NOBODY, LOGINS);
    expect(metricsAt(library, 681).problems).toMatchObject([{ kind: 'nobody_counted' }]);
  });
});

test('directions are unbalanced since the first of three days', () => {
  const [first] = daysBefore(CALENDAR, TODAY).slice(-3) as [Span];
  const library = customer(['people'], ESTIMATED);
  const history = historyOf(TODAY, (day) => {
    const counts = day.startMs === first.startMs ? [30, 1] : [2, 20];
    return day.startMs < first.startMs ? USUAL_DAY : passes(240, 720, counts);
  });
  library.pastRead('people', history);
  poll(library, 719, USUAL_DAY);
  const { problems } = metricsAt(library, 719);
  expect(problems).toEqual([{ kind: 'directions_unbalanced', sinceMs: first.startMs }]);
});

test.each([
  ['back', Date.UTC(2026, 9, 24, 12)],
  ['forward', Date.UTC(2026, 2, 28, 12)],
])(
  'a silence has one start over the night in which clocks go %s, also in a replica',
  (_, noonMs) => {
    const day = CALENDAR.dayAt(noonMs);
    const next = CALENDAR.dayAt(day.endMs);
    const logins = { 590: [1], 610: [1] };
    /** A process that knows what was counted before today. */
    function started(today: Span): Customer {
      const library = customer(['people', 'logins'], ESTIMATED);
      const people = historyOf(today, ({ endMs }) => (endMs === day.endMs ? NOBODY : USUAL_DAY));
      library.pastRead('people', people);
      library.pastRead('logins', historyBefore(today, logins));
      return library;
    }
    function problemsAt(library: Customer, today: Span, minute: number) {
      const isBefore = today === day;
      pollBoth(library, minute, isBefore ? NOBODY : {}, isBefore ? logins : {}, today);
      const { problems } = metricsAt(library, minute, today);
      return problems.map(({ kind, sinceMs }) => [kind, sinceMs]);
    }
    const problem = [['nobody_counted', day.startMs + 585 * MINUTE_MS]];
    const library = started(day);
    expect(problemsAt(library, day, 719)).toEqual(problem);
    problemsAt(library, day, (day.endMs - day.startMs) / MINUTE_MS - 1);
    expect(problemsAt(library, next, 0)).toEqual(problem);
    expect(problemsAt(library, next, 480)).toEqual(problem);
    expect(problemsAt(started(next), next, 480)).toEqual(problem);
  },
);
