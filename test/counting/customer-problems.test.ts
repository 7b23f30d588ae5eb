/** Each problem of a customer: just present, just not, and hidden by another one. */
import { expect, test } from 'vitest';
import { changesOfCustomer, problemsOfCustomer } from '../../src/counting/customer-problems.ts';
import type { CustomerFacts, StreamFacts } from '../../src/counting/customer-problems.ts';
import { inOrder, remembered } from '../../src/counting/problems.ts';
import type { Problem } from '../../src/counting/problems.ts';
import { UNPOLLED } from '../../src/counting/totals/health.ts';
import type { Health } from '../../src/counting/totals/health.ts';
import { MINUTE_MS } from './fixture.ts';

const NOW_MS = Date.UTC(2026, 10, 25, 14);

function ago(minutes: number): number {
  return NOW_MS - minutes * MINUTE_MS;
}

const WORKS: CustomerFacts = {
  refusedMs: undefined,
  streams: [],
  unreadableMs: undefined,
  logins: { missed: 7.9, lastMs: ago(300) },
};

function streamOf(health: Partial<Health>, stream: StreamFacts['stream'] = 'people'): StreamFacts {
  return { stream, intervalMs: MINUTE_MS, health: { ...UNPOLLED, up: true, ...health } };
}
function failing(minutes: number, stream?: 'logins'): StreamFacts {
  return streamOf({ up: false, lastSuccessMs: ago(minutes), failingSinceMs: ago(1) }, stream);
}
function waiting(minutes: number): StreamFacts {
  return streamOf({ acceptedMs: ago(minutes), waitingSinceMs: ago(1) });
}

const FAILING = { streams: [failing(60)], unreadableMs: ago(3) };
const REFUSED = { ...FAILING, refusedMs: ago(9) };
const MISSED = { missed: 90, lastMs: ago(300) };

test.each<[string, Partial<CustomerFacts>, string, boolean]>([
  ['nothing', {}, '', true],
  ['credentials, which hide the rest', REFUSED, 'credentials_refused 9', false],
  ['a success within five intervals', { streams: [failing(4.99)] }, '', true],
  ['a success five intervals ago', { streams: [failing(5)] }, 'polls_failing 5', false],
  ['polls of logins alone', { streams: [failing(7, 'logins')] }, 'polls_failing 7', true],
  ['values of 14 minutes ago', { streams: [waiting(14.99)] }, '', true],
  ['values of 15 minutes ago', { streams: [waiting(15)] }, 'values_unconfirmed 15', false],
  ['an old value that does not wait', { streams: [streamOf({ acceptedMs: 0 })] }, '', true],
  [
    'polls, which hides what was counted',
    { ...FAILING, logins: MISSED },
    'polls_failing 60',
    false,
  ],
  ['minutes', { unreadableMs: ago(3) }, 'minutes_unreadable 3', true],
  ['8 logins', { logins: { missed: 8, lastMs: ago(200) } }, 'no_logins 200', true],
  ['a login within four weeks', { logins: { missed: 8, lastMs: undefined } }, '', true],
])('lacks %s', (_name, facts, expected, isCurrent) => {
  const found = problemsOfCustomer({ ...WORKS, ...facts }, NOW_MS, []);
  const ages = found.problems.map((one) => `${one.kind} ${(NOW_MS - one.sinceMs) / MINUTE_MS}`);
  expect([ages.join(), found.isCurrent]).toEqual([expected, isCurrent]);
});

test.each([
  ['polls_failing', { up: false, failingSinceMs: ago(1) }, failing(1)],
  ['values_unconfirmed', { waitingSinceMs: ago(1) }, waiting(1)],
] as const)('after a restart, %s lasts until a poll is better', (kind, health, better) => {
  const problem = { kind, sinceMs: ago(90) };
  const before = remembered([{ kind: 'minutes_unreadable', sinceMs: ago(80) }, problem]);
  function found(one: StreamFacts, known: readonly Problem[] = before) {
    return problemsOfCustomer({ ...WORKS, streams: [one] }, NOW_MS, known).problems;
  }
  expect(found(streamOf(health))).toEqual([problem]);
  expect(found(streamOf(health), before.slice(0, 1))).toEqual([]);
  expect(found(better)).toEqual([]);
});

test.each([
  ['polls_failing', { up: false, failingSinceMs: ago(5) }, { lastSuccessMs: ago(-60) }, 5],
  ['values_unconfirmed', { waitingSinceMs: ago(15) }, { acceptedMs: ago(-60) }, 15],
] as const)('%s begins in time although the clock was set back', (kind, health, later, minutes) => {
  const stored = [{ kind, sinceMs: ago(-60) }];
  for (const [known, more] of [
    [[], later],
    [stored, {}],
  ] as const) {
    const facts = { ...WORKS, streams: [streamOf({ ...health, ...more })] };
    expect(problemsOfCustomer(facts, NOW_MS - 1, known).problems).toEqual([]);
    const { problems } = problemsOfCustomer(facts, NOW_MS, known);
    expect(problems).toEqual([{ kind, sinceMs: ago(minutes) }]);
    expect(changesOfCustomer(facts, known)).toContain(NOW_MS);
  }
});

test('logins are missed until somebody logs in, also when none are usual any more', () => {
  const before = [{ kind: 'no_logins' as const, sinceMs: ago(500), missed: 12 }];
  const streams = [streamOf({}), streamOf({}, 'logins')];
  function found(logins: CustomerFacts['logins'], polled = streams) {
    return problemsOfCustomer({ ...WORKS, logins, streams: polled }, NOW_MS, before).problems;
  }
  expect(remembered([...before, { kind: 'over_capacity', sinceMs: ago(9) }])).toEqual(before);
  const unknown = { missed: undefined, lastMs: undefined };
  expect(found(unknown)).toEqual(before);
  expect(found({ ...unknown, lastMs: ago(2) })).toEqual([]);
  expect(found({ missed: 0, lastMs: undefined })).toEqual(before);
  expect(found({ missed: 14, lastMs: ago(500) })).toEqual([{ ...before[0], missed: 14 }]);
  expect(found({ missed: 0, lastMs: ago(2) })).toEqual([]);
  expect(found(unknown, streams.slice(0, 1))).toEqual([]);
});

test('has its causes first', () => {
  const problems = (['no_logins', 'polls_failing'] as const).map((kind) => ({ kind, sinceMs: 0 }));
  expect(inOrder(problems)).toEqual(problems.toReversed());
});
