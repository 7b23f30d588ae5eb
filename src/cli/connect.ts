/**
 * `check --connect`: reads every customer from the service as the first polls of the exporter do, within
 * the same limits, and lists what an operator should know. No finding contains a secret.
 */
import { systemClock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { AggregatedResponse, MinuteStream, Question } from '../base/model.ts';
import { accessOf } from '../config/files.ts';
import type { Config } from '../config/types.ts';
import { grandTotal, isZero } from '../counting/counts.ts';
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import { readDoorModel } from '../counting/door-history.ts';
import { diagnoseStream } from '../counting/diagnose.ts';
import type { DayAgreement, StreamDiagnosis } from '../counting/diagnose.ts';
import { HighWaterMarks } from '../counting/high-water-marks.ts';
import type { KeyFormatState } from '../counting/key-format.ts';
import type { Zone } from '../counting/zone.ts';
import { CustomerRegistry } from '../polling/customers.ts';
import type { RegisteredCustomer } from '../polling/customers.ts';
import { streamContext } from '../polling/poll-job.ts';
import type { ClockReading } from '../service/server-clock.ts';
import type { Service } from '../service/types.ts';
import { customersAtOnce, serviceOf } from './access.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';

export interface CustomerReport {
  /** The values that the exporter would export. */
  readonly metrics: CustomerMetrics;
  readonly streams: readonly StreamReport[];
  readonly clock: ClockReading | undefined;
}

/** What the service returns of a stream; what is not known is undefined. */
export interface StreamReport {
  readonly stream: MinuteStream;
  /** Why the stream could not be read. */
  readonly failure?: FailureReason;
  /** Local time of the newest minute with counts. */
  readonly newest?: string | undefined;
  /** The format of the minute keys, or the state of its detection. */
  readonly keys?: string;
  /** `agrees` if `day` agrees with the minutes, else the sum of `day` of that of the minutes. */
  readonly day?: string | undefined;
  /** What an operator should know, beginning with `error:` or `warning:`. */
  readonly findings: readonly string[];
  /** Whether values are missing in the exporter. */
  readonly hasError: boolean;
}

/** In the order of the configuration. Throws an InterruptedError if the signal of `io` aborts. */
export async function readCustomers(config: Config, io: Io): Promise<readonly CustomerReport[]> {
  const registry = new CustomerRegistry(new HighWaterMarks());
  const service = serviceOf(config, io, {
    credentials: (name, valid) => registry.get(name)?.credentialsChecked(valid),
  });
  const reports: CustomerReport[] = [];
  const queue = registry.update(config).entries();
  async function work(): Promise<void> {
    for (const [i, customer] of queue) {
      reports[i] = await readCustomer(customer, service, config, io.stop);
      if (io.stop.aborted) {
        throw new InterruptedError('stopped');
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: customersAtOnce(config.service) }, work));
    return reports;
  } finally {
    service.close();
  }
}

/** More requests than a poll makes, because a short interval may allow fewer than are needed here. */
const MIN_REQUESTS = 100;

async function readCustomer(
  { customer, config }: RegisteredCustomer,
  service: Service,
  { service: { maxRequestsPerSecond, timeoutMs }, polling: { intervalMs } }: Config,
  stop: AbortSignal,
): Promise<CustomerReport> {
  const client = service.clientFor(accessOf(config));
  const requestsOfInterval = Math.floor((maxRequestsPerSecond * intervalMs) / 1_000);
  const maxRequests = Math.max(MIN_REQUESTS, requestsOfInterval);

  async function readStream(stream: MinuteStream): Promise<StreamReport> {
    let requests = 0;
    function query(question: Question): Promise<AggregatedResponse> {
      requests += 1;
      if (requests > maxRequests) {
        throw new ServiceError(
          'timeout',
          `the totals need more than the ${maxRequests} requests of one interval`,
        );
      }
      const deadline = AbortSignal.timeout(2 * timeoutMs);
      return client.query(question, AbortSignal.any([stop, deadline]));
    }
    const context = streamContext(
      customer,
      stream,
      { clock: systemClock, reconcileIntervalMs: 0, serviceNowMs: () => service.nowMs() },
      -Infinity,
    );
    const firstPoll = { ...context, beginBaseline: () => true, hasTime: () => true };
    const diagnosis = await diagnoseStream(firstPoll, query).catch(serviceErrorOf);
    if (diagnosis instanceof ServiceError) {
      const { reason, message } = diagnosis;
      const findings = [`error: ${reason}: ${message}`];
      return { stream, failure: reason, findings, hasError: true };
    }
    customer.pollSucceeded(stream, diagnosis.state, systemClock.nowMs());
    const { calendar } = context;
    const { keyFormat } = diagnosis;
    if (stream === 'people' && customer.isEstimated && keyFormat.status === 'detected') {
      const today = calendar.dayAt(systemClock.nowMs());
      const model = await readDoorModel(query, calendar, today, keyFormat).catch(serviceErrorOf);
      // A failure leaves the doors unknown, as it does in the exporter.
      if (model !== undefined && !(model instanceof ServiceError)) {
        customer.doorsLearned(today, model);
      }
    }
    return reportOf(stream, diagnosis, service.clockReading(), calendar.zone);
  }

  const streams = await Promise.all(config.streams.map(readStream));
  const metrics = customer.metricsAt(systemClock.nowMs());
  return { metrics, streams, clock: service.clockReading() };
}

/** Other errors are the program's. */
function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) {
    return error;
  }
  throw error;
}

function reportOf(
  stream: MinuteStream,
  diagnosis: StreamDiagnosis,
  clock: ClockReading | undefined,
  zone: Zone,
): StreamReport {
  const { lastSeenMs, keyFormat, day } = diagnosis;
  const found = RULES.filter(({ applies }) => applies(diagnosis, clock));
  return {
    stream,
    newest: lastSeenMs === undefined ? undefined : zone.format(lastSeenMs),
    keys: keysText(keyFormat),
    day: dayText(day),
    findings: found.map(({ severity, message }) => `${severity}: ${message}`),
    hasError: found.some(({ severity }) => severity === 'error'),
  };
}

function keysText({ status, formats: [format] }: KeyFormatState): string {
  if (status !== 'detected' || format === undefined) {
    return status;
  }
  return format.zone === 'written' ? format.form : `${format.form} ${format.zone}`;
}

function dayText(day: DayAgreement): string | undefined {
  if (day.agrees === false) {
    return `${grandTotal(day.byDay)} of ${grandTotal(day.byMinute)}`;
  }
  return day.agrees === true ? 'agrees' : undefined;
}

interface Rule {
  /** `error`: the exporter's values are incomplete. */
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly applies: (diagnosis: StreamDiagnosis, clock: ClockReading | undefined) => boolean;
}

const RULES: readonly Rule[] = [
  {
    severity: 'warning',
    message: 'the clocks of the service and of this machine differ by more than a minute',
    applies: (_diagnosis, clock) => clock?.verdict === 'followed',
  },
  {
    severity: 'error',
    message: 'the clocks of the service and of this machine differ by more than a day',
    applies: (_diagnosis, clock) => clock?.verdict === 'ignored',
  },
  {
    severity: 'error',
    message: 'implausible totals, different at each request',
    applies: ({ state }) => state.snapshot === undefined,
  },
  {
    severity: 'warning',
    message: 'day totals differ from minute totals, using a finer aggregation',
    applies: ({ day, isMinuteForced }) =>
      day.agrees === false && day.totalAggregation !== 'day' && !isMinuteForced,
  },
  {
    severity: 'error',
    message:
      'day totals differ from minute totals, and the service does not return minutes: the totals may be too low',
    applies: ({ day, isMinuteForced }) =>
      day.agrees === false && (day.totalAggregation === 'day' || isMinuteForced),
  },
  {
    severity: 'error',
    message: 'unknown minute key format, occupancy and last seen are unavailable',
    applies: ({ keyFormat }) => keyFormat.status === 'unknown',
  },
  {
    severity: 'error',
    message: "the service does not return today's minutes, occupancy and last seen are unavailable",
    applies: (diagnosis) =>
      lacksMinutes(diagnosis) && diagnosis.state.keyFormat.status === 'detected',
  },
  {
    severity: 'warning',
    message: 'ambiguous minute key format, occupancy is unavailable until it is known',
    applies: (diagnosis) =>
      lacksMinutes(diagnosis) && diagnosis.state.keyFormat.status !== 'detected',
  },
  {
    severity: 'warning',
    message: 'no counts in this month and in the last 14 days: does client_id belong to it?',
    applies: ({ lastSeenMs, state }) =>
      lastSeenMs === undefined && state.snapshot !== undefined && isZero(state.snapshot.totals),
  },
];

/** Occupancy and last seen need minutes with readable keys. */
function lacksMinutes({ keyFormat, state: { snapshot } }: StreamDiagnosis): boolean {
  return keyFormat.status !== 'unknown' && snapshot !== undefined && snapshot.order === undefined;
}
