/**
 * `check --connect`: reads every customer from the service as the first polls of the exporter do, within
 * the same limits, and lists what an operator should know. No finding contains a secret.
 */
import { systemClock } from '../base/clock.ts';
import { DAY_MS } from '../base/duration.ts';
import { ServiceError, serviceErrorOf } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type {
  AggregatedResponse,
  Key,
  KeyTimes,
  MinuteStream,
  WindowQuery,
} from '../base/model.ts';
import { inParallel } from '../base/parallel.ts';
import { accessOf } from '../config/credentials.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { compareKeys, countsOf } from '../counting/breakdowns/poll-breakdown.ts';
import { grandTotal } from '../counting/rows/counts.ts';
import type { CountsByKey } from '../counting/rows/counts.ts';
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import type { Past } from '../counting/past/past.ts';
import { readFourWeeks } from '../counting/past/read-four-weeks.ts';
import { streamContext } from '../counting/customer-poll.ts';
import { diagnoseStream } from '../counting/check/diagnose.ts';
import type { DayAgreement } from '../counting/check/diagnose.ts';
import { readLately } from '../counting/check/lately.ts';
import { compareRequestTimes, isRefusal } from '../counting/check/request-times.ts';
import type { RequestTimesComparison } from '../counting/check/request-times.ts';
import { HighWaterMarks } from '../counting/high-water-marks.ts';
import type { Zone } from '../counting/calendar/zone.ts';
import { readKey } from '../counting/rows/keys.ts';
import { WindowReader } from '../counting/rows/window-reader.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import { CustomerRegistry } from '../customers.ts';
import type { RegisteredCustomer } from '../customers.ts';
import { abortAfter } from '../polling/try-poll.ts';
import { findContradiction } from '../service/metadata.ts';
import type { Service } from '../service/types.ts';
import type { ServiceSettings } from '../base/service-settings.ts';
import { customersAtOnce, serviceOf } from './access.ts';
import {
  branchFindings,
  hoursFinding,
  silentFindings,
  streamFindings,
  timesFinding,
  zoneFinding,
} from './findings.ts';
import type { BranchReport } from './findings.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';

export interface CustomerReport {
  /** The values that the exporter would export. */
  readonly metrics: CustomerMetrics;
  readonly streams: readonly StreamReport[];
  /** Empty for a customer that is one building, and if they could not be read. */
  readonly branches: readonly BranchReport[];
  /** How far the service's clock is ahead, in ms; undefined if it is not known. */
  readonly clock: number | undefined;
  /** Undefined if the service did not respond, or forces another aggregation. */
  readonly requestTimes: RequestTimesComparison | undefined;
  /** What an operator should know. After `error:`, values are missing in the exporter; else `warning:`. */
  readonly findings: readonly string[];
}

/** Results for a stream; what is not known is undefined. */
export interface StreamReport {
  readonly stream: MinuteStream;
  /** Why the stream could not be read. */
  readonly failure?: FailureReason;
  /** Local time of the newest minute with counts. */
  readonly newest?: string | undefined;
  /** How keys of minutes are written. */
  readonly keys?: string | undefined;
  /** `agrees` if `day` agrees with the minutes, else the sum of `day` of that of the minutes. */
  readonly day?: string | undefined;
  readonly findings: readonly string[];
  /** What does not fit about the zone of its keys, provided that times of requests do. */
  readonly zoneFinding?: string | undefined;
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
  { customer, config }: RegisteredCustomer,
  service: Service,
  { service: settings, polling: { intervalMs } }: Config,
  stop: AbortSignal,
): Promise<CustomerReport> {
  const { maxRequestsPerSecond, timeoutMs } = settings;
  const client = service.clientFor(accessOf(config));
  const requestsOfInterval = Math.floor((maxRequestsPerSecond * intervalMs) / 1_000);
  const maxRequests = Math.max(MIN_REQUESTS, requestsOfInterval);

  function send(question: WindowQuery): Promise<AggregatedResponse> {
    const deadline = new AbortController();
    const endDeadline = abortAfter(systemClock, 2 * timeoutMs, deadline, 'a query of check');
    const signal = AbortSignal.any([stop, deadline.signal]);
    return client.query(question, signal).finally(endDeadline);
  }

  let pastOfPeople: Past | undefined;
  let contradiction: string | undefined;

  async function readStream(stream: MinuteStream): Promise<StreamReport> {
    let requests = 0;
    async function query(question: WindowQuery): Promise<AggregatedResponse> {
      requests += 1;
      if (requests > maxRequests) {
        throw new ServiceError(
          'timeout',
          `the totals need more than the ${maxRequests} requests of one interval`,
        );
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
      return { stream, failure: reason, findings: [`error: ${reason}: ${message}`] };
    }
    customer.pollSucceeded(stream, diagnosis, systemClock.nowMs());
    const { calendar } = context;
    if (stream === 'people') {
      const today = calendar.dayAt(systemClock.nowMs());
      const source = { query, stream, calendar, keyTimes: context.keyTimes };
      const past = await readFourWeeks(source, today).catch(serviceErrorOf);
      // A failure leaves the doors unknown, as it does in the exporter.
      if (!(past instanceof ServiceError)) {
        customer.pastRead(stream, past);
        pastOfPeople = past;
      }
    }
    const { lastSeenMs } = diagnosis;
    return {
      stream,
      newest: lastSeenMs === undefined ? undefined : calendar.zone.format(lastSeenMs),
      keys: keysText(diagnosis.key, context.keyTimes),
      day: dayText(diagnosis.day),
      findings: streamFindings(diagnosis, service.serverClock.aheadMs),
      zoneFinding: zoneFinding(diagnosis, context),
    };
  }

  const streams = await Promise.all(config.streams.map(readStream));
  const answered = streams.find(({ failure }) => failure === undefined || isRefusal(failure));
  const nowMs = systemClock.nowMs();
  const { zone } = customer.calendar;
  const requestTimes =
    answered && (await reportRequestTimes(answered.stream, zone, nowMs, send, settings));
  // Where nothing answers, the streams say why.
  const byKey = answered && (await reportByKey({ customer, config }, send, nowMs));
  if (stop.aborted) {
    throw new InterruptedError('stopped');
  }
  const findings = [
    ...streams.flatMap((one) => one.findings),
    contradiction && `warning: ${contradiction}`,
    ...(requestTimes?.finding === undefined
      ? streams.map((one) => one.zoneFinding)
      : [requestTimes.finding]),
    ...(byKey?.findings ?? []),
    loginsFinding(streams),
    pastOfPeople && hoursFinding({ customer, config }, pastOfPeople),
  ];
  return {
    metrics: customer.metricsAt(systemClock.nowMs()),
    streams,
    branches: byKey?.branches ?? [],
    clock: service.serverClock.aheadMs,
    requestTimes: requestTimes?.comparison,
    findings: [...new Set(findings.filter((text) => text !== undefined))],
  };
}

/**
 * Compares the ways to write times for one customer, twice if the configured one does not fit: a record may
 * have arrived between two of the requests. There is a finding if it does not fit, as far as is known. Undefined
 * if the service does not respond, or forces another aggregation.
 */
async function reportRequestTimes(
  stream: MinuteStream,
  zone: Zone,
  nowMs: number,
  query: Query,
  { requestTimes: configured }: Pick<ServiceSettings, 'requestTimes'>,
) {
  async function compare() {
    const comparison = await compareRequestTimes(stream, zone, nowMs, query);
    return comparison && { comparison, finding: timesFinding(comparison, configured, zone) };
  }
  try {
    const first = await compare();
    return first?.finding === undefined ? first : await compare();
  } catch (error) {
    serviceErrorOf(error);
    return undefined;
  }
}

/**
 * Reads branches and devices, and lists the branches that the service or the configuration has; none for a
 * customer that is one building. It need not have branches or devices then: that they cannot be read is no finding.
 */
async function reportByKey(
  { customer, config }: Pick<RegisteredCustomer, 'customer' | 'config'>,
  query: Query,
  nowMs: number,
) {
  const { branches: configured, breakdowns, streams } = config;
  const isByBranch = breakdowns.includes('branch') || Object.keys(configured).length > 0;
  const { zone } = customer.calendar;
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => nowMs });
  let branches: readonly BranchReport[] = [];
  const findings: string[] = [];
  for (const breakdown of streams.includes('people') ? (['branch', 'device'] as const) : []) {
    const isListed = breakdown === 'branch' && isByBranch;
    const lately = await readLately(reader, breakdown, nowMs).catch(serviceErrorOf);
    if (!(lately instanceof ServiceError)) {
      branches = isListed ? branchesOf(configured, lately.counts) : branches;
      findings.push(...(isListed ? branchFindings(branches) : []));
      findings.push(...silentFindings(breakdown, lately));
    } else if (isListed) {
      findings.push(`error: branches: ${lately.reason}: ${lately.message}`);
    }
  }
  return { branches, findings };
}

/** Returns the branches in the order of their keys. */
function branchesOf(
  configured: CustomerConfig['branches'],
  counts: CountsByKey,
): readonly BranchReport[] {
  const keys = new Set([...Object.keys(configured), ...counts.keys()]);
  return [...keys].toSorted(compareKeys).map((key) => {
    const branch = Object.hasOwn(configured, key) ? configured[key] : undefined;
    const isConfigured = branch !== undefined;
    return { key, name: branch?.name, isConfigured, counts: countsOf(counts, key) };
  });
}

/** Returns a warning if people log in, but the doors have counted nobody for a day. */
function loginsFinding(streams: readonly StreamReport[]): string | undefined {
  const people = streams.find(({ stream }) => stream === 'people');
  const logins = streams.find(({ stream }) => stream === 'logins');
  if (people === undefined || people.failure !== undefined || logins?.newest === undefined) {
    return undefined;
  }
  const silentMs = Date.parse(logins.newest) - Date.parse(people.newest ?? '1970');
  return silentMs < DAY_MS
    ? undefined
    : 'warning: the doors have counted nobody for a day in which people logged in: are they dead?';
}

/** Returns how the keys are written; by the setting, if that is what they depend on. */
function keysText(key: Key | undefined, keyTimes: KeyTimes): string | undefined {
  if (key === undefined) {
    return undefined;
  }
  const time = readKey(key);
  if (time?.zone !== 'written') {
    return time === undefined ? 'unreadable' : keyTimes;
  }
  return /^\d+$/.test(String(key)) ? 'unix time' : 'offset';
}

function dayText(day: DayAgreement): string | undefined {
  if (day.agrees === false) {
    return `${grandTotal(day.byDay)} of ${grandTotal(day.byMinute)}`;
  }
  return day.agrees === true ? 'agrees' : undefined;
}
