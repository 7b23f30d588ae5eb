/**
 * Values of the dashboards' own queries in a real Prometheus, against what the simulated service counted. The
 * exporter runs here, on a clock that stands at an afternoon in Copenhagen; each library is in a state of its own.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { ServiceError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { loadConfig } from '../../src/config/load.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { exporterConfigYaml } from '../../src/simulator/demo-service.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import {
  OPEN_EARLY_AND_LATE,
  deadFrom,
  drawDevices,
  drawLibrary,
} from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/simulated-service.ts';
import { startExporter, toResponse, toSimulated } from '../support/exporter-process.ts';
import { branchRecords } from '../support/ground-truth.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { panelQuery } from './support/panel-query.ts';
import type { Reader } from './support/panel-query.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus, Sample } from './support/prometheus.ts';
import { blocksFromFiles } from './support/promtool.ts';

const LIMIT_MS = 300_000;
/** Monday, 23 November 2026, 15:35 in Copenhagen. */
const NOW_MS = Date.UTC(2026, 10, 23, 14, 35);
/** Windows of branches are over until then. */
const QUARTER_MS = Date.UTC(2026, 10, 23, 14, 30);
const TODAY_MS = Date.UTC(2026, 10, 23, 3);
const NIGHT_MS = Date.UTC(2026, 10, 23, 1, 35);
const NOVEMBER_MS = Date.UTC(2026, 10, 1, 3);
const DEAD_MS = NOW_MS - 25 * HOUR_MS;
/** The service does not answer for `failing` any more, nor exporter b at all. */
const FAILED_MS = NOW_MS - 20 * MINUTE_MS;
/** Polled so long before the values are looked at. */
const POLLED_MS = 40 * MINUTE_MS;
const STEP_MS = 5 * MINUTE_MS;
/** What is polled is so old at most. */
const DELAY_MS = 2 * MINUTE_MS;

function library(id: number, name: string, branches: readonly string[], dead = false): Library {
  const drawn = branches.map((branch, i) => ({ id: id * 10 + i, name: branch }));
  const devices = drawn.flatMap((branch) => drawDevices(seededRandom(id), branch, 1));
  return drawLibrary(1, id, {
    name,
    timezone: 'Europe/Copenhagen',
    region: id % 2 === 0 ? 'north' : 'south',
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
  library(4, 'failing', ['Failing']),
];
const BRANCHES = ['20', '21', '22'];

function serviceAt(clock: VirtualClock) {
  return createSimulatedService({
    seed: 1,
    clock,
    conventions: { ...plainConventions, retentionMs: Infinity },
    historyMs: 60 * DAY_MS,
    customers: LIBRARIES.map((one) => ({
      library: one,
      clientId: one.name,
      clientSecret: 'secret',
    })),
  });
}

const service = serviceAt(new VirtualClock(NOW_MS));
const folder = mkdtempSync(join(tmpdir(), 'dashboards-truth-'));
let prometheus: Prometheus;

/** A line of the history, with its time. */
type Line = readonly [atMs: number, series: string, value: number];

beforeAll(async () => {
  const lines = [
    ...(await scrapes(NIGHT_MS)),
    ...(await scrapes(NOW_MS)),
    ...exporters(),
    ...past(),
    ...months(),
  ].toSorted(([a], [b]) => a - b);
  const text = lines.map(([atMs, series, value]) => `${series} ${value} ${atMs / 1_000}\n`);
  const [history, blocks] = [join(folder, 'history'), join(folder, 'blocks')];
  mkdirSync(history);
  writeFileSync(join(history, 'all.om'), `${text.join('')}# EOF\n`);
  await blocksFromFiles(history, blocks);
  prometheus = await startPrometheus({}, { blocks });
}, LIMIT_MS);

afterAll(async () => {
  await prometheus?.stop();
  rmSync(folder, { recursive: true });
});

/** The scrapes of an exporter that was started some time before the instant, without those of its start. */
async function scrapes(endMs: number): Promise<readonly Line[]> {
  const clock = new VirtualClock(endMs - POLLED_MS);
  const source = serviceAt(clock);
  const path = join(folder, `${endMs}.yaml`);
  const settings = { breakdowns: ['branch', 'device'] as const };
  writeFileSync(path, exporterConfigYaml(source, 'http://127.0.0.1:9', settings));
  const { config } = await loadConfig({ path, env: {} });
  const exporter = startExporter(config, {
    clock,
    random: seededRandom(1),
    log: silentLogger,
    marks: new HighWaterMarks(),
    exchange: (request) => {
      const simulated = toSimulated(request);
      return source.customerOf(simulated) === 'failing' && clock.nowMs() > FAILED_MS
        ? Promise.reject(new ServiceError('unreachable', 'no answer'))
        : Promise.resolve(toResponse(source.handle(simulated)));
    },
    observer: { pollEnded() {}, changed() {} },
  });
  const lines: Line[] = [];
  while (clock.nowMs() < endMs) {
    await clock.advance(STEP_MS);
    lines.push(...linesOf(exporter.scrape(), clock.nowMs()));
  }
  return lines.filter(([atMs]) => atMs >= endMs - 3 * STEP_MS);
}

/** The samples of a scrape, as Prometheus labels them. */
function linesOf(scrape: string, atMs: number): readonly Line[] {
  return scrape.split('\n').flatMap((line) => {
    const [, series, value] = /^(\w+\{.*)\} (\S+)$/.exec(line) ?? [];
    return series === undefined
      ? []
      : [[atMs, `${series},job="library",instance="a"}`, Number(value)]];
  });
}

/** Exporter a answers, b did until it failed; their own metrics are not part of the scrapes here. */
function exporters(): readonly Line[] {
  return Array.from({ length: 12 }, (_, i) => NOW_MS - i * STEP_MS).flatMap((atMs): Line[] => {
    const isAnswering = atMs < FAILED_MS;
    const info = 'library_exporter_build_info{version="1",job="library"';
    return [
      [atMs, 'up{job="library",instance="a"}', 1],
      [atMs, 'up{job="library",instance="b"}', isAnswering ? 1 : 0],
      [atMs, 'up{job="node",instance="c"}', 0],
      [atMs, `${info},instance="a"}`, 1],
      ...(isAnswering ? [[atMs, `${info},instance="b"}`, 1] as const] : []),
    ];
  });
}

/** What was scraped weeks ago. */
function past(): readonly Line[] {
  const well = 'customer="well",job="library",instance="a"';
  return [
    [NOW_MS - 365 * DAY_MS, `library_people_entered_total{${well}}`, 4_321],
    [NOW_MS - 7 * DAY_MS, `library_logins_today{${well}}`, 77],
    [NOW_MS - 167 * HOUR_MS, `library_occupancy_usual_people{${well}}`, 66],
  ];
}

/** Recordings of two months and three sites, every four hours; of one branch only the first days of October. */
function months(): readonly Line[] {
  const sites = [
    'customer="well"',
    'customer="branched",branch="20"',
    'customer="branched",branch="21"',
  ];
  const spans = [
    ['2026-10', Date.UTC(2026, 9, 1, 4), [31, 31, 10]],
    ['2026-11', Date.UTC(2026, 10, 1, 4), [22, 22, 22]],
  ] as const;
  return spans.flatMap(([month, startMs, days]) =>
    sites.flatMap((site, i) =>
      Array.from({ length: 6 * (days[i] ?? 0) }, (_, n): Line[] => {
        const atMs = startMs + 4 * n * HOUR_MS;
        const labels = `{${site},month="${month}"}`;
        const missed = month === '2026-10' && i === 1 && n < 20 ? 5 * n : 0;
        return [
          [atMs, `customer_branch_month:library_people_entered:total${labels}`, (i + 1) * n],
          [atMs, `customer_branch_month:library_people_missed:max${labels}`, missed],
        ];
      }).flat(),
    ),
  );
}

type PanelName = Parameters<typeof panelQuery>[0];

const TODAY: Reader = { fromMs: TODAY_MS, atMs: NOW_MS };
const YEAR: Reader = { fromMs: Date.UTC(2026, 0, 1), atMs: NOW_MS };
const WELL = { customer: 'well' };

async function valuesOf(panel: PanelName, reader: Reader): Promise<readonly Sample[]> {
  return prometheus.query(panelQuery(panel, reader), reader.atMs);
}

async function valueOf(
  panel: PanelName,
  reader: Reader = TODAY,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const samples = await valuesOf(panel, reader);
  const found = samples.find((one) =>
    Object.entries(labels).every(([name, value]) => one.labels[name] === value),
  );
  return found?.value ?? NaN;
}

/** Entries of a library until an instant, as they were known then. */
function entered(customer: string, fromMs: number, toMs = NOW_MS): number {
  return service.groundTruth(customer, fromMs, toMs).entered;
}

/** Entries of a branch of `branched`, and people who had not left. */
function passedIn(branch: string, fromMs: number, toMs: number) {
  const records = branchRecords(service, 'branched', fromMs, fromMs, NOW_MS).filter(
    ({ branchId, windowMs }) => String(branchId) === branch && windowMs < toMs,
  );
  const came = sum(records.map((record) => record.entered));
  return { entered: came, inside: came - sum(records.map((record) => record.exited)) };
}

/** Expects a number between that of the oldest values that may be shown, and that of now. */
function expectBetween(value: number, [oldest, newest]: readonly [number, number]): void {
  expect(value).toBeGreaterThanOrEqual(oldest);
  expect(value).toBeLessThanOrEqual(newest);
}

test('each branch has its own row, with what its doors counted', async () => {
  for (const branch of BRANCHES) {
    const row = { customer: 'branched', branch };
    const [oldest, newest] = [QUARTER_MS, NOW_MS].map((toMs) => passedIn(branch, TODAY_MS, toMs));
    const today = await valueOf(['overview', 'Branches', 'Today'], TODAY, row);
    expectBetween(today, [oldest?.entered ?? NaN, newest?.entered ?? NaN]);
    const inside = await valueOf(['overview', 'Branches', 'Inside'], TODAY, row);
    expect(Math.abs(inside - (newest?.inside ?? NaN))).toBeLessThan(10);
    const share = await valueOf(['overview', 'Branches', 'Of capacity'], TODAY, row);
    // A third of 200, rounded up.
    expect(share).toBeCloseTo(inside / 67);
    expect(await valueOf(['overview', 'Branches', 'Open'], TODAY, row)).toBe(1);
  }
  const rows = await valuesOf(['overview', 'Branches', ''], TODAY);
  const names = rows.map(({ labels: { name, branch } }) => `${branch ?? ''} ${name ?? ''}`);
  expect(names.toSorted()).toEqual([' ', ' ', ' ', '20 Centre', '21 North', '22 Harbour']);
});

test('today and the last hour are what was counted, and usual is near the mean of the same weekdays', async () => {
  const today = await valueOf(['overview', 'Branches', 'Today'], TODAY, WELL);
  expectBetween(today, [entered('well', TODAY_MS, NOW_MS - DELAY_MS), entered('well', TODAY_MS)]);
  const hour = await valueOf(['overview', 'Branches', 'Last hour'], TODAY, WELL);
  const inHour = entered('well', NOW_MS - HOUR_MS);
  expect(Math.abs(hour - inHour)).toBeLessThanOrEqual(5);
  const usual = [1, 2, 3, 4].map((weeks) => {
    const ago = weeks * 7 * DAY_MS;
    return entered('well', TODAY_MS - ago, NOW_MS - ago);
  });
  const shown = await valueOf(['overview', 'Branches', 'Usual'], TODAY, WELL);
  expect(Math.abs(shown / mean(usual) - 1)).toBeLessThan(0.15);
});

test('sums are of the branches whose counts are right and new, also of what is usual', async () => {
  const trusted = [[entered('well', TODAY_MS, NOW_MS - DELAY_MS), entered('well', TODAY_MS)]];
  for (const branch of BRANCHES) {
    trusted.push([QUARTER_MS, NOW_MS].map((toMs) => passedIn(branch, TODAY_MS, toMs).entered));
  }
  const [oldest = [], newest = []] = [0, 1].map((i) => trusted.map((range) => range[i] ?? NaN));
  const today = await valueOf(['overview', 'Entries today', 'entries']);
  expectBetween(today, [sum(oldest), sum(newest)]);
  for (const [column, title, name] of [
    ['Usual', 'Entries today', 'usual'],
    ['Inside', 'People inside', 'inside'],
    ['Last hour', 'Entries, last hour', 'entries'],
  ] as const) {
    const rows = await valuesOf(['overview', 'Branches', column], TODAY);
    const ofTrusted = rows.filter(
      ({ labels }) => labels['customer'] === 'well' || labels['customer'] === 'branched',
    );
    expect(ofTrusted).toHaveLength(4);
    expect(await valueOf(['overview', title, name])).toBeCloseTo(
      sum(ofTrusted.map(({ value }) => value)),
    );
  }
  expect(await valueOf(['overview', 'Number of branches', 'all'])).toBe(6);
  expect(await valueOf(['overview', 'Number of branches', 'right'])).toBe(4);
  expect(await valueOf(['overview', 'Number of branches', 'open'])).toBe(6);
});

test('curves leave out whoever is not trusted at their end, and what is usual is of the same branches', async () => {
  const names = ['entries', 'usual'].map((name) =>
    valueOf(['overview', 'Entries within an hour, against usual', name]),
  );
  const stats = ['entries', 'usual'].map((name) =>
    valueOf(['overview', 'Entries, last hour', name]),
  );
  expect(await Promise.all(names)).toEqual(await Promise.all(stats));
  const inside = await valueOf(['overview', 'People inside, against usual', 'inside']);
  expect(inside).toBe(await valueOf(['overview', 'People inside']));
  const usual = await prometheus.query(
    'sum(library_occupancy_usual_people{customer=~"well|branched"})',
    NOW_MS,
  );
  const shown = await valueOf(['overview', 'People inside, against usual', 'usual']);
  expect(shown).toBeCloseTo(usual[0]?.value ?? NaN);
});

test('a dead door and failing polls are problems, since then, with about as many missed as are usual', async () => {
  expect(await valueOf(['overview', 'Problems'])).toBe(2);
  function since(problem: string, customer: string): Promise<number> {
    return valueOf(['overview', 'Needs attention', 'Since'], TODAY, { customer, problem });
  }
  const sinceDead = await since('nobody_counted', 'dead');
  expectBetween(sinceDead, [DEAD_MS - HOUR_MS, DEAD_MS]);
  expectBetween(await since('polls_failing', 'failing'), [FAILED_MS - DELAY_MS, FAILED_MS]);
  const missed = await valuesOf(['overview', 'Needs attention', 'Missed'], TODAY);
  expect(missed.map(({ labels }) => labels)).toEqual([
    { customer: 'dead', problem: 'nobody_counted' },
  ]);
  const weeks = [1, 2, 3].map((week) => week * 7 * DAY_MS);
  const usual = weeks.map((ago) => entered('dead', DEAD_MS - ago, NOW_MS - HOUR_MS - ago));
  expect(Math.abs((missed[0]?.value ?? NaN) / mean(usual) - 1)).toBeLessThan(0.25);
});

test('an exporter that does not answer is one, and libraries whose polls fail are listed', async () => {
  expect(await valueOf(['overview', 'Exporters down'])).toBe(1);
  const exporterPanel = ['exporter', 'Exporters that do not answer'] as const;
  expect(await valueOf([...exporterPanel, 'do not answer'])).toBe(1);
  expect(await valueOf([...exporterPanel, 'of'])).toBe(2);
  const last = await valueOf(['exporter', 'Exporters', 'Last answer'], TODAY, { instance: 'b' });
  expectBetween(last, [FAILED_MS - STEP_MS, FAILED_MS]);
  expect(await valueOf(['exporter', 'Libraries whose polls fail', 'fail'])).toBe(1);
  expect(await valueOf(['exporter', 'Libraries whose polls fail', 'of'])).toBe(4);
});

test('the screen at the entrance says closed, how busy it is, or that it is not known', async () => {
  const busy = ['now', 'How busy is it? $customer ${branch:text}'] as const;
  const well = { ...TODAY, customer: 'well', branch: '' };
  const inside = await valueOf(['now', 'People inside now'], well);
  expect(inside).toBe(await valueOf(['overview', 'Branches', 'Inside'], TODAY, WELL));
  expect(await valueOf([...busy, 'busy'], well)).toBeCloseTo(inside / 200);
  expect(await valuesOf([...busy, 'closed'], well)).toEqual([]);
  expect(await valueOf(['now', 'Usually inside', 'in an hour'], well)).toBe(66);
  const dead = { ...well, customer: 'dead' };
  for (const name of ['busy', 'closed']) {
    expect(await valuesOf([...busy, name], dead)).toEqual([]);
  }
  expect(await valuesOf(['now', 'People inside now'], dead)).toEqual([]);
  const night = { ...well, atMs: NIGHT_MS };
  expect(await valuesOf([...busy, 'busy'], night)).toEqual([]);
  expect(await valueOf([...busy, 'closed'], night)).toBe(0);
  expect(await valueOf(['now', 'People inside now'], night)).toBe(0);
});

test('a library has its capacity, logins, doors, and the hour by its own clock', async () => {
  const reader = { ...TODAY, customer: 'well' };
  expect(await valueOf(['customer', 'People inside', 'capacity'], reader)).toBe(200);
  const logins = [NOW_MS - DELAY_MS, NOW_MS].map(
    (toMs) => service.groundTruth('well', TODAY_MS, toMs).logins,
  );
  const today = await valueOf(['customer', 'Logins today', 'today'], reader);
  expectBetween(today, [logins[0] ?? NaN, logins[1] ?? NaN]);
  expect(await valueOf(['customer', 'Logins today', 'a week ago'], reader)).toBe(77);
  const devices = service.breakdownTotals('well', 'device', TODAY_MS);
  for (const [device, { entered: newest }] of [...devices].filter(([, one]) => one.entered > 0)) {
    const row = { device: String(device) };
    const shown = await valueOf(['customer', 'Door counters', 'Entries today'], reader, row);
    expectBetween(shown, [newest - 10, newest]);
    const last = await valueOf(['customer', 'Door counters', 'Last count'], reader, row);
    expectBetween(last, [NOW_MS - HOUR_MS, NOW_MS]);
  }
  const hours = ['customer', 'Entries by hour and weekday'] as const;
  expect(await valueOf([...hours, 'weekday'], reader)).toBe(0);
  expect(await valueOf([...hours, 'hour'], reader)).toBe(15);
});

test('months are their last recordings, those of branches have their names and missing counts', async () => {
  const total = ['statistics', 'Entries by month'] as const;
  const october = { month: '2026-10' };
  const last = 31 * 6 - 1;
  expect(await valueOf(total, YEAR, { ...WELL, ...october })).toBe(last);
  const branched = { customer: 'branched', ...october };
  expect(await valueOf(total, YEAR, branched)).toBe(2 * last + 3 * (10 * 6 - 1));
  const entries = ['statistics', 'Months of branches', 'Entries'] as const;
  expect(await valueOf(entries, YEAR, { ...branched, name: 'Centre' })).toBe(2 * last);
  const days = ['statistics', 'Months of branches', 'Days recorded'] as const;
  expect(await valueOf(days, YEAR, { ...branched, branch: '21' })).toBe(10);
  const missing = await valuesOf(['statistics', 'Months with missing counts'], YEAR);
  expect(missing).toMatchObject([{ labels: { ...branched, name: 'Centre' }, value: 95 }]);
});

test('the month to date is compared with the same days of the last year, where there are both', async () => {
  const panel = ['statistics', 'Entries, month to date'] as const;
  const thisYear = await valueOf([...panel, 'this year'], YEAR);
  expectBetween(thisYear, [
    entered('well', NOVEMBER_MS, NOW_MS - DELAY_MS),
    entered('well', NOVEMBER_MS),
  ]);
  expect(await valueOf([...panel, 'last year'], YEAR)).toBe(4_321);
  expect(await valueOf([...panel, 'libraries'], YEAR)).toBe(1);
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
