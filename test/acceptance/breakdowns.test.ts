/** People by branch, client and device, from the daemon's own address (CONTRACT, sections 2 and 4). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { flagsFor, launch } from '../limits/child.ts';
import type { Child } from '../limits/child.ts';
import { eventually, writeConfig } from './daemon.ts';
import type { Exposition, Sample } from './exposition.ts';
import type { Ledger, LedgerRecord } from './ledger.ts';
import { afternoonZone, dayMs, dayStart, periodStart, hourMs } from './local-time.ts';
import { stage } from './stage.ts';
import { dayStartsAt, expectCountersExact, expectNoSecret, fillHistory } from './world.ts';

const { service, workspace, monitor } = stage();
const zone = afternoonZone(Date.now());
const whole = service.addCustomer('whole', zone);
const plain = service.addCustomer('plain', zone);
const forced = service.addCustomer('forced', zone, { forceAboveRows: 1, forcedTo: 'day' });
const breakdowns = ['branch', 'client', 'device'] as const;
const BRANCHES = 'library_branch_people_entered_total';
const sides = [
  ['people_entered', 'in'],
  ['people_exited', 'out'],
] as const;
let daemon: Child;
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

async function start(): Promise<void> {
  daemon = await launch(
    workspace,
    flagsFor(workspace, write(), '--web.enable-lifecycle'),
  ).listening();
  monitor.watch(daemon);
}

beforeAll(async () => {
  await service.start();
  for (const { ledger } of [whole, plain, forced]) {
    fillHistory(ledger);
    // One after the other without logins in between, so that they are of different branches.
    for (const hours of [3, 30, 300]) {
      ledger.add('people', { in: hours, out: 2 }, Date.now() - hours * hourMs);
    }
  }
  lastRecord = whole.ledger.add('people', { in: 6, out: 2 }, Date.now() - 2 * hourMs);
  await start();
});

/** What the ledger has of each branch, client or device since an instant. */
function truthOf(ledger: Ledger, breakdown: (typeof breakdowns)[number], sinceMs: number) {
  const records = ledger.records.filter(
    ({ stream, eventMs }) => stream === 'people' && eventMs > sinceMs,
  );
  return (key: string, side: 'in' | 'out') =>
    records
      .filter((record) => String(record[breakdown]) === key)
      .reduce((sum, record) => sum + record[side], 0);
}

/** The samples of the customer that has all breakdowns. */
function ofWhole(exposition: Exposition, name: string): readonly Sample[] {
  return exposition.all(name).filter(({ labels }) => labels['customer'] === 'whole');
}

/** Expects every counter less what it holds, and today's figures, of every key. */
function expectExact(exposition: Exposition): void {
  for (const breakdown of breakdowns) {
    const total = truthOf(whole.ledger, breakdown, periodStart(Date.now(), zone, dayStartsAt));
    const today = truthOf(whole.ledger, breakdown, dayStart(Date.now(), zone, dayStartsAt));
    const numbers = new Set(whole.ledger.records.map((record) => record[breakdown]));
    const keys = [...numbers].toSorted((a, b) => a - b).map(String);
    for (const [kind, side] of sides) {
      const counters = ofWhole(exposition, `library_${breakdown}_${kind}_total`);
      const shown = counters.map(({ labels, value }) => {
        const held = exposition.value(`library_${breakdown}_counter_excess`, {
          ...labels,
          counter: kind,
        });
        return [labels[breakdown], value - (held ?? NaN)];
      });
      expect(shown).toEqual(keys.map((key) => [key, total(key, side)]));
      const ofToday = ofWhole(exposition, `library_${breakdown}_${kind}_today`).map(
        ({ labels, value }) => [labels[breakdown], value],
      );
      expect(ofToday).toEqual(keys.map((key) => [key, today(key, side)]));
    }
  }
}

async function settled(): Promise<Exposition> {
  let exposition: Exposition | undefined;
  await eventually(async () => {
    exposition = await daemon.scrape();
    expectExact(exposition);
    expectCountersExact(exposition, 'plain', plain.ledger);
    expect(ofWhole(exposition, 'library_people_entered_total')).toHaveLength(1);
  });
  return exposition ?? daemon.scrape();
}

test('each is the truth, with late records, as streams of their own', async () => {
  await settled();
  whole.ledger.add('people', { in: 3, out: 1 }, Date.now() - 3 * dayMs);
  whole.ledger.add('people', { in: 2, out: 5 });
  const exposition = await settled();
  for (const stream of breakdowns) {
    const labels = { customer: 'whole', stream };
    expect(exposition.value('library_up', labels)).toBe(1);
    expect(exposition.value('library_polls_total', labels)).toBeGreaterThan(0);
    expect(exposition.value('library_poll_failures_total', labels)).toBe(0);
    expect(exposition.value('library_polls_skipped_total', labels)).toBeDefined();
    const count = exposition.value('library_exporter_poll_duration_seconds_count', { stream });
    expect(count).toBeGreaterThan(0);
  }
});

test('every family has its type, its labels and a help text', async () => {
  const exposition = await daemon.scrape();
  const families = [...exposition.type]
    .filter(([name]) => /^library_(branch|client|device|breakdown)_/.test(name))
    .map(([name, type]) => {
      const labels = exposition.all(name).flatMap((sample) => Object.keys(sample.labels));
      expect(exposition.help.get(name)?.length).toBeGreaterThan(20);
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

test('branches have their names and who is inside', async () => {
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
  const today = truthOf(whole.ledger, 'branch', dayStart(Date.now(), zone, dayStartsAt));
  for (const branch of ['101', '102']) {
    const labels = { customer: 'whole', branch };
    expect(exposition.value('library_branch_occupancy_people', labels)).toBe(
      Math.max(0, today(branch, 'in') - today(branch, 'out')),
    );
  }
});

test('a forced aggregation fails the poll, and says so, and shows nothing', async () => {
  const labels = { customer: 'forced', stream: 'branch' };
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expect(exposition.value('library_up', labels)).toBe(0);
    const reason = { stream: 'branch', reason: 'malformed' };
    expect(exposition.value('library_exporter_poll_failures_total', reason)).toBeGreaterThan(0);
    const shown = exposition
      .all(BRANCHES)
      .filter((sample) => sample.labels['customer'] === 'forced');
    expect(shown).toEqual([]);
    expectCountersExact(exposition, 'forced', forced.ledger);
  });
  const told = daemon.logLines().filter(({ stream }) => stream === 'branch');
  expect(told.map(({ error }) => String(error)).join()).toContain('another aggregation');
});

test('what the service takes back is held, over a kill too', async () => {
  await settled();
  lastRecord.in -= 4;
  await settled();
  const held = {
    customer: 'whole',
    branch: String(lastRecord.branch),
    counter: 'people_entered',
  };
  const before = await daemon.scrape();
  expect(before.value('library_branch_counter_excess', held)).toBe(4);
  const { customer, branch } = held;
  const mark = `"branch_people_entered:${branch}",\\d+,\\d+,${before.value(BRANCHES, { customer, branch })},`;
  await eventually(() => {
    const file = readFileSync(join(workspace.folder, 'data', 'state.json'), 'utf8');
    expect(file).toMatch(new RegExp(mark));
  });
  await monitor.leave();
  daemon.signal('SIGKILL');
  await daemon.exited;
  await start();
  const exposition = await settled();
  expect(exposition.value('library_branch_counter_excess', held)).toBe(4);
});

test('a reload that takes breakdowns away, names branches and brings them back moves no counter', async () => {
  const before = await settled();
  const polls = { customer: 'whole', stream: 'people' };
  write({ breakdowns: ['device'] });
  expect((await daemon.reload()).status).toBe(200);
  const without = await daemon.scrape();
  expect(ofWhole(without, BRANCHES)).toEqual([]);
  expect(without.value('library_up', { customer: 'whole', stream: 'branch' })).toBeUndefined();
  expect(without.all('library_device_people_entered_total')).toEqual(
    before.all('library_device_people_entered_total'),
  );
  expect(ofWhole(without, 'library_people_entered_total')).toEqual(
    ofWhole(before, 'library_people_entered_total'),
  );
  write({ branches: { 102: 'West Branch' } });
  expect((await daemon.reload()).status).toBe(200);
  const again = await settled();
  expect(ofWhole(again, BRANCHES)).toEqual(ofWhole(before, BRANCHES));
  const name = { customer: 'whole', branch: '102', name: 'West Branch' };
  expect(again.value('library_branch_info', name)).toBe(1);
  expect(again.value('library_polls_total', polls)).toBeGreaterThanOrEqual(
    before.value('library_polls_total', polls) ?? NaN,
  );
});

test('no counter fell, no rule of the interface was broken, and no secret was told', async () => {
  await monitor.leave();
  expect(monitor.violations).toEqual([]);
  expect(service.violations).toEqual([]);
  await expectNoSecret(daemon, service);
});
