/**
 * The table of src/counting/README.md: each event is tried in each state of a stream. A kind of state
 * that the code adds does not compile until it is here, and fails until it is in the table.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AggregatedResponse } from '../../../src/base/model.ts';
import { accept, NOTHING_PENDING } from '../../../src/counting/totals/accept.ts';
import type { Pending } from '../../../src/counting/totals/accept.ts';
import { BY_DAY } from '../../../src/counting/totals/period-total.ts';
import type { TotalSource } from '../../../src/counting/totals/period-total.ts';
import { planPoll, pollStream } from '../../../src/counting/totals/poll.ts';
import type { PollResult, StreamState } from '../../../src/counting/totals/state.ts';
import { CALENDAR, NOVEMBER, NOW_MS } from '../../support/owner.ts';
import { queryFrom } from '../../support/responses.ts';
import type { Change } from '../../support/responses.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, polledPeople } from '../fixture.ts';
import type { StreamFixture, StreamOptions } from '../fixture.ts';

const PAGE = readFileSync(new URL('../../../src/counting/README.md', import.meta.url), 'utf8');

/** Tries each event in each state. Returns the transitions, sorted. */
async function transitions<State extends string>(
  examples: Readonly<Record<State, unknown>>,
  events: Readonly<Record<string, (state: State) => string | Promise<string>>>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [event, next] of Object.entries(events)) {
    for (const state of Object.keys(examples) as State[]) {
      found.push(`${event}: ${state} -> ${await next(state)}`);
    }
  }
  return found.toSorted();
}

/** Returns the transitions of a part of the table, sorted. */
function documented(part: string, examples: object): readonly string[] {
  return PAGE.replaceAll('`', '')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, name]) => name === part)
    .flatMap(([, , event, before = '', next = '']) =>
      (before === 'any' ? Object.keys(examples) : before.split(', ')).map(
        (state) => `${event}: ${state} -> ${next.replace('unchanged', state)}`,
      ),
    )
    .toSorted();
}

test('confirmation', async () => {
  const examples = {
    nothing: NOTHING_PENDING,
    lower: { kind: 'lower', polls: 1, sinceMs: 0 },
    higher: { kind: 'higher', polls: 1, sinceMs: 0 },
  } as const satisfies Record<Pending['kind'], Pending>;
  function table(count: number) {
    return new Map([['', [count]]]);
  }
  const at = { period: NOVEMBER, day: CALENDAR.dayAt(NOW_MS) };
  const before = { ...at, totals: table(400), today: table(40), atMs: NOW_MS - MINUTE_MS };
  const FIRST = { polls: 2, isFirst: true };
  function poll(total: number, { polls = 1, isFirst = false } = {}, monotonicMs = HOUR_MS - 1) {
    return (kind: Pending['kind']): string => {
      const pending = kind === 'nothing' ? NOTHING_PENDING : { ...examples[kind], polls };
      const known = isFirst ? undefined : before;
      const now = { ...at, totals: table(total), today: table(40), atMs: NOW_MS };
      const clocks = { monotonicMs, reconcileIntervalMs: HOUR_MS };
      const verdict = accept(pending, { snapshot: known, marks: known }, now, clocks);
      return verdict.kind === 'accepted' ? 'nothing' : verdict.pending.kind;
    };
  }
  const found = await transitions(examples, {
    'plausible values': poll(400),
    'lower values': poll(399),
    'lower values, after two such polls': poll(399, { polls: 2 }),
    'no counts': poll(0),
    'no counts, after two such polls': poll(0, { polls: 2 }),
    'a first total of 0, after two such polls': poll(0, FIRST),
    'a first total of 0, after two such polls and an interval': poll(0, FIRST, HOUR_MS),
    'an implausible increase': poll(90_000),
    'an implausible increase, after two such polls': poll(90_000, { polls: 2 }),
  });
  expect(found).toEqual(documented('confirmation', examples));
});

interface Poll {
  readonly records?: NonNullable<StreamOptions['records']>;
  /** Changes the service, the time or the fixture after the first poll. */
  readonly change?: (people: StreamFixture) => unknown;
  /** Whether a new baseline is due. */
  readonly isDue?: boolean;
}

/** Polls once more from the state after a first poll, with some of it changed. */
async function pollFrom(
  changed: Partial<StreamState>,
  { records, change, isDue = true }: Poll,
): Promise<{ readonly before: StreamState; readonly next: StreamState }> {
  const people = await polledPeople(records && { records });
  const before = { ...people.state, ...changed };
  change?.(people);
  const query = queryFrom((question) => people.respond(question));
  const renewalMs = isDue ? Infinity : 0;
  const { state: next } = await people.pollFrom(before, people.context(), query, renewalMs);
  return { before, next };
}

/** Empties the responses of some aggregations for today, so many times. */
function lag(aggregations: readonly string[], times = Infinity) {
  return (people: StreamFixture): void => {
    let left = times;
    people.empty(
      ({ aggregation, from }) =>
        aggregations.includes(aggregation) && from.startsWith('2026-11-18T04:00') && left-- > 0,
    );
  };
}

/** Changes responses to requests from this time on. */
function changed(from: string, by: Change) {
  return (people: StreamFixture): void =>
    people.change((response, question) =>
      question.from.includes(from) ? by(response, question) : response,
    );
}

/** Responds to requests from this time on as if another aggregation was forced. */
function forced(aggregation: string, from: string) {
  return changed(from, (response) => ({ ...response, aggregation }));
}

/** Has these counts in each of the last minutes that counted anybody. */
function withRows({ rows, aggregation }: AggregatedResponse, counts: readonly number[]) {
  return { aggregation, rows: rows.map(({ key }) => ({ key, counts })) };
}

/** Returns all rows of minutes twice. */
const double = changed('', ({ aggregation, rows }) => ({
  aggregation,
  rows: aggregation === 'minute' ? [...rows, ...rows] : rows,
}));

function goToDecember(people: StreamFixture): void {
  people.nowMs = NOVEMBER.endMs + 12 * HOUR_MS;
  people.record(people.nowMs - HOUR_MS, [5, 2]);
}

test('total source', async () => {
  const examples = {
    unverified: BY_DAY,
    verified: { kind: 'verified', aggregation: 'day' },
    minutes: { kind: 'minutes', aggregation: 'minute' },
  } as const satisfies Record<TotalSource['kind'], TotalSource>;
  function poll(options: Poll) {
    return async (state: TotalSource['kind']): Promise<string> => {
      const { next } = await pollFrom({ totalSource: examples[state] }, options);
      const { kind, aggregation } = next.totalSource;
      return aggregation === 'quarter' ? `${kind} (quarter)` : kind;
    };
  }
  const found = await transitions(examples, {
    "it has today's minutes, and somebody was counted in the last ones": poll({}),
    "it has today's minutes, and nobody was counted in the last ones": poll({
      records: [[2 * HOUR_MS, [5, 0]]],
    }),
    // A response below the last value is requested again, and must be as low to disagree.
    "it lacks today's minutes once": poll({ change: lag(['day'], 2) }),
    "day lacks today's minutes twice": poll({ change: lag(['day']) }),
    "day and quarter lack today's minutes twice": poll({ change: lag(['day', 'quarter']) }),
    'minute has all rows twice': poll({ change: double }),
    'the last minutes are forced into day': poll({ change: forced('day', 'T10:45') }),
    'the last minutes lose counts while they are read': poll({
      change(people) {
        let recent = 0;
        // Read once before the other requests, and twice after them, because it is lower then.
        changed('T10:45', (response) =>
          recent++ % 3 === 0 ? withRows(response, [3, 1]) : response,
        )(people);
      },
    }),
    'today is answered in another aggregation than the period': poll({
      change: changed('2026-11-18', (response) =>
        response.aggregation === 'day' ? { ...response, aggregation: 'quarter' } : response,
      ),
    }),
    'the service forces quarter for the period': poll({ change: forced('quarter', '2026-11-01') }),
    'a new counting period': poll({ change: goToDecember }),
  });
  expect(found).toEqual(documented('total source', examples));
});

test('plan', async () => {
  const examples = { none: undefined, kept: {} };
  function plan({ isDue = false, change }: Poll) {
    return async (kind: keyof typeof examples): Promise<string> => {
      const people = await polledPeople();
      change?.(people);
      const baseline = kind === 'none' ? { baseline: undefined } : {};
      const renewalMs = isDue ? Infinity : 0;
      return planPoll({ ...people.state, ...baseline }, people.context(), renewalMs);
    };
  }
  const found = await transitions(examples, {
    'an ordinary poll': plan({}),
    'the reconcile interval is over': plan({ isDue: true }),
    'a new day': plan({ change: (people) => (people.nowMs += DAY_MS) }),
    'a new counting period': plan({ change: goToDecember }),
  });
  expect(found).toEqual(documented('plan', examples));
});

test('recent', async () => {
  const examples = { accepted: [[MINUTE_MS, [20, 20]]], waiting: [] } as const;
  function poll(change: (people: StreamFixture) => unknown, changed: Partial<StreamState> = {}) {
    return async (values: keyof typeof examples): Promise<PollResult> => {
      const people = await polledPeople({ records: examples[values] });
      // A first total of 0 waits on its third baseline.
      await people.polls(2);
      change(people);
      const query = queryFrom((question) => people.respond(question));
      const state = { ...people.state, ...changed };
      return (await pollStream(state, 'recent', people.context(), query)).result;
    };
  }
  const found = await transitions(examples, {
    'somebody comes': poll((people) => people.record(people.nowMs - 1, [1, 0])),
    'nobody is counted': poll((people) => people.empty(() => true)),
    'nobody is counted for an interval': poll((people) => people.empty(() => true), {
      pending: { kind: 'lower', polls: 5, sinceMs: -HOUR_MS },
    }),
    'an implausible increase': poll((people) => people.record(people.nowMs - 1, [0, 90_000]), {
      recent: [20, 0],
    }),
    'it doubles from 20 or more': poll((people) => people.record(people.nowMs - 1, [20, 20])),
    'it is answered in another aggregation': poll(forced('quarter', 'T10:4')),
  });
  expect(found).toEqual(documented('recent', examples));
});

test('baseline', async () => {
  const examples = { none: undefined, kept: {} };
  function poll(options: Poll, changed: Partial<StreamState> = {}) {
    return async (kind: keyof typeof examples): Promise<string> => {
      const baseline = kind === 'none' ? { baseline: undefined } : {};
      const { before, next } = await pollFrom({ ...changed, ...baseline }, options);
      return next.baseline === undefined
        ? 'none'
        : next.baseline === before.baseline
          ? 'kept'
          : 'read';
    };
  }
  const isDue = false;
  const found = await transitions(examples, {
    'an ordinary poll': poll({ isDue }),
    'the reconcile interval is over': poll({}),
    'a new day': poll({ isDue, change: (people) => (people.nowMs += DAY_MS) }),
    'a new counting period': poll({ isDue, change: goToDecember }),
    'recent is answered in another aggregation': poll({
      isDue,
      change: forced('quarter', 'T10:45'),
    }),
    'recent doubles from 20 or more': poll({
      isDue,
      records: [[MINUTE_MS, [20, 20]]],
      change: (people) => people.record(NOW_MS - 1, [20, 20]),
    }),
    'a baseline is due, but no slot is free': poll({
      change: (people) => (people.hasSlot = false),
    }),
    'somebody is counted while it is read': poll({
      change(people) {
        people.change((response) => {
          people.record((people.nowMs += 1), [1, 0]);
          return response;
        });
      },
    }),
    'while it is read, the last minutes are empty, and today is not': poll({
      change: (people) => people.empty(({ from }) => from.includes('T10:45')),
    }),
    "while it is read, the last minutes lack some of today's": poll({
      change: changed('T10:45', (response) => withRows(response, [1, 1])),
    }),
    'while it is read, the last minutes come by two aggregations': poll({
      change(people) {
        let requests = 0;
        people.change((response) =>
          (requests += 1) === 1 ? { ...response, aggregation: 'quarter' } : response,
        );
      },
    }),
    'minute has all rows twice': poll({ change: double }),
    'its values wait for confirmation': poll({ change: (people) => people.empty(() => true) }),
    'its values are a first total of 0, after two such polls': poll(
      { change: (people) => people.empty(() => true) },
      { snapshot: undefined, pending: { kind: 'lower', polls: 2, sinceMs: 0 } },
    ),
  });
  expect(found).toEqual(documented('baseline', examples));
});
