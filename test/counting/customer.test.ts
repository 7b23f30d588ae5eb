/** What a customer exports: results of its polls, periods, totals, branches, and until when. */
import { describe, expect, test } from 'vitest';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import { updatePast } from '../../src/counting/customer-past.ts';
import { counterValues } from '../../src/counting/customer-metrics.ts';
import type { CustomerDescription, SiteDescription } from '../../src/counting/customer-metrics.ts';
import type { Customer } from '../../src/counting/customer.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { INITIAL_STATE } from '../../src/counting/totals/state.ts';
import { CALENDAR, NOVEMBER, NOW_MS } from '../support/owner.ts';
import { customerNamed, ESTIMATED } from '../support/polled.ts';
import { queryFrom } from '../support/responses.ts';
import type { Requested } from '../support/responses.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, StreamFixture } from './fixture.ts';
import { poll, TODAY } from './site-fixture.ts';

/** What `poll` does at 1, 2, 3 … ms, and `up`, `acceptedMs` and `waitingSinceMs` afterwards. */
test.each([
  ['accepted', [true, 1, undefined]],
  ['pending pending', [true, undefined, 1]],
  ['accepted pending failed', [false, 1, 2]],
])('after polls that were %s, its values were accepted and wait since %j', (polls, expected) => {
  for (const stream of ['people', 'branch'] as const) {
    const customer = customerNamed('riverside');
    customer.breakdowns.configure(['branch']);
    for (const [i, poll] of polls.split(' ').entries()) {
      const result = poll === 'accepted' ? poll : 'pending';
      if (poll === 'failed') {
        customer.pollFailed(stream, 'status 503', i + 1);
      } else if (stream === 'people') {
        customer.pollSucceeded(stream, { state: INITIAL_STATE, result }, i + 1);
      } else {
        const state = customer.breakdowns.stateOf(stream);
        customer.breakdownSucceeded(stream, { state, result }, i + 1);
      }
    }
    const { up, acceptedMs, waitingSinceMs } = customer.metricsAt(9).streams[stream] ?? {};
    expect([up, acceptedMs, waitingSinceMs]).toEqual(expected);
  }
});

test('counts the polls of each configured stream and breakdown, from 0', () => {
  const customer = customerNamed('riverside', undefined, { streams: ['people', 'logins'] });
  customer.breakdowns.configure(['device']);
  const unpolled = { up: undefined, polls: 0, failures: 0, skipped: 0, lastError: undefined };
  expect(customer.health).toMatchObject({ people: unpolled, logins: unpolled, device: unpolled });
  customer.pollSkipped('people');
  customer.pollFailed('people', 'status 503', NOW_MS);
  customer.pollSkipped('people');
  const lastError = { message: 'status 503', atMs: NOW_MS };
  const failed = { up: false, polls: 1, failures: 1, skipped: 2, lastError };
  expect(customer.health.people).toMatchObject(failed);
  customer.pollSucceeded('people', { state: INITIAL_STATE, result: 'accepted' }, NOW_MS + 1);
  const succeeded = { ...failed, up: true, polls: 2, lastError: undefined };
  expect(customer.health).toMatchObject({ people: succeeded, logins: unpolled, device: unpolled });
  expect(customer.metricsAt(NOW_MS + 1).streams).toMatchObject(customer.health);
});

test('has refused credentials as a problem since the first refusal, also over a restart, until they are accepted', () => {
  const customer = customerNamed('riverside');
  customer.restoreProblems(new Map([[null, [{ kind: 'credentials_refused', sinceMs: 0 }]]]));
  customer.pollFailed('people', 'status 401', 0);
  expect(customer.credentialsValid).toBeUndefined();
  const checks = [
    [false, 1, [0]],
    [false, 2, [0]],
    [true, 3, []],
    [false, 4, [4]],
    [true, 5, undefined],
    [false, 6, [6]],
  ] as const;
  for (const [valid, atMs, since] of checks) {
    customer.credentialsChecked(valid, atMs);
    const asked = since && customer.problemsAt(atMs);
    const refused = asked?.filter(({ kind }) => kind === 'credentials_refused');
    expect(refused?.map(({ sinceMs }) => sinceMs)).toEqual(since);
    expect(customer.credentialsValid).toBe(valid);
  }
});

test('has problems at any instant, also before the last one that was asked for', () => {
  const customer = customerNamed('riverside');
  customer.pollSucceeded('people', { state: INITIAL_STATE, result: 'accepted' }, NOW_MS);
  customer.pollFailed('people', 'status 503', NOW_MS + 1);
  const counts = [4, 5, 4].map((min) => customer.problemsAt(NOW_MS + min * MINUTE_MS).length);
  expect(counts).toEqual([0, 1, 0]);
});

test('has failing polls of its branches as a problem after five of their intervals', () => {
  const customer = customerNamed('riverside');
  customer.breakdowns.configure(['branch']);
  customer.pollFailed('branch', 'status 503', NOW_MS);
  for (const breakdownIntervalMs of [5 * MINUTE_MS, 10 * MINUTE_MS]) {
    const sinceMs = NOW_MS + 5 * breakdownIntervalMs;
    const counts = [sinceMs - 1, sinceMs].map((ms) => customer.metricsAt(ms).problems.length);
    expect(counts).toEqual([0, 1]);
    customer.setIntervals({ intervalMs: MINUTE_MS, breakdownIntervalMs: 10 * MINUTE_MS });
  }
});

test('goes on with problems that were stored until all streams were polled, whatever is accepted meanwhile', () => {
  const customer = customerNamed('riverside', undefined, { streams: ['people', 'logins'] });
  const stored = new Map([[null, [{ kind: 'polls_failing', sinceMs: 1 } as const]]]);
  customer.restoreProblems(stored);
  customer.pollSucceeded('logins', { state: INITIAL_STATE, result: 'accepted' }, NOW_MS);
  customer.credentialsChecked(true, NOW_MS);
  expect(customer.metricsAt(NOW_MS).problems).toEqual([]);
  expect(customer.rememberedProblems).toEqual(stored);
  customer.pollFailed('people', 'status 503', NOW_MS);
  expect(customer.problemsAt(NOW_MS)).toEqual(stored.get(null));
  customer.pollSucceeded('people', { state: INITIAL_STATE, result: 'accepted' }, NOW_MS);
  expect(customer.problemsAt(NOW_MS)).toEqual([]);
  expect(customer.rememberedProblems.size).toBe(0);
});

const HOURS = parseOpeningHours('11:00-20:00', undefined);

test('is open by its opening hours at any instant, or it is not known', () => {
  const customer = customerNamed('riverside');
  expect(customer.isOpenAt(NOW_MS)).toBeUndefined();
  customer.setDescription({ ...ESTIMATED, openingHours: HOURS });
  expect([NOW_MS - 1, NOW_MS].map((atMs) => customer.isOpenAt(atMs))).toEqual([false, true]);
});

test.each([
  ['is the mark, with an excess, if it is above the total', [7, 5, 3], { total: 7, excess: 2 }],
  ['is the total without a mark', [undefined, 5, 3], { total: 5, excess: 0 }],
  ['is not known without a total', [7, undefined, 3], { total: undefined, excess: undefined }],
] as const)("a counter %s; today's figure stays", (_, [mark, total, today], expected) => {
  const { startMs: periodStartMs, month } = NOVEMBER;
  const marked = mark === undefined ? mark : { periodStartMs, month, value: mark, atMs: NOW_MS };
  expect(counterValues(marked, total, today)).toEqual({ ...expected, today });
});

test('has no totals to compare with if the mark of one counter is missing', () => {
  const marks = new HighWaterMarks();
  const customer = customerNamed('riverside', marks);
  marks.update(customer.owner, 'people_exited', NOVEMBER, 7, NOW_MS - 1);
  expect(customer.streamOf('people').marksOf(NOVEMBER)).toBeUndefined();
  marks.update(customer.owner, 'people_entered', NOVEMBER, 9, NOW_MS);
  expect(customer.streamOf('people').marksOf(NOVEMBER)).toEqual({ totals: [9, 7], atMs: NOW_MS });
});

test.each([
  ['the day ends', {}, '2026-11-18T22:00', '2026-11-19T03:00'],
  ['clocks change', {}, '2026-10-25T00:30', '2026-10-25T01:00'],
  ['it opens', { openingHours: HOURS }, '2026-11-18T06:30', '2026-11-18T10:00'],
  ['staff comes', { staffedHours: HOURS }, '2026-11-18T06:30', '2026-11-18T10:00'],
])('has values that are valid until %s', (_, hours, now, until) => {
  const customer = customerNamed('riverside', undefined, {
    description: { ...ESTIMATED, ...hours },
  });
  const { validUntilMs } = customer.metricsAt(Date.parse(`${now}Z`));
  expect(new Date(validUntilMs).toISOString().slice(0, 16)).toBe(until);
});

test.each(['people', 'logins'] as const)(
  'has values that are valid until those of %s are older than 15 minutes, and then the day long',
  (stream) => {
    const library = customerNamed('riverside', undefined, { streams: ['people', 'logins'] });
    poll(library, 0, undefined, { stream });
    const oldMs = TODAY.startMs + 15 * MINUTE_MS + 1;
    const valid = [oldMs - 1, oldMs].map((nowMs) => library.metricsAt(nowMs).validUntilMs);
    expect(valid).toEqual([oldMs, TODAY.endMs]);
  },
);

describe('a customer that is polled by branch', () => {
  const { labels: _, ...SITE } = ESTIMATED;
  /** That of the simulated service. */
  const BRANCH = '421';

  function describedAs(configured: Record<string, SiteDescription>): CustomerDescription {
    return { ...ESTIMATED, branches: { configured, others: SITE } };
  }
  function customerWith(configured: Record<string, SiteDescription>): Customer {
    return customerNamed('riverside', undefined, { description: describedAs(configured) });
  }
  function branchesOf(customer: Customer) {
    return customer.metricsAt(NOW_MS).branches?.map(({ key, capacity }) => [key, capacity]);
  }

  test('has those that are configured, without values of today while their windows are unknown', () => {
    const customer = customerWith({ 101: { ...SITE, name: 'North', capacity: 80 }, 102: SITE });
    customer.breakdowns.configure(['branch']);
    const [totals, today] = [new Map([['101', [5, 4]]]), new Map([['101', [2, 1]]])];
    const at = { period: NOVEMBER, day: CALENDAR.dayAt(NOW_MS), atMs: NOW_MS };
    const snapshot = { ...at, totals, today, droppedKeys: 0 };
    const state = { ...customer.breakdowns.stateOf('branch'), snapshot };
    customer.breakdownSucceeded('branch', { state, result: 'accepted' }, NOW_MS);
    // Those of the breakdown are totals alone.
    const counters = { people_entered: { today: undefined } };
    expect(customer.metricsAt(NOW_MS).branches).toMatchObject([
      { key: '101', name: 'North', capacity: 80, counters },
      { key: '102', name: undefined, capacity: undefined, counters },
    ]);
    expect(Object.fromEntries(customer.branchNames)).toEqual({ 101: 'North', 102: '102' });
  });

  test('keeps what is known of them over a reload', () => {
    const customer = customerWith({ 101: SITE });
    const { branches } = customer;
    customer.setDescription(describedAs({ 101: { ...SITE, capacity: 80 }, 102: SITE }));
    expect(branchesOf(customer)).toEqual([
      ['101', 80],
      ['102', undefined],
    ]);
    expect(customer.branches).toBe(branches);
    customer.setDescription(ESTIMATED);
    expect(customer.branches).toBeUndefined();
    expect(customer.metricsAt(NOW_MS).branches).toBeUndefined();
    expect(customer.branchNames.size).toBe(0);
  });

  test('remembers the problems of its branches in place of those of all together', () => {
    const customer = customerWith({ 101: SITE });
    const problems = [{ kind: 'nobody_counted', sinceMs: 1 } as const];
    const stored = [null, '101'].map((key) => [key, problems] as const);
    customer.restoreProblems(new Map(stored));
    expect([...customer.rememberedProblems]).toEqual([['101', problems]]);
    customer.setDescription(ESTIMATED);
    expect([...customer.rememberedProblems]).toEqual([[null, problems]]);
  });

  test('requests windows of today after a poll, those of days before once their history is read', async () => {
    const records = [25, 3, 1].map((days) => [days * DAY_MS, [3, 1]] as const);
    const people = new StreamFixture({ records: [...records, [HOUR_MS, [2, 1]]] });
    const { customer } = people;
    const requests: Requested[] = [];
    const query = queryFrom((question) => people.service.respond(question, people.nowMs), requests);
    /** Returns whether windows of today were requested, and whether those of days before were. */
    async function readWindows(): Promise<readonly boolean[]> {
      requests.length = 0;
      while (customer.branches?.plan() !== undefined) {
        await customer.branches.readNext(query);
      }
      const { startMs } = CALENDAR.dayAt(people.nowMs);
      const ofToday = requests.map(({ from }) => Date.parse(from ?? '') >= startMs);
      return [ofToday.includes(true), ofToday.includes(false)];
    }
    await people.poll();
    // A reload: the counts of the last poll are known already.
    customer.setDescription(describedAs({ [BRANCH]: { ...SITE, capacity: 4 } }));
    expect(await readWindows()).toEqual([true, false]);
    const counters = { people_entered: { today: 2 }, people_exited: { today: 1 } };
    expect(people.metrics().branches).toMatchObject([{ key: BRANCH, occupancy: 1, counters }]);
    await updatePast(customer, 'people', query, people.nowMs);
    expect(await readWindows()).toEqual([false, true]);
    customer.branches?.learn();
    const { branches, estimate } = people.metrics();
    expect(branches?.[0]?.usual).toBeDefined();
    expect(estimate.people).toBeUndefined();

    people.nowMs += 2 * HOUR_MS;
    people.record(people.nowMs - HOUR_MS - MINUTE_MS, [4, 0]);
    await people.poll();
    expect(await readWindows()).toEqual([true, false]);
    expect(people.metrics()).toMatchObject({ branches: [{ occupancy: 5 }], problems: [] });
    const kinds = customer.problemsAt(people.nowMs).map(({ kind }) => kind);
    expect(kinds).toEqual(['counts_delayed', 'over_capacity']);
  });
});
