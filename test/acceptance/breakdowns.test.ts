/** CONTRACT.md, section 4: people by branch, client and device. */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { dayStartsAt, exact, expectCountersExact } from './expected.ts';
import type { Exposition, Sample } from './exposition.ts';
import { Harness } from './harness.ts';
import type { LedgerRecord } from './ledger.ts';
import { dayMs, dayStart, hourMs, periodStart } from './local-time.ts';

const harness = new Harness();
const whole = harness.addCustomer('whole');
const plain = harness.addCustomer('plain');
const forced = harness.addCustomer('forced', { forceAboveRows: 1, forcedTo: 'day' });
const breakdowns = ['branch', 'client', 'device'] as const;
const BRANCHES = 'library_branch_people_entered_total';
let daemon: Daemon;
let lastRecord: LedgerRecord;

function write(settings: object = {}): string {
  return harness.configure([whole, plain, forced], {
    polling: { breakdown_interval: '1s' },
    customers: {
      whole: { breakdowns, branches: { 101: 'Main Library', 7: 'Old Town' }, ...settings },
      forced: { breakdowns: ['branch'] },
    },
  });
}

beforeAll(async () => {
  // Without logins in between, consecutive records are of different branches.
  for (const hours of [300, 30, 3]) {
    const counts = { in: hours, out: 2 };
    forced.ledger.add('people', counts, Date.now() - hours * hourMs);
    lastRecord = whole.ledger.add('people', counts, Date.now() - hours * hourMs);
  }
  daemon = await harness.start(write(), ['--web.enable-lifecycle']);
});

function ofWhole(exposition: Exposition, name: string): readonly Sample[] {
  return exposition.all(name).filter(({ labels }) => labels['customer'] === 'whole');
}

/** The ledger's sum of each branch, client or device since an instant. */
function sumsOf(
  breakdown: (typeof breakdowns)[number],
  side: 'in' | 'out',
  sinceMs: number,
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const record of whole.ledger.records.filter(({ stream }) => stream === 'people')) {
    const key = record[breakdown];
    sums[key] = (sums[key] ?? 0) + (record.eventMs > sinceMs ? record[side] : 0);
  }
  return sums;
}

/** The values of a breakdown by key. */
function shown(
  exposition: Exposition,
  breakdown: (typeof breakdowns)[number],
  metric: string,
  counter?: string,
): Readonly<Record<string, number>> {
  const samples = ofWhole(exposition, `library_${breakdown}_${metric}`).filter(
    ({ labels }) => counter === undefined || labels['counter'] === counter,
  );
  return Object.fromEntries(samples.map(({ labels, value }) => [labels[breakdown], value]));
}

/** Waits until totals without excess and today's values are those of the ledger. */
async function settled(): Promise<Exposition> {
  let exposition = await daemon.scrape();
  await eventually(async () => {
    exposition = await daemon.scrape();
    const periodMs = periodStart(Date.now(), harness.zone, dayStartsAt);
    const dayMs = dayStart(Date.now(), harness.zone, dayStartsAt);
    for (const breakdown of breakdowns) {
      for (const [counter, side] of [
        ['people_entered', 'in'],
        ['people_exited', 'out'],
      ] as const) {
        const excess = shown(exposition, breakdown, 'counter_excess', counter);
        const totals = Object.entries(shown(exposition, breakdown, `${counter}_total`));
        expect(
          Object.fromEntries(totals.map(([key, total]) => [key, total - (excess[key] ?? NaN)])),
        ).toEqual(sumsOf(breakdown, side, periodMs));
        expect(shown(exposition, breakdown, `${counter}_today`)).toEqual(
          sumsOf(breakdown, side, dayMs),
        );
      }
    }
  });
  return exposition;
}

test('every breakdown is exact, with late records, and is a stream of its own', async () => {
  await settled();
  whole.ledger.add('people', { in: 3, out: 1 }, Date.now() - 3 * dayMs);
  whole.ledger.add('people', { in: 2, out: 5 });
  const exposition = await settled();
  for (const stream of breakdowns) {
    const labels = { customer: 'whole', stream };
    expect(exposition.value('library_up', labels)).toBe(1);
    expect(exposition.value('library_poll_failures_total', labels)).toBe(0);
  }
  await exact(daemon, plain);
});

test('branches have names and an occupancy', async () => {
  const exposition = await settled();
  const infos = ofWhole(exposition, 'library_branch_info').map(({ labels }) => labels);
  expect(infos.map(({ branch, name }) => [branch, name])).toEqual([
    ['7', 'Old Town'],
    ['101', 'Main Library'],
    ['102', '102'],
  ]);
  const startMs = dayStart(Date.now(), harness.zone, dayStartsAt);
  const exited = sumsOf('branch', 'out', startMs);
  const inside = Object.entries(sumsOf('branch', 'in', startMs)).map(([branch, entered]) => [
    branch,
    Math.max(0, entered - (exited[branch] ?? NaN)),
  ]);
  expect(Object.entries(shown(exposition, 'branch', 'occupancy_people'))).toEqual(inside);
});

test('a forced aggregation fails the poll of the breakdown alone', async () => {
  const labels = { customer: 'forced', stream: 'branch' };
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expect(exposition.value('library_up', labels)).toBe(0);
    const reason = { stream: 'branch', reason: 'malformed' };
    expect(exposition.value('library_exporter_poll_failures_total', reason)).toBeGreaterThan(0);
    const branches = exposition.all(BRANCHES).map((sample) => sample.labels['customer']);
    expect(branches).not.toContain('forced');
    expectCountersExact(exposition, 'forced', forced.ledger);
  });
});

test('keeps a counter when its total falls, over a restart, too', async () => {
  const branch = String(lastRecord.branch);
  const excess = { customer: 'whole', branch, counter: 'people_entered' };
  await settled();
  lastRecord.in -= 2;
  expect((await settled()).value('library_branch_counter_excess', excess)).toBe(2);
  await harness.stop(daemon);
  daemon = await harness.start(write(), ['--web.enable-lifecycle']);
  expect((await settled()).value('library_branch_counter_excess', excess)).toBe(2);
});

test('a reload that removes and adds breakdowns changes no counter', async () => {
  const before = await settled();
  write({ breakdowns: ['device'] });
  expect((await daemon.reload()).status).toBe(200);
  const without = await daemon.scrape();
  expect(ofWhole(without, BRANCHES)).toEqual([]);
  expect(without.value('library_up', { customer: 'whole', stream: 'branch' })).toBeUndefined();
  for (const name of ['library_device_people_entered_total', 'library_people_entered_total']) {
    expect(ofWhole(without, name)).toEqual(ofWhole(before, name));
  }
  write({ branches: { 102: 'West Branch' } });
  expect((await daemon.reload()).status).toBe(200);
  const again = await settled();
  expect(ofWhole(again, BRANCHES)).toEqual(ofWhole(before, BRANCHES));
  const name = { customer: 'whole', branch: '102', name: 'West Branch' };
  expect(again.value('library_branch_info', name)).toBe(1);
});
