/** That every part of the bench still runs and ends with values, at sizes that measure nothing. */
import { expect, test } from 'vitest';
import type { Measured } from '../../bench/measured.ts';
import { measureOccupancy } from '../../bench/occupancy/measure.ts';
import { occupancyTable } from '../../bench/occupancy/table.ts';
import { measureReload } from '../../bench/reload/measure.ts';
import { measureRequests } from '../../bench/requests/measure.ts';
import { measureStart } from '../../bench/start/measure.ts';
import { measureFirstValues } from '../../bench/start/values.ts';
import { measureDelay, measureTraffic } from '../../bench/traffic/measure.ts';

function expectFigures(rows: readonly Measured[]): void {
  for (const { bar, ours, peer, value, limit } of rows) {
    expect(Number.isFinite(value), `${bar}: ${value}`).toBe(true);
    expect(limit).toBeGreaterThanOrEqual(0);
    expect(`${ours}${peer}`).not.toMatch(/NaN|Infinity|undefined/);
  }
}

const FEW_CUSTOMERS = {
  customers: 20,
  maxRequestsPerSecond: 100,
  rounds: 1,
  roundSeconds: 4,
  scrapeEverySeconds: 2,
};

test('the traffic is polled, counted and replayed', async () => {
  const told: string[] = [];
  const rows = await measureTraffic((line) => told.push(line), FEW_CUSTOMERS);
  expectFigures(rows);
  expect(rows).toHaveLength(6);
  expect(told.at(-2)).toMatch(/bare loop \d/);
}, 120_000);

test('the delay of the event loop is measured alone', async () => {
  const rows = await measureDelay(() => {}, FEW_CUSTOMERS);
  expectFigures(rows);
  expect(rows).toHaveLength(1);
}, 60_000);

test('a start is timed up to its first connection', async () => {
  const starts = [{ customers: 2, times: 2 }];
  const rows = await measureStart(() => {}, { starts });
  expectFigures(rows);
  expect(rows).toHaveLength(1);
}, 60_000);

test('the first values of a start are timed', async () => {
  const starts = [{ customers: 3, limitSeconds: 30 }];
  const rows = await measureFirstValues(() => {}, { starts, answerMs: 10 });
  expectFigures(rows);
  expect(rows).toHaveLength(1);
}, 60_000);

test('reloads of one file and of several are measured', async () => {
  const sizes = { customers: 20, customersPerFile: 5, times: 1 };
  const rows = await measureReload(() => {}, { ...sizes, maxRequestsPerSecond: 1_000 });
  expectFigures(rows);
  expect(rows).toHaveLength(2);
}, 60_000);

test('requests of a simulated day are counted', async () => {
  const rows = await measureRequests(() => {}, { customers: 2, hours: 1 });
  expectFigures(rows);
  // Two streams, a poll a minute.
  expect(rows[0]?.value).toBeGreaterThanOrEqual(2);
  expect(rows).toHaveLength(4);
}, 60_000);

test('the occupancy estimate is evaluated in every regime', async () => {
  const samples = { small: 2, branch: 0, town: 0, univ: 0, open24: 0 };
  const cells = await measureOccupancy(() => {}, samples);
  const table = occupancyTable(cells);
  expect(table).toMatch(/^\| perfect +\| exact, 100 % +\|/m);
  const dead = cells.find(({ library, regime }) => library === 'small' && regime === 'deadout');
  expect(dead?.rawError).toBeGreaterThan(5);
  expect(dead?.relativeError).toBeLessThan(0.6);
}, 120_000);
