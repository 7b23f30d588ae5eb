/** Branches and doors that counted nobody while the others did. */
import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/base/duration.ts';
import { findSilent, readLately } from '../../../src/counting/check/lately.ts';
import { WindowReader } from '../../../src/counting/rows/window-reader.ts';
import { COPENHAGEN, NOW_MS } from '../../support/owner.ts';
import { queryFrom, responseOf } from '../../support/responses.ts';

type Passes = Readonly<Record<string, number>>;

function table(passes: Passes) {
  return new Map(Object.entries(passes).map(([key, count]) => [key, [count, 0]]));
}

test.each<[string, Passes, Passes, readonly string[]]>([
  ['that counts nobody is silent', { a: 50, b: 20, c: 9 }, { a: 50, c: 9 }, ['b']],
  ['that counts a few is not', { a: 50, b: 90 }, { a: 50, b: 1 }, []],
  ['with few people is not', { a: 50, b: 19 }, { a: 50 }, []],
  ['is not while few come elsewhere', { a: 100, b: 99 }, { a: 20 }, []],
  ['is compared with those that were there before', { a: 10, b: 20 }, { a: 5, new: 90 }, []],
])('a key %s', (_, before, lately, silent) => {
  expect(findSilent(table(before), table(lately))).toEqual(silent);
});

test('the last day and the last week are compared with the same weekdays before', async () => {
  const passes = Object.entries({
    works: [20, 7.5, 3, 0.5],
    'silent for a day': [7.5, 3],
    'closed on this weekday': [4, 3, 2],
    'silent for a week': [20],
    'of last month': [29],
  });
  const query = queryFrom(({ aggregation, from, to }) => {
    const [fromMs, toMs] = [Date.parse(from), to === undefined ? Infinity : Date.parse(to)];
    const counts = passes.map(([key, daysAgo]) => {
      const times = daysAgo.map((days) => NOW_MS - days * DAY_MS);
      return [key, [50 * times.filter((atMs) => fromMs <= atMs && atMs < toMs).length, 0]];
    });
    return responseOf(Object.fromEntries(counts), aggregation);
  });
  const options = { query, stream: 'people', zone: COPENHAGEN, nowMs: () => NOW_MS } as const;
  const { counts, silent } = await readLately(new WindowReader(options), 'branch', NOW_MS);
  expect([...counts.values()].map(([entered]) => entered)).toEqual([200, 100, 150, 50, 0]);
  expect(silent).toEqual([
    { time: '24 hours', keys: ['silent for a day'] },
    { time: '7 days', keys: ['silent for a week'] },
  ]);
});
