import { expect, test } from 'vitest';
import type { CountsByKey } from '../../src/counting/rows/counts.ts';
import { readWindows } from '../../src/report/windows.ts';

const HOUR_MS = 3_600_000;
const WINDOWS = [0, 1, 2].map((hour) => ({ startMs: hour * HOUR_MS, endMs: (hour + 1) * HOUR_MS }));

type Edges = 'exclusive' | 'inclusive';

/** A service with one entry at each time, whose windows include their edges or do not. */
class Service {
  readonly times: readonly number[];
  readonly edges: Edges;
  requests = 0;
  /** The response to this request is empty. */
  emptyAt = 0;

  constructor(times: readonly number[], edges: Edges = 'exclusive') {
    this.times = times;
    this.edges = edges;
  }

  readonly read = (startMs: number, endMs: number): Promise<CountsByKey> => {
    this.requests += 1;
    const isFaulty = this.requests === this.emptyAt;
    const found = this.times.filter((atMs) =>
      this.edges === 'inclusive'
        ? atMs >= startMs && atMs <= endMs
        : atMs > startMs && atMs < endMs,
    );
    return Promise.resolve(
      new Map(isFaulty || found.length === 0 ? [] : [['101', [found.length, 0]]]),
    );
  };
}

async function entered(service: Service): Promise<readonly number[]> {
  const tables = await readWindows(WINDOWS, service.read);
  return tables.map((table) => table.get('101')?.[0] ?? 0);
}

test.each<[Edges, readonly number[]]>([
  // A record at the start of a window is not in it, and is in the one before.
  ['exclusive', [2, 2, 2]],
  // It is in the window that starts with it. The last one is in none.
  ['inclusive', [1, 2, 2]],
])('records where windows meet count once, if edges are %s', async (edges, expected) => {
  const times = [0.5, 1, 1.5, 2, 2.5, 3].map((hours) => hours * HOUR_MS);
  expect(await entered(new Service(times, edges))).toEqual(expected);
});

test.each([1, 2, 3, 4, 5])('an empty response to request %i changes nothing', async (at) => {
  const service = new Service([0.5 * HOUR_MS, 1.5 * HOUR_MS, 2.5 * HOUR_MS]);
  service.emptyAt = at;
  expect(await entered(service)).toEqual([1, 1, 1]);
});
