import { expect, test } from 'vitest';
import { readWindows } from '../../src/report/windows.ts';

const HOUR_MS = 3_600_000;
const WINDOWS = [0, 1, 2].map((hour) => ({ startMs: hour * HOUR_MS, endMs: (hour + 1) * HOUR_MS }));

type Edges = 'exclusive' | 'inclusive';

/** Entries in each window, of a service with one at each of these hours; its response to one request is empty. */
async function entered(hours: readonly number[], edges: Edges = 'exclusive', emptyAt = 0) {
  let requests = 0;
  const tables = await readWindows(WINDOWS, (startMs, endMs) => {
    requests += 1;
    const times = hours.map((hour) => hour * HOUR_MS);
    const found = times.filter((atMs) =>
      edges === 'inclusive' ? atMs >= startMs && atMs <= endMs : atMs > startMs && atMs < endMs,
    );
    const isEmpty = requests === emptyAt || found.length === 0;
    return Promise.resolve(new Map(isEmpty ? [] : [['101', [found.length, 0]]]));
  });
  return tables.map((table) => table.get('101')?.[0] ?? 0);
}

test.each<[Edges, readonly number[]]>([
  // A record at the start of a window is not in it, and is in the one before.
  ['exclusive', [2, 2, 2]],
  // It is in the window that starts with it. The last one is in none.
  ['inclusive', [1, 2, 2]],
])('records where windows meet count once, if edges are %s', async (edges, expected) => {
  expect(await entered([0.5, 1, 1.5, 2, 2.5, 3], edges)).toEqual(expected);
});

test.each([1, 2, 3, 4, 5])('an empty response to request %i changes nothing', async (at) => {
  expect(await entered([0.5, 1.5, 2.5], 'exclusive', at)).toEqual([1, 1, 1]);
});
