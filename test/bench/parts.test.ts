/** That every part of the bench still runs and ends with values, at sizes that measure nothing. */
import { expect, test } from 'vitest';
import { measureBranches } from '../../bench/branches/measure.ts';
import type { Measured } from '../../bench/measured.ts';
import { measureOccupancy } from '../../bench/occupancy/measure.ts';
import { occupancyTable } from '../../bench/occupancy/table.ts';
import { measureReload } from '../../bench/reload/measure.ts';
import { measureRequests } from '../../bench/requests/measure.ts';
import { measureStart } from '../../bench/start/measure.ts';
import { measureFirstValues } from '../../bench/start/values.ts';
import { measureDelay, measureTraffic } from '../../bench/traffic/measure.ts';

function ignore(): void {}

function expectValues(rows: readonly Measured[]): void {
  for (const { bar, ours, peer, value, limit } of rows) {
    expect(Number.isFinite(value), `${bar}: ${value}`).toBe(true);
    expect(limit).toBeGreaterThanOrEqual(0);
    expect(`${ours}${peer}`).not.toMatch(/NaN|Infinity|undefined/);
  }
}

const ROUND = { rounds: 1, roundSeconds: 4, scrapeEverySeconds: 2 };
const FEW_CUSTOMERS = { customers: 20, maxRequestsPerSecond: 100, atRest: false, ...ROUND };

test('the traffic is polled, counted and replayed', async () => {
  const lines: string[] = [];
  const rows = await measureTraffic((line) => lines.push(line), FEW_CUSTOMERS);
  expectValues(rows);
  expect(rows).toHaveLength(6);
  expect(lines.at(-2)).toMatch(/bare loop \d/);
}, 120_000);

const START = { starts: [{ customers: 2, times: 2 }] };
const VALUES = { starts: [{ customers: 3, limitSeconds: 30 }], responseMs: 10 };
const RELOAD = { customers: 20, customersPerFile: 5, times: 1, maxRequestsPerSecond: 1_000 };

const BRANCHES = {
  customers: 1,
  branches: 2,
  maxRequestsPerSecond: 100,
  ...ROUND,
  withEstimates: false,
};

test.each<[string, number, () => Promise<readonly Measured[]>]>([
  ['the delay of the event loop is measured alone', 1, () => measureDelay(ignore, FEW_CUSTOMERS)],
  ['a start is timed up to its first connection', 1, () => measureStart(ignore, START)],
  ['the first values of a start are timed', 1, () => measureFirstValues(ignore, VALUES)],
  ['branches are read and scraped', 5, () => measureBranches(ignore, BRANCHES)],
  ['reloads of one file and of several are measured', 2, () => measureReload(ignore, RELOAD)],
])('%s', { timeout: 60_000 }, async (_name, count, measure) => {
  const rows = await measure();
  expectValues(rows);
  expect(rows).toHaveLength(count);
});

test('requests of a simulated day are counted', async () => {
  const rows = await measureRequests(ignore, { customers: 2, hours: 2 });
  expectValues(rows);
  // Two streams, a poll a minute.
  expect(rows[0]?.value).toBeGreaterThanOrEqual(2);
  expect(rows).toHaveLength(8);
}, 60_000);

test('the occupancy estimate is evaluated in every regime', async () => {
  const samples = { small: 2, branch: 0, town: 0, univ: 0, open24: 0 };
  const cells = await measureOccupancy(ignore, samples);
  const table = occupancyTable(cells);
  expect(table).toMatch(/^\| perfect +\| exact, 100 %, 0\.\d % +\|/m);
  const dead = cells.find(({ library, regime }) => library === 'small' && regime === 'deadout');
  expect(dead?.rawError).toBeGreaterThan(5);
  // While the door is dead, there is no estimate; then what is shown is no worse than the raw value.
  expect(dead?.withheld).toBeGreaterThan(0);
  expect(dead?.relativeError).toBeLessThanOrEqual(1);
}, 120_000);
