/** Options of a web server, and customers for the status page. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
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

export function customer(changes: CustomerChanges = {}): CustomerStatus {
  const { series, ...metrics } = { series: seriesOf([0, 0, 7, 31, 42]), ...polled(), ...changes };
  const values = riverside(metrics);
  const { problems, branches = [] } = values;
  return {
    customer: values.customer,
    health: values.streams,
    problemsAt: () => inOrder([...problems, ...branches.flatMap((one) => one.problems)]),
    metricsAt: () => values,
    occupancySeriesAt: () => series,
    branchNames: new Map(branches.map(({ key, name = key }) => [key, name])),
  };
}

export function numbered(count: number): readonly CustomerStatus[] {
  return Array.from({ length: count }, (_, i) => customer({ customer: `library-${i}` }));
}

/** Returns the problem of a building or customer for so many hours. */
export function problem(kind: ProblemKind, hours: number, missed?: number) {
  const sinceMs = NOW_MS - hours * HOUR_MS;
  const one = { kind, sinceMs, ...(missed !== undefined && { missed }) };
  return { problems: [one], isTrusted: PROBLEMS[kind].trusted };
}

/** A customer whose people are polled. */
export function polled(changes: Partial<StreamMetrics> = {}): CustomerChanges {
  return { streams: { people: streamMetrics({ ...riverside().streams.people, ...changes }) } };
}

/** Returns a series that starts at 04:00 in Copenhagen. */
function seriesOf(inside: readonly number[]): OccupancySeries {
  const startMs = Date.UTC(2026, 2, 10, 3);
  const day = { startMs, endMs: startMs + DAY_MS };
  return { day, stepMs: 15 * MINUTE_MS, inside, atMs: NOW_MS - 12_000 };
}

/** A customer that is polled by branch, with the changes of each branch. */
export function withBranches(...changes: readonly Partial<BranchMetrics>[]): CustomerChanges {
  const common = { ...riverside(), capacity: 80, lastSeenMs: NOW_MS - 300_000 };
  return { branches: changes.map((each, i) => ({ ...common, key: String(101 + i), ...each })) };
}

export const UNKNOWN: CustomerChanges = {
  open: undefined,
  occupancy: undefined,
  inside: undefined,
  usual: undefined,
  counters: {},
  streams: { people: streamMetrics({}) },
  series: undefined,
};

export const CLOSED: CustomerChanges = { open: false, inside: 0, series: seriesOf([0, 0]) };
