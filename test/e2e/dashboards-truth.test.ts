/**
 * Values of the dashboards' own queries in a real Prometheus, against what the simulated service counted. The
 * time is fixed: an afternoon in Copenhagen. Each library is in a state of its own.
 */
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished as written } from 'node:stream/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import { exporterConfigYaml } from '../../src/simulator/demo-service.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import {
  OPEN_EARLY_AND_LATE,
  deadFrom,
  drawDevices,
  drawLibrary,
} from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/simulated-service.ts';
import { MAIN } from '../acceptance/daemon.ts';
import { branchRecords } from '../support/ground-truth.ts';
import { panelQuery } from './support/panel-query.ts';
import type { Reader } from './support/panel-query.ts';
import { finished } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus, Sample } from './support/prometheus.ts';
import { blocksFromFiles, recordMonths } from './support/promtool.ts';

const STEP_MS = 5 * MINUTE_MS;
const LIMIT_MS = 300_000;
/** Monday, 23 November 2026, 15:35 in Copenhagen. Branches are known up to the quarter-hour before. */
const NOW_MS = Date.UTC(2026, 10, 23, 14, 35);
const QUARTER_MS = Date.UTC(2026, 10, 23, 14, 30);
const TODAY_MS = Date.UTC(2026, 10, 23, 3);
const NIGHT_MS = Date.UTC(2026, 10, 23, 0, 35);
const HISTORY_MS = NOW_MS - 35 * DAY_MS;
const OCTOBER_MS = Date.UTC(2026, 9, 1, 2);
const NOVEMBER_MS = Date.UTC(2026, 10, 1, 3);
/** The exporter of `interrupted` did not run from then to then. */
const INTERRUPTED_MS = [Date.UTC(2026, 9, 27, 10), Date.UTC(2026, 10, 3, 10)] as const;
/** The exporter of `unreachable` does not answer any more. */
const UNREACHABLE_MS = NOW_MS - 20 * MINUTE_MS;
const DEAD_MS = NOW_MS - 25 * HOUR_MS;
const YEARS: Reader = { fromMs: Date.UTC(2025, 0, 1), atMs: NOW_MS };
const FOUR_WEEKS: Reader = { fromMs: NOW_MS - 28 * DAY_MS, atMs: NOW_MS };
/** In five minutes of the opening hours of `yearly`, ten o'clock to six o'clock UTC: on 365 days, nobody else. */
const YEARLY = { start: Date.UTC(2025, 0, 1, 2), entries: 3, fromHour: 10, toHour: 18 };

function library(
  customerId: number,
  name: string,
  branches: readonly string[],
  dead = false,
): Library {
  const drawn = branches.map((branch, i) => ({ id: customerId * 10 + i, name: branch }));
  const devices = drawn.flatMap((branch) => drawDevices(seededRandom(customerId), branch, 1));
  return drawLibrary(1, customerId, {
    name,
    timezone: 'Europe/Copenhagen',
    region: customerId % 2 === 0 ? 'north' : 'south',
    opening: OPEN_EARLY_AND_LATE,
    visitsPerDay: 500,
    quietHours: 0.5,
    capacity: 200,
    branches: drawn,
    devices: dead ? devices.map((device) => deadFrom(device, DEAD_MS)) : devices,
  });
}

const LIBRARIES = [
  library(1, 'well', ['Well']),
  library(2, 'branched', ['Centre', 'North', 'Harbour']),
  library(3, 'dead', ['Dead'], true),
  library(4, 'interrupted', ['Interrupted']),
  library(5, 'unreachable', ['Unreachable']),
];
const BRANCHES: readonly string[] = ['20', '21', '22'];

const clock = { ...systemClock, nowMs: () => NOW_MS + MINUTE_MS };
const service = createSimulatedService({
  seed: 1,
  clock,
  conventions: { ...plainConventions, retentionMs: Infinity },
  historyMs: 70 * DAY_MS,
  customers: LIBRARIES.map((one) => ({
    library: one,
    clientId: one.name,
    clientSecret: 'secret',
  })),
});
const folder = mkdtempSync(join(tmpdir(), 'dashboards-truth-'));
let prometheus: Prometheus;

beforeAll(async () => {
  const files = join(folder, 'history');
  const blocks = join(folder, 'blocks');
  mkdirSync(files);
  await backfill(files);
  for (let month = 0; monthStart(month) < NOW_MS; month += 1) {
    await writeYearly(join(files, `yearly-${month}.om`), month);
  }
  await blocksFromFiles(files, blocks);
  const first = await startPrometheus({}, { blocks });
  try {
    await recordMonths(first.url, blocks, { fromMs: monthStart(0), toMs: NOW_MS });
  } finally {
    await first.stop();
  }
  prometheus = await startPrometheus({}, { blocks });
}, LIMIT_MS);

afterAll(async () => {
  await prometheus?.stop();
  rmSync(folder, { recursive: true });
});

/** Writes five weeks of all libraries, those that were not polled all the time in two pieces or less. */
async function backfill(files: string): Promise<void> {
  const random = seededRandom(1);
  const options = {
    service,
    faults: createFaults({ random }),
    clock,
    listenAddress: '127.0.0.1:0',
  };
  const simulator = await startSimulator(options);
  try {
    const config = join(folder, 'config.yaml');
    const settings = {
      service: { max_requests_per_second: 1_000 },
      breakdowns: ['branch'] as const,
    };
    writeFileSync(config, exporterConfigYaml(service, simulator.url, settings));
    const pieces = [
      { names: ['well', 'branched', 'dead'], fromMs: HISTORY_MS, toMs: NOW_MS + 1_000 },
      { names: ['interrupted'], fromMs: HISTORY_MS, toMs: INTERRUPTED_MS[0] },
      { names: ['interrupted'], fromMs: INTERRUPTED_MS[1], toMs: NOW_MS + 1_000 },
      { names: ['unreachable'], fromMs: NOVEMBER_MS, toMs: UNREACHABLE_MS },
    ];
    for (const [i, { names, fromMs, toMs }] of pieces.entries()) {
      const flags = [
        `--config.file=${config}`,
        `--from=${new Date(fromMs).toISOString()}`,
        `--to=${new Date(toMs).toISOString()}`,
        ...names.map((name) => `--customer=${name}`),
      ];
      const output = join(folder, `piece-${i}`);
      await finished(process.execPath, [MAIN, 'backfill', ...flags, `--output=${output}`]);
      await finished('/bin/sh', [
        '-c',
        `for month in ${output}/*.om; do mv "$month" "${files}/${i}-$(basename "$month")"; done`,
      ]);
    }
  } finally {
    await simulator.close();
  }
}

/** Writes a month of a library whose counts need no service, and polls of branches, which `backfill` has not. */
async function writeYearly(path: string, month: number): Promise<void> {
  const file = createWriteStream(path);
  const startMs = monthStart(month);
  let counted = 0;
  for (let atMs = startMs; atMs < Math.min(monthStart(month + 1), NOW_MS + 1); atMs += STEP_MS) {
    counted += enteredYearly(atMs);
    const seconds = atMs / 1_000;
    const yearly = 'customer="yearly",job="library",instance="a"';
    file.write(
      `library_people_entered_total{${yearly}} ${counted} ${seconds}\n` +
        `library_people_entered_today{${yearly}} 0 ${seconds}\n` +
        `library_period_start_timestamp_seconds{${yearly}} ${startMs / 1_000} ${seconds}\n` +
        `library_utc_offset_seconds{${yearly}} 0 ${seconds}\n` +
        `library_site_info{${yearly},region="north",timezone="UTC"} 1 ${seconds}\n` +
        (atMs < UNREACHABLE_MS - DAY_MS ? '' : polls(seconds)),
    );
  }
  file.end('# EOF\n');
  await written(file);
}

/** The samples of polls that dashboards need, of one scrape. */
function polls(seconds: number): string {
  const names = [...LIBRARIES.map(({ name }) => name), 'yearly'];
  const isAnswering = seconds * 1_000 < UNREACHABLE_MS;
  const labels = 'job="library",instance="a"';
  const accepted = names
    .filter((name) => isAnswering || name !== 'unreachable')
    .flatMap((name) =>
      ['people', 'logins'].map(
        (stream) =>
          `library_values_accepted_timestamp_seconds{customer="${name}",stream="${stream}",${labels}} ${seconds} ${seconds}\n`,
      ),
    );
  const total = `library_polls_total{customer="branched",stream="branch",${labels}} 1 ${seconds}\n`;
  return accepted.join('') + total;
}

/** The start of a counting period of `yearly`, from January 2025 on. */
function monthStart(month: number): number {
  return Date.UTC(2025, month, 1, 4);
}

function enteredYearly(atMs: number): number {
  const hour = new Date(atMs).getUTCHours();
  return hour >= YEARLY.fromHour && hour < YEARLY.toHour ? YEARLY.entries : 0;
}

/** Entries of `yearly` in a number of whole days. */
function ofDays(days: number): number {
  return days * (YEARLY.toHour - YEARLY.fromHour) * 12 * YEARLY.entries;
}

async function valuesOf(
  panel: Parameters<typeof panelQuery>[0],
  reader: Reader,
): Promise<readonly Sample[]> {
  return prometheus.query(panelQuery(panel, reader), reader.atMs);
}

async function valueOf(
  panel: Parameters<typeof panelQuery>[0],
  reader: Reader,
  labels: Readonly<Record<string, string>> = {},
): Promise<number | undefined> {
  const samples = await valuesOf(panel, reader);
  return samples.find((one) =>
    Object.entries(labels).every(([name, value]) => one.labels[name] === value),
  )?.value;
}

const WELL = { customer: 'well' };
const TODAY: Reader = { fromMs: TODAY_MS, atMs: NOW_MS, rows: 'customer, branch' };

/** Entries and exits of a branch that the service knows. */
function passedIn(branch: string, fromMs: number, toMs: number) {
  const records = branchRecords(service, 'branched', fromMs, fromMs, clock.nowMs()).filter(
    ({ branchId, windowMs }) => String(branchId) === branch && windowMs < toMs,
  );
  const entered = records.reduce((sum, record) => sum + record.entered, 0);
  return { entered, inside: entered - records.reduce((sum, record) => sum + record.exited, 0) };
}

/** Entries of a library within a time. */
function entered(customer: string, fromMs: number, toMs: number): number {
  return (
    service.groundTruth(customer, fromMs).entered - service.groundTruth(customer, toMs).entered
  );
}

test('inside and today by branch are what its doors counted up to the last quarter-hour', async () => {
  for (const branch of BRANCHES) {
    const counted = passedIn(branch, TODAY_MS, QUARTER_MS);
    const reader = { ...TODAY, customer: 'branched', branch };
    const row = { branch };
    expect(await valueOf(['overview', 'Branches', 'Today'], reader, row)).toBe(counted.entered);
    const inside = await valueOf(['overview', 'Branches', 'Inside'], reader, row);
    expect(Math.abs((inside ?? NaN) - counted.inside)).toBeLessThan(5);
    const lastHour = passedIn(branch, QUARTER_MS - HOUR_MS, QUARTER_MS).entered;
    expect(await valueOf(['overview', 'Branches', 'Last hour'], reader, row)).toBe(lastHour);
  }
});

test('today and the last hour are what was counted, usual is near the mean of the same weekdays', async () => {
  const reader = { ...TODAY, customer: 'well' };
  const weekdays = [1, 2, 3, 4].map((weeks) => weeks * 7 * DAY_MS);
  const usual = weekdays.map((ago) => entered('well', TODAY_MS - ago, NOW_MS - ago));
  expect(await valueOf(['overview', 'Branches', 'Today'], reader, WELL)).toBe(
    entered('well', TODAY_MS, NOW_MS),
  );
  expect(await valueOf(['overview', 'Branches', 'Last hour'], reader, WELL)).toBe(
    entered('well', NOW_MS - HOUR_MS, NOW_MS),
  );
  const shown = (await valueOf(['overview', 'Branches', 'Usual by now'], reader, WELL)) ?? NaN;
  expect(Math.abs(shown / mean(usual) - 1)).toBeLessThan(0.15);
});

test('the sum of today is of the branches without a problem, and so is what is usual', async () => {
  const branches = BRANCHES.map((branch) => passedIn(branch, TODAY_MS, QUARTER_MS).entered);
  const libraries = ['well', 'interrupted'].map((name) => entered(name, TODAY_MS, NOW_MS));
  expect(await valuesOf(['overview', 'Entries today'], TODAY)).toEqual([
    { labels: { n: '5', m: '8' }, value: sum([...branches, ...libraries]) },
  ]);
  const usual = await valuesOf(['overview', 'Branches', 'Usual by now'], TODAY);
  const ofThese = usual.filter(({ labels }) => labels['customer'] !== 'dead');
  expect(await valueOf(['overview', 'Entries today', 'usual'], TODAY)).toBeCloseTo(
    sum(ofThese.map(({ value }) => value)),
  );
});

test('a dead door is a problem since its last count, with about as many missed as are usual', async () => {
  const reader = { ...TODAY, customer: 'dead' };
  const row = { customer: 'dead', problem: 'nobody is being counted' };
  const since = (await valueOf(['overview', 'Needs attention', 'Since'], reader, row)) ?? NaN;
  expect(DEAD_MS - since).toBeLessThan(HOUR_MS);
  expect(since).toBeLessThanOrEqual(DEAD_MS);
  const missed = (await valueOf(['overview', 'Needs attention', 'Missed'], reader, row)) ?? NaN;
  const weeks = [1, 2, 3].map((week) => week * 7 * DAY_MS);
  const passed = weeks.map((ago) => 2 * entered('dead', DEAD_MS - ago, NOW_MS - HOUR_MS - ago));
  expect(Math.abs(missed / mean(passed) - 1)).toBeLessThan(0.25);
});

test('people inside are not known where a door is dead, and nobody is where it is closed', async () => {
  const panel = ['now', 'People inside now'] as const;
  const [closed, unknown] = [-2, -1];
  expect(await valueOf(panel, { ...TODAY, customer: 'dead' })).toBe(unknown);
  expect(await valueOf(panel, { ...TODAY, customer: 'well', atMs: NIGHT_MS })).toBe(closed);
  expect(await valueOf(['overview', 'People inside'], { ...TODAY, atMs: NIGHT_MS })).toBe(0);
});

test('a month is the total of the service, and that of branches is their sum', async () => {
  const october = await monthOf('2026-10 gaps', 'customer, name');
  const branches = ['Centre', 'North', 'Harbour'].map((name) => october(`branched / ${name}`));
  expect(sum(branches)).toBe(entered('branched', OCTOBER_MS, NOVEMBER_MS));
  expect(october('well')).toBe(entered('well', OCTOBER_MS, NOVEMBER_MS));
  const running = await monthOf('2026-11 so far', 'customer');
  expect(running('well')).toBe(entered('well', NOVEMBER_MS, NOW_MS));
  const south = ['well', 'dead'].map((name) => entered(name, OCTOBER_MS, NOVEMBER_MS));
  expect((await monthOf('2026-10 gaps', 'group'))('south')).toBe(sum(south));
});

test('a month in which an exporter stopped has what was counted until then, and says so', async () => {
  const [stoppedMs] = INTERRUPTED_MS;
  const october = await monthOf('2026-10 gaps', 'customer');
  expect(october('interrupted')).toBe(entered('interrupted', OCTOBER_MS, stoppedMs));
  const panel = ['statistics', 'Months with missing counts', 'Counted until'] as const;
  const row = { customer: 'interrupted', month: '2026-10' };
  expect(Math.abs(((await valueOf(panel, YEARS, row)) ?? NaN) - stoppedMs)).toBeLessThan(
    5 * HOUR_MS,
  );
  const missed = ['statistics', 'Months with missing counts', 'Missed'] as const;
  expect((await valuesOf(missed, YEARS)).map(({ labels }) => labels)).toMatchObject([
    { customer: 'dead', month: '2026-11' },
  ]);
});

test('a year is its months, and the month to date is compared with the same days of the last one', async () => {
  const reader = { ...YEARS, customer: 'yearly' };
  const samples = await valuesOf(['statistics', 'Entries by month'], reader);
  const years = Map.groupBy(samples, ({ labels }) => labels['year']);
  const sums = Array.from(years, ([year, months]) => [year, sum(months.map(({ value }) => value))]);
  const today = 56 * YEARLY.entries;
  expect(Object.fromEntries(sums)).toEqual({
    '2025, 12 months': ofDays(365),
    '2026, 11 months': ofDays(326) + today,
  });
  const monthToDate = ofDays(22) + today;
  const panel = ['statistics', 'Month to date, against last year'] as const;
  expect(await valuesOf(panel, YEARS)).toEqual([
    { labels: { n: '1', m: '8' }, value: monthToDate },
  ]);
  expect(await valueOf([...panel, 'last year'], YEARS)).toBe(monthToDate);
});

test('the headline of the month is the sum of its table, also of an exporter that does not answer', async () => {
  const samples = await valuesOf(['statistics', 'Entries by month'], YEARS);
  const running = samples.filter(({ labels }) => labels['month'] === '2026-11 so far');
  expect(await valuesOf(['statistics', 'Entries this month'], YEARS)).toEqual([
    { labels: { n: '8', m: '8' }, value: sum(running.map(({ value }) => value)) },
  ]);
  const unreachable = running.find(({ labels }) => labels['row'] === 'unreachable');
  const counted = entered('unreachable', NOVEMBER_MS, UNREACHABLE_MS);
  expect(Math.abs((unreachable?.value ?? NaN) - counted)).toBeLessThanOrEqual(10);
});

test('an hour of a weekday is the mean of four weeks', async () => {
  const hour = { weekday: '1', hour: '11' };
  const panel = ['patterns', 'Entries by hour and weekday'] as const;
  const startMs = Date.UTC(2026, 10, 23, 10);
  const counted = [0, 1, 2, 3]
    .map((weeks) => startMs - weeks * 7 * DAY_MS)
    .map((fromMs) => entered('well', fromMs, fromMs + HOUR_MS));
  expect(await valueOf(panel, { ...FOUR_WEEKS, customer: 'well' }, hour)).toBe(mean(counted));
});

/** Returns the totals of a month by row. */
async function monthOf(month: string, rows: string): Promise<(row: string) => number> {
  const samples = await valuesOf(['statistics', 'Entries by month'], { ...YEARS, rows });
  return (row) =>
    samples.find(({ labels }) => labels['month'] === month && labels['row'] === row)?.value ?? NaN;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
