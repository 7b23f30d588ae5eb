/** Options of a web server, and customers for the status page. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { NO_ESTIMATE } from '../../src/counting/customer-metrics.ts';
import type {
  BranchMetrics,
  CustomerMetrics,
  OccupancySeries,
  StreamMetrics,
} from '../../src/counting/customer-metrics.ts';
import { inOrder, PROBLEMS } from '../../src/counting/problems.ts';
import type { ProblemKind } from '../../src/counting/problems.ts';
import type { StatusData } from '../../src/web/status-page.ts';
import type { CustomerStatus } from '../../src/web/status-rows.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import { NOW_MS, riverside, streamMetrics } from '../metrics/fixtures.ts';

export function webOptions(changes: Partial<WebServerOptions> = {}): WebServerOptions {
  return {
    listenAddress: '127.0.0.1:0',
    telemetryPath: '/metrics',
    enableLifecycle: true,
    version: '1.2.3',
    clock: systemClock,
    log: silentLogger,
    exposition: (format, gzip) => Promise.resolve([Buffer.from(`${format} gzip=${gzip}\n`)]),
    customers: () => [],
    healthy: () => true,
    ready: () => ({ ready: true, why: '' }),
    status: () => statusOf([customer()]),
    config: () => 'polling:\n  interval: 60s\n',
    reload: () => Promise.resolve({ ok: true }),
    ...changes,
  };
}

export type CustomerChanges = Partial<
  CustomerMetrics & { readonly series: OccupancySeries | undefined }
>;

export function statusOf(customers: readonly CustomerStatus[]): StatusData {
  return { nowMs: NOW_MS, customers, failedReload: undefined, stateFailure: undefined };
}

/** The 28 days were read, and nothing of them is on the page. */
export const KNOWN_PAST = {
  people: 0,
  entries: 0,
  exits: 0,
  entriesLastHour: 0,
  entriesToday: undefined,
  inside: 0,
  openSinceLastSeenMs: undefined,
};

const USUAL_SERIES = seriesOf([0, 0, 7, 31, 42]);

export function customer(changes: CustomerChanges = {}): CustomerStatus {
  const { series, ...metrics } = { series: USUAL_SERIES, ...changes };
  const values = riverside({
    counters: { ...peopleToday(1_321, 279), logins: { total: 1, excess: 0, today: 55 } },
    estimate: NO_ESTIMATE,
    usual: KNOWN_PAST,
    inside: 'occupancy' in metrics ? metrics.occupancy : 42,
    streams: { people: stream() },
    ...metrics,
  });
  const { problems, branches = [] } = values;
  return {
    customer: values.customer,
    health: values.streams,
    problemsAt: () => inOrder([...problems, ...branches.flatMap((one) => one.problems)]),
    metricsAt: () => values,
    occupancySeriesAt: () => series,
    branchNames: new Map(values.branches?.map(({ key, name = key }) => [key, name])),
  };
}

/** Returns the problem of a building or customer for so many hours. */
export function problem(kind: ProblemKind, hours: number, missed?: number) {
  const sinceMs = NOW_MS - hours * HOUR_MS;
  const one = { kind, sinceMs, ...(missed !== undefined && { missed }) };
  return { problems: [one], isTrusted: PROBLEMS[kind].trusted };
}

function stream(changes: Partial<StreamMetrics> = {}): StreamMetrics {
  return streamMetrics({ up: true, lastSuccessMs: NOW_MS - 12_000, polls: 100, ...changes });
}

export function polled(changes: Partial<StreamMetrics>): CustomerChanges {
  return { streams: { people: stream(changes) } };
}

/** Returns a series that starts at 04:00 in Copenhagen. */
function seriesOf(inside: readonly number[]): OccupancySeries {
  const startMs = Date.UTC(2026, 2, 10, 3);
  const day = { startMs, endMs: startMs + DAY_MS };
  return { day, stepMs: 15 * MINUTE_MS, inside, atMs: NOW_MS - 12_000 };
}

function peopleToday(entered: number, exited: number) {
  return {
    people_entered: { total: 9, excess: 0, today: entered },
    people_exited: { total: 9, excess: 0, today: exited },
  };
}

/** A customer that is polled by branch, with the changes of each branch. */
export function withBranches(...changes: readonly Partial<BranchMetrics>[]): CustomerChanges {
  const branches = changes.map((each, i) => ({
    key: String(101 + i),
    capacity: 80,
    open: true,
    staffed: undefined,
    occupancy: 12,
    inside: 'occupancy' in each ? each.occupancy : 12,
    enteredHour: 7,
    problems: [],
    isTrusted: true,
    missed: 0,
    estimate: NO_ESTIMATE,
    usual: KNOWN_PAST,
    counters: peopleToday(321, 309),
    lastSeenMs: NOW_MS - 300_000,
    ...each,
  }));
  return { branches, breakdowns: { branch: { keys: [], droppedKeys: 0 } } };
}

export function numberedBranches(count: number): CustomerChanges {
  return withBranches(...Array.from({ length: count }, (_, i) => ({ name: `branch-${i}` })));
}

export const UNKNOWN: CustomerChanges = {
  open: undefined,
  capacity: undefined,
  occupancy: undefined,
  credentialsValid: undefined,
  counters: {},
  streams: { people: streamMetrics({}) },
  series: undefined,
};

export const CLOSED: CustomerChanges = { open: false, occupancy: 0, series: seriesOf([0, 0]) };

/** Customers of which every tenth has three branches. */
export function manyCustomers(count: number): readonly CustomerStatus[] {
  return Array.from({ length: count }, (_, i) =>
    customer({ ...(i % 10 === 0 && numberedBranches(3)), customer: `riverside-${i}` }),
  );
}
