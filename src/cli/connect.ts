/**
 * `check --connect`: reads every customer from the service as the first polls of the exporter do, within
 * the same limits.
 */
import { systemClock } from '../base/clock.ts';
import { ServiceError, serviceErrorOf } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { AggregatedResponse, MinuteStream, WindowQuery } from '../base/model.ts';
import { inParallel } from '../base/parallel.ts';
import type { ServiceSettings } from '../base/service-settings.ts';
import { accessOf } from '../config/credentials.ts';
import type { Config } from '../config/types.ts';
import { compareKeys, countsOf } from '../counting/breakdowns/poll-breakdown.ts';
import type { Zone } from '../counting/calendar/zone.ts';
import { diagnoseStream } from '../counting/check/diagnose.ts';
import type { StreamDiagnosis } from '../counting/check/diagnose.ts';
import { readLately } from '../counting/check/lately.ts';
import { compareRequestTimes, isRefusal } from '../counting/check/request-times.ts';
import type { RequestTimesComparison } from '../counting/check/request-times.ts';
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import { streamContext } from '../counting/customer-poll.ts';
import { HighWaterMarks } from '../counting/high-water-marks.ts';
import type { Counts } from '../counting/rows/counts.ts';
import { WindowReader } from '../counting/rows/window-reader.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import { CustomerRegistry } from '../customers.ts';
import type { RegisteredCustomer } from '../customers.ts';
import { abortAfter } from '../polling/try-poll.ts';
import { findContradiction } from '../service/metadata.ts';
import type { Service } from '../service/types.ts';
import { customersAtOnce, serviceOf } from './access.ts';
import * as find from './findings.ts';
import type { Finding, MaybeFinding } from './findings.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';

export interface CustomerReport {
  /** The values that the exporter would export. */
  readonly metrics: CustomerMetrics;
  readonly zone: Zone;
  readonly streams: readonly StreamReport[];
  /** Empty for a customer that is one building, and if they could not be read. */
  readonly branches: readonly BranchReport[];
  /** How far the service's clock is ahead, in ms; undefined if it is not known. */
  readonly aheadMs: number | undefined;
  /** Undefined if the service did not respond, or forces another aggregation. */
  readonly requestTimes: RequestTimesComparison | undefined;
  readonly findings: readonly Finding[];
}

export interface StreamReport extends Partial<StreamDiagnosis> {
  readonly stream: MinuteStream;
  /** Why the stream could not be read. */
  readonly failure?: FailureReason;
  readonly findings: readonly MaybeFinding[];
  /** What does not fit about the zone of its keys, provided that times of requests do. */
  readonly zoneFinding?: MaybeFinding;
}

/** A branch that the service or the configuration has. */
export interface BranchReport {
  readonly key: string;
  /** As configured. */
  readonly name: string | undefined;
  readonly isConfigured: boolean;
  /** Entries and exits of 28 days; 0 for a branch that the service does not know. */
  readonly counts: Counts;
}

/**
 * Returns a report on each customer, in the order of the configuration. Failures of the service are
 * findings. Throws an InterruptedError if the signal of `io` aborts.
 */
export async function readCustomers(config: Config, io: Io): Promise<readonly CustomerReport[]> {
  const registry = new CustomerRegistry(new HighWaterMarks());
  const service = serviceOf(config, io, {
    credentials: (name, valid) =>
      registry.get(name)?.credentialsChecked(valid, systemClock.nowMs()),
  });
  try {
    return await inParallel(registry.update(config), customersAtOnce(config.service), (customer) =>
      readCustomer(customer, service, config, io.stop),
    );
  } finally {
    service.close();
  }
}

/** Higher than the requests of a poll, because a short interval may allow fewer than are needed here. */
const MIN_REQUESTS = 100;

async function readCustomer(
  registered: RegisteredCustomer,
  service: Service,
  { service: settings, polling: { intervalMs } }: Config,
  stop: AbortSignal,
): Promise<CustomerReport> {
  const { customer, config } = registered;
  const client = service.clientFor(accessOf(config));
  const requestsOfInterval = Math.floor((settings.maxRequestsPerSecond * intervalMs) / 1_000);
  const maxRequests = Math.max(MIN_REQUESTS, requestsOfInterval);
  let contradiction: string | undefined;

  function send(question: WindowQuery): Promise<AggregatedResponse> {
    const deadline = new AbortController();
    const end = abortAfter(systemClock, 2 * settings.timeoutMs, deadline, 'a query of check');
    return client.query(question, AbortSignal.any([stop, deadline.signal])).finally(end);
  }

  async function readStream(stream: MinuteStream): Promise<StreamReport> {
    let requests = 0;
    async function query(question: WindowQuery): Promise<AggregatedResponse> {
      requests += 1;
      if (requests > maxRequests) {
        const needed = `the totals need more than the ${maxRequests} requests of one interval`;
        throw new ServiceError('timeout', needed);
      }
      const response = await send(question);
      contradiction ??= findContradiction(question, response);
      return response;
    }
    const times = { clocks: systemClock, reconcileIntervalMs: 0 };
    const context = streamContext(customer, stream, times);
    const diagnosis = await diagnoseStream(context, query).catch(serviceErrorOf);
    if (diagnosis instanceof ServiceError) {
      const { reason, message } = diagnosis;
      return { stream, failure: reason, findings: [['error', `${reason}: ${message}`]] };
    }
    customer.pollSucceeded(stream, diagnosis, systemClock.nowMs());
    return {
      stream,
      ...diagnosis,
      findings: find.streamFindings(diagnosis),
      zoneFinding: find.zoneFinding(diagnosis, context),
    };
  }

  const streams = await Promise.all(config.streams.map(readStream));
  const answered = streams.find(({ failure }) => failure === undefined || isRefusal(failure));
  const { zone } = customer.calendar;
  // Where nothing answers, the streams say why.
  const times = answered && (await compareTimes(answered.stream, zone, settings, send));
  const byKey = answered && (await readByKey(registered, send));
  if (stop.aborted) {
    throw new InterruptedError('stopped');
  }
  const { aheadMs } = service.serverClock;
  const findings = [
    find.clockFinding(aheadMs),
    ...streams.flatMap((one) => one.findings),
    contradiction !== undefined && (['warning', contradiction] as const),
    ...(times?.finding === undefined ? streams.map((one) => one.zoneFinding) : [times.finding]),
    ...(byKey?.findings ?? []),
    find.loginsFinding(streams),
  ].filter((one) => one !== undefined && one !== false);
  return {
    metrics: customer.metricsAt(systemClock.nowMs()),
    zone,
    streams,
    branches: byKey?.branches ?? [],
    aheadMs,
    requestTimes: times?.comparison,
    findings: [...new Map(findings.map((one) => [one[1], one])).values()],
  };
}

async function undefinedIfFailed<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  const result = await reading.catch(serviceErrorOf);
  return result instanceof ServiceError ? undefined : result;
}

/**
 * Compares the ways to write times, twice if the configured one does not fit: a record may have arrived between
 * two of the requests. Undefined if the service does not respond, or forces another aggregation.
 */
async function compareTimes(
  stream: MinuteStream,
  zone: Zone,
  { requestTimes: configured }: ServiceSettings,
  query: Query,
) {
  async function compare() {
    const comparison = await compareRequestTimes(stream, zone, systemClock.nowMs(), query);
    return comparison && { comparison, finding: find.timesFinding(comparison, configured, zone) };
  }
  const first = await undefinedIfFailed(compare());
  return first?.finding === undefined ? first : undefinedIfFailed(compare());
}

/**
 * Reads branches and devices, and lists the branches that the service or the configuration has; none for a
 * customer that is one building. It need not have branches or devices then: that they cannot be read is no finding.
 */
async function readByKey({ customer, config }: RegisteredCustomer, query: Query) {
  const { branches: configured, breakdowns, streams } = config;
  const isByBranch = breakdowns.includes('branch') || Object.keys(configured).length > 0;
  const nowMs = systemClock.nowMs();
  const { zone } = customer.calendar;
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => nowMs });
  let branches: readonly BranchReport[] = [];
  const findings: MaybeFinding[] = [];
  for (const breakdown of streams.includes('people') ? (['branch', 'device'] as const) : []) {
    const isListed = breakdown === 'branch' && isByBranch;
    const lately = await readLately(reader, breakdown, nowMs).catch(serviceErrorOf);
    if (lately instanceof ServiceError) {
      const text = `branches: ${lately.reason}: ${lately.message}`;
      findings.push(isListed && ['error', text]);
      continue;
    }
    if (isListed) {
      const keys = new Set([...Object.keys(configured), ...lately.counts.keys()]);
      branches = [...keys].toSorted(compareKeys).map((key) => ({
        key,
        name: configured[key]?.name,
        isConfigured: configured[key] !== undefined,
        counts: countsOf(lately.counts, key),
      }));
      findings.push(...find.branchFindings(branches));
    }
    findings.push(...find.silentFindings(breakdown, lately));
  }
  return { branches, findings };
}
