/** People by branch, client and device (docs/reference/metrics.md#branches-clients-and-devices). */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { dayStartsAt, exact } from './expected.ts';
import type { Exposition } from './exposition.ts';
import { Harness } from './harness.ts';
import { dayMs, dayStart, hourMs, periodStart } from './local-time.ts';

const harness = new Harness();
const whole = harness.addCustomer('whole');
const plain = harness.addCustomer('plain');
const breakdowns = ['branch', 'client', 'device'] as const;
type Breakdown = (typeof breakdowns)[number];
let daemon: Daemon;

beforeAll(async () => {
  // Without logins in between, consecutive records are of different branches.
  for (const hours of [2, 3, 30, 300]) {
    whole.ledger.add('people', { in: hours, out: 2 }, Date.now() - hours * hourMs);
  }
  const config = harness.configure([whole, plain], {
    polling: { breakdown_interval: '1s' },
    customers: { whole: { breakdowns, branches: { 101: 'Main Library', 7: 'Old Town' } } },
  });
  daemon = await harness.start(config);
});

/** The ledger's sum since an instant, of each branch, client or device of the period. */
function sumsOf(breakdown: Breakdown, side: 'in' | 'out', sinceMs: number) {
  const sums: Record<string, number> = {};
  const startMs = periodStart(Date.now(), harness.zone, dayStartsAt);
  const ofPeriod = whole.ledger.records.filter(
    ({ stream, eventMs }) => stream === 'people' && eventMs >= startMs,
  );
  for (const record of ofPeriod) {
    const key = record[breakdown];
    sums[key] = (sums[key] ?? 0) + (record.eventMs > sinceMs ? record[side] : 0);
  }
  return sums;
}

/** The values of a breakdown by key. */
function shown(exposition: Exposition, breakdown: Breakdown, metric: string) {
  // Gauges of buildings have one name, with the label of the branch or without it.
  const isOfBuilding = breakdown === 'branch' && !metric.endsWith('_total');
  const samples = exposition
    .all(`library_${isOfBuilding ? '' : `${breakdown}_`}${metric}`)
    .filter(({ labels }) => labels['customer'] === 'whole');
  return Object.fromEntries(samples.map(({ labels, value }) => [labels[breakdown], value]));
}

/** Waits until totals and today's values are those of the ledger. */
async function settled(): Promise<Exposition> {
  let exposition = await daemon.scrape();
  await eventually(async () => {
    exposition = await daemon.scrape();
    for (const breakdown of breakdowns) {
      for (const [counter, side] of [
        ['people_entered', 'in'],
        ['people_exited', 'out'],
      ] as const) {
        for (const [ending, start] of [
          ['total', periodStart],
          ['today', dayStart],
        ] as const) {
          // A configured building that counted nobody has 0 today, and no total.
          const isOfBuilding = breakdown === 'branch' && ending === 'today';
          expect(shown(exposition, breakdown, `${counter}_${ending}`)).toEqual({
            ...(isOfBuilding && { 7: 0 }),
            ...sumsOf(breakdown, side, start(Date.now(), harness.zone, dayStartsAt)),
          });
        }
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
  await exact(daemon, whole, plain);
});

test('branches have names and an occupancy', async () => {
  const exposition = await settled();
  const infos = exposition.all('library_site_info').map(({ labels }) => labels);
  const named = infos.filter(({ branch }) => branch !== undefined);
  expect(named.map(({ branch, name }) => [branch, name])).toEqual([
    ['7', 'Old Town'],
    ['101', 'Main Library'],
    ['102', '102'],
  ]);
  const todayMs = dayStart(Date.now(), harness.zone, dayStartsAt);
  const exited = sumsOf('branch', 'out', todayMs);
  const branches = Object.entries(sumsOf('branch', 'in', todayMs)).filter(
    ([, entered]) => entered > 0,
  );
  await eventually(async () => {
    const inside = shown(await daemon.scrape(), 'branch', 'occupancy_people');
    for (const [branch, entered] of branches) {
      expect(inside[branch]).toBeGreaterThanOrEqual(entered - (exited[branch] ?? NaN));
    }
  });
});
