/**
 * Whatever the interface leaves open (DESIGN, section 2) leaves the counters exact. Every case is a
 * customer of one daemon, so that what is learnt of one would show if it were assumed of another.
 */
import { beforeAll, expect, test } from 'vitest';
import { Daemon, eventuallyBy, writeConfig } from './daemon.ts';
import type { Conventions, Ledger } from './ledger.ts';
import {
  afternoonZone,
  clockFromNow,
  dayMs,
  dayStart,
  periodStart,
  hourMs,
  minuteMs,
} from './local-time.ts';
import { stage } from './stage.ts';
import {
  addOld,
  dayStartsAt,
  expectCountersExact,
  expectNoSecret,
  expectTodayExact,
  fillHistory,
} from './world.ts';

const { service, workspace, monitor } = stage();
const zone = afternoonZone(Date.now());
let daemon: Daemon;
let deadlineMs = Infinity;

const table: Readonly<Record<string, Partial<Conventions>>> = {
  'as the document says': {},
  'zeros listed': { zeros: true },
  'edges taken in, times in whole minutes': { fromEdge: 'at', resolutionMs: minuteMs },
  'edges left out, times in whole minutes': { fromEdge: 'after', resolutionMs: minuteMs },
  'from means arrival': { fromMeans: 'arrival' },
  'day lags': { lagging: ['day'] },
  'day and quarter lag': { lagging: ['day', 'quarter'] },
  'day snaps to whole days': { daySnaps: true },
  'day lags and snaps': { lagging: ['day'], daySnaps: true },
  'quarter is three months': { quarter: 'three months' },
  'quarter is three months, day lags': { quarter: 'three months', lagging: ['day'] },
  'above 40 rows day is forced': { forceAboveRows: 40, forcedTo: 'day' },
  'above 40 rows quarter is forced': { forceAboveRows: 40, forcedTo: 'quarter' },
  'devices are ahead': { aheadMs: 3 * minuteMs },
};

const cases = Object.entries(table).map(([convention, conventions], index) => ({
  convention,
  customer: service.addCustomer(`case-${index}`, zone, conventions),
}));

// Where the designator is ignored it is unknown which instants the daemon's windows mean; so these
// have a zone near to UTC, and nothing is counted for hours around the edges of day and month.
const nearZone = 'Etc/GMT-2';
const nearDayStartsAt = `${clockFromNow(nearZone, -9 * 60).slice(0, 2)}:00`;
const designatorCases = (['read as UTC', 'read as local'] as const).map((designator, index) => ({
  convention: `the designator of from is ignored, ${designator}`,
  customer: service.addCustomer(`designator-${index}`, nearZone, { designator }),
}));

function fillBusily(ledger: Ledger): void {
  fillHistory(ledger);
  const today = dayStart(Date.now(), zone, dayStartsAt);
  for (let minute = 0; minute < 60; minute += 1) {
    addOld(ledger, today + 4 * hourMs + minute * minuteMs, 1, minute % 3 === 0 ? 2 : 0);
  }
  // At night: a day that is snapped to midnight would take these in.
  addOld(ledger, today - 90 * minuteMs, 3, 3);
  addOld(ledger, periodStart(Date.now(), zone, dayStartsAt) - 90 * minuteMs, 7, 7);
}

function fillFarFromEdges(ledger: Ledger): void {
  const nowMs = Date.now();
  const today = dayStart(nowMs, nearZone, nearDayStartsAt);
  const epoch = periodStart(nowMs, nearZone, nearDayStartsAt);
  for (let at = epoch + 8 * hourMs; at < today - 6 * hourMs; at += dayMs) {
    addOld(ledger, at, 12, 9);
  }
  for (const minutes of [100, 50, 12, 4]) {
    addOld(ledger, nowMs - minutes * minuteMs, 6, 3);
  }
}

beforeAll(async () => {
  await service.start();
  for (const { customer } of cases) {
    fillBusily(customer.ledger);
  }
  for (const { customer } of designatorCases) {
    fillFarFromEdges(customer.ledger);
  }
  const customers = [...cases, ...designatorCases].map(({ customer }) => customer);
  const near = designatorCases.map(({ customer }) => [
    customer.name,
    { day_starts_at: nearDayStartsAt },
  ]);
  const configFile = writeConfig(workspace, service, customers, {
    polling: { reconcile_interval: '3s' },
    customers: Object.fromEntries(near) as Record<string, object>,
  });
  daemon = await Daemon.start(workspace, configFile);
  monitor.watch(daemon);
  deadlineMs = Date.now() + 25_000;
});

async function exact(customer: string, ledger: Ledger, startsAt: string): Promise<void> {
  await eventuallyBy(deadlineMs, async () => {
    const exposition = await daemon.scrape();
    expectCountersExact(exposition, customer, ledger, startsAt);
    expectTodayExact(exposition, customer, ledger, startsAt);
  });
}

const all = [
  ...cases.map((row) => ({ ...row, startsAt: dayStartsAt })),
  ...designatorCases.map((row) => ({ ...row, startsAt: nearDayStartsAt })),
];

test.each(all)('$convention: exact at first', async ({ customer, startsAt }) => {
  await expect(exact(customer.name, customer.ledger, startsAt)).resolves.toBeUndefined();
});

test('more is counted everywhere, new and late', async () => {
  for (const { customer } of all) {
    const { ledger } = customer;
    ledger.add('people', { in: 4, out: 1 });
    ledger.add('logins', { in: 2 });
    ledger.add('people', { in: 2, out: 3 }, Date.now() - 70 * minuteMs);
  }
  deadlineMs = Date.now() + 25_000;
  expect(all.length).toBeGreaterThan(10);
  await expectNoSecret(daemon, service);
});

test.each(all)('$convention: exact after more', async ({ customer, startsAt }) => {
  await expect(exact(customer.name, customer.ledger, startsAt)).resolves.toBeUndefined();
});

test('no counter fell or began with 0, and the rules of the interface were kept', () => {
  expect(monitor.violations).toEqual([]);
  expect(service.violations).toEqual([]);
});
