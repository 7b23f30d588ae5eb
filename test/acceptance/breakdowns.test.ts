/** CONTRACT.md, section 4: people by branch, client and device. */
import { beforeAll, expect, test } from 'vitest';
import { eventually, writeConfig } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { dayStartsAt, exact, expectCountersExact, fillHistory } from './expected.ts';
import type { Exposition, Sample } from './exposition.ts';
import { Harness } from './harness.ts';
import type { LedgerRecord } from './ledger.ts';
import { afternoonZone, dayMs, dayStart, hourMs, periodStart } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
const zone = afternoonZone(Date.now());
const whole = service.addCustomer('whole', zone);
const plain = service.addCustomer('plain', zone);
const forced = service.addCustomer('forced', zone, { forceAboveRows: 1, forcedTo: 'day' });
const breakdowns = ['branch', 'client', 'device'] as const;
const BRANCHES = 'library_branch_people_entered_total';
let daemon: Daemon;
let lastRecord: LedgerRecord;

function write(settings: object = {}): string {
  return writeConfig(workspace, service, [whole, plain, forced], {
    polling: { breakdown_interval: '1s' },
    customers: {
      whole: { breakdowns, branches: { 101: 'Main Library', 7: 'Old Town' }, ...settings },
      forced: { breakdowns: ['branch'] },
    },
  });
}

beforeAll(async () => {
  for (const { ledger } of [whole, plain, forced]) {
    fillHistory(ledger);
    // Without logins in between, consecutive records are of different branches.
    for (const hours of [3, 30, 300]) {
      ledger.add('people', { in: hours, out: 2 }, Date.now() - hours * hourMs);
    }
  }
  lastRecord = whole.ledger.add('people', { in: 6, out: 2 }, Date.now() - 2 * hourMs);
  daemon = await harness.start(write(), ['--web.enable-lifecycle']);
});

function ofWhole(exposition: Exposition, name: string): readonly Sample[] {
  return exposition.all(name).filter(({ labels }) => labels['customer'] === 'whole');
}

/** The ledger's sum of one branch, client or device since an instant. */
function sumOf(
  breakdown: (typeof breakdowns)[number],
  key: number,
  side: 'in' | 'out',
  sinceMs: number,
): number {
  return whole.ledger.records
    .filter((one) => one.stream === 'people' && one.eventMs > sinceMs && one[breakdown] === key)
    .reduce((sum, record) => sum + record[side], 0);
}

function expectBreakdownsExact(exposition: Exposition): void {
  const period = periodStart(Date.now(), zone, dayStartsAt);
  const day = dayStart(Date.now(), zone, dayStartsAt);
  for (const breakdown of breakdowns) {
    const numbers = new Set(whole.ledger.records.map((record) => record[breakdown]));
    const keys = [...numbers].toSorted((a, b) => a - b);
    for (const [counter, side] of [
      ['people_entered', 'in'],
      ['people_exited', 'out'],
    ] as const) {
      const totals = ofWhole(exposition, `library_${breakdown}_${counter}_total`).map(
        ({ labels, value }) => {
          const excess = { ...labels, counter };
          return value - (exposition.value(`library_${breakdown}_counter_excess`, excess) ?? NaN);
        },
      );
      expect(totals).toEqual(keys.map((key) => sumOf(breakdown, key, side, period)));
      const today = ofWhole(exposition, `library_${breakdown}_${counter}_today`);
      expect(today.map(({ labels, value }) => [labels[breakdown], value])).toEqual(
        keys.map((key) => [String(key), sumOf(breakdown, key, side, day)]),
      );
    }
  }
}

async function settled(): Promise<Exposition> {
  let exposition = await daemon.scrape();
  await eventually(async () => {
    exposition = await daemon.scrape();
    expectBreakdownsExact(exposition);
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
    expect(exposition.value('library_polls_total', labels)).toBeGreaterThan(0);
    expect(exposition.value('library_poll_failures_total', labels)).toBe(0);
  }
  await exact(daemon, plain);
});

test('every family has its type and labels', async () => {
  const exposition = await settled();
  const families = [...exposition.type]
    .filter(([name]) => /^library_(branch|client|device|breakdown)_/.test(name))
    .map(([name, type]) => {
      const labels = exposition.all(name).flatMap((sample) => Object.keys(sample.labels));
      return `${name} ${type} ${[...new Set(labels)].join()}`;
    });
  const ofAll = breakdowns.flatMap((one) => [
    `library_${one}_people_entered_total counter customer,${one}`,
    `library_${one}_people_exited_total counter customer,${one}`,
    `library_${one}_people_entered_today gauge customer,${one}`,
    `library_${one}_people_exited_today gauge customer,${one}`,
    `library_${one}_counter_excess gauge customer,${one},counter`,
  ]);
  expect(families.toSorted()).toEqual(
    [
      ...ofAll,
      'library_branch_occupancy_people gauge customer,branch',
      'library_branch_info gauge customer,branch,name',
      'library_breakdown_keys_dropped gauge customer,stream',
    ].toSorted(),
  );
});

test('branches have names and an occupancy', async () => {
  const exposition = await settled();
  const names = ofWhole(exposition, 'library_branch_info').map(({ labels }) => [
    labels['branch'],
    labels['name'],
  ]);
  expect(names).toEqual([
    ['7', 'Old Town'],
    ['101', 'Main Library'],
    ['102', '102'],
  ]);
  const day = dayStart(Date.now(), zone, dayStartsAt);
  for (const branch of [101, 102]) {
    const labels = { customer: 'whole', branch: String(branch) };
    expect(exposition.value('library_branch_occupancy_people', labels)).toBe(
      Math.max(0, sumOf('branch', branch, 'in', day) - sumOf('branch', branch, 'out', day)),
    );
  }
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
  await settled();
  const excess = {
    customer: 'whole',
    branch: String(lastRecord.branch),
    counter: 'people_entered',
  };
  lastRecord.in -= 4;
  const before = await settled();
  expect(before.value('library_branch_counter_excess', excess)).toBe(4);
  await harness.stop(daemon);
  daemon = await harness.start(write(), ['--web.enable-lifecycle']);
  const after = await settled();
  expect(after.value('library_branch_counter_excess', excess)).toBe(4);
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
