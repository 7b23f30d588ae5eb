/**
 * `check --connect`: reads every customer from the service as the first polls of the exporter do, within
 * the same limits, and lists what an operator should know. No finding contains a secret.
 */
import { systemClock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import { COUNTERS } from '../base/model.ts';
import type { AggregatedResponse, MinuteStream, Question } from '../base/model.ts';
import { accessOf } from '../config/files.ts';
import type { Config } from '../config/types.ts';
import { grandTotal, isZero } from '../counting/counts.ts';
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import { readDoorModel } from '../counting/door-history.ts';
import { diagnoseStream } from '../counting/diagnose.ts';
import type { StreamDiagnosis } from '../counting/diagnose.ts';
import { HighWaterMarks } from '../counting/high-water-marks.ts';
import { Zone } from '../counting/zone.ts';
import { CustomerRegistry } from '../polling/customers.ts';
import type { RegisteredCustomer } from '../polling/customers.ts';
import { streamContext } from '../polling/poll-job.ts';
import type { ClockReading, Service } from '../service/types.ts';
import { customersAtOnce, serviceOf } from './access.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';
import { ABSENT, counted, ProgressLine } from './output.ts';

/** What `--format=json` prints of a stream; null where there is no value. */
export type StreamReport = Readonly<Record<string, string | number | boolean | null>> & {
  readonly customer: string;
  readonly stream: MinuteStream;
};

/** `error`: the exporter's values are incomplete. The texts are the same for all customers. */
interface Finding {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly fix: string;
}

/** A finding and the names of its customers. */
export type CustomersFinding = Finding & { readonly customers: string[] };

interface Report<Found extends Finding> {
  readonly streams: readonly StreamReport[];
  readonly findings: readonly Found[];
}

/**
 * Streams in the order of the configuration, errors before warnings. Throws an InterruptedError if the
 * signal of `io` aborts.
 */
export async function readCustomers(config: Config, io: Io): Promise<Report<CustomersFinding>> {
  const registry = new CustomerRegistry(new HighWaterMarks());
  const service = serviceOf(config, io, {
    credentials: (name, valid) => registry.get(name)?.credentialsChecked(valid),
  });
  const progress = new ProgressLine(io);
  const total = counted(config.customers.length, 'customer');
  const reports: Report<Finding>[] = [];
  const queue = registry.update(config).entries();
  let customersRead = 0;
  async function work(): Promise<void> {
    for (const [i, customer] of queue) {
      const report = await readCustomer(customer, service, config, io.stop);
      if (io.stop.aborted) {
        return;
      }
      reports[i] = report;
      customersRead += 1;
      progress.show(`${customersRead} of ${total} read`);
    }
  }
  try {
    await Promise.all(Array.from({ length: customersAtOnce(config.service) }, work));
  } finally {
    progress.clear();
    service.close();
  }
  if (io.stop.aborted) {
    throw new InterruptedError(`stopped, ${customersRead} of ${total} read`);
  }
  const found = new Map<string, CustomersFinding>();
  config.customers.forEach(({ name }, i) => {
    for (const finding of reports[i]?.findings ?? []) {
      const group = found.get(finding.message) ?? { ...finding, customers: [] };
      found.set(finding.message, group);
      if (group.customers.at(-1) !== name) {
        group.customers.push(name);
      }
    }
  });
  return {
    streams: reports.flatMap(({ streams }) => streams),
    findings: [...found.values()].toSorted((a, b) => a.severity.localeCompare(b.severity)),
  };
}

/** More requests than a poll makes, because a short interval may allow fewer than are needed here. */
const MIN_REQUESTS = 100;

async function readCustomer(
  { customer, config }: RegisteredCustomer,
  service: Service,
  { service: { maxRequestsPerSecond, timeoutMs }, polling: { intervalMs } }: Config,
  stop: AbortSignal,
): Promise<Report<Finding>> {
  const client = service.clientFor(accessOf(config));
  const requestsOfInterval = Math.floor((maxRequestsPerSecond * intervalMs) / 1_000);
  const maxRequests = Math.max(MIN_REQUESTS, requestsOfInterval);

  async function readStream(stream: MinuteStream): Promise<StreamDiagnosis | ServiceError> {
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
      return diagnosis;
    }
    customer.pollSucceeded(stream, diagnosis.state, systemClock.nowMs());
    const { keyFormat } = diagnosis;
    if (stream === 'people' && customer.isEstimated && keyFormat.status === 'detected') {
      const { calendar } = context;
      const today = calendar.dayAt(systemClock.nowMs());
      const model = await readDoorModel(query, calendar, today, keyFormat).catch(serviceErrorOf);
      // A failure leaves the doors unknown, as it does in the exporter.
      if (model !== undefined && !(model instanceof ServiceError)) {
        customer.doorsLearned(today, model);
      }
    }
    return diagnosis;
  }

  const outcomes = await Promise.all(
    config.streams.map(async (stream) => ({ stream, outcome: await readStream(stream) })),
  );
  const metrics = customer.metricsAt(systemClock.nowMs());
  return {
    streams: outcomes.map(({ stream, outcome }) => reportOf(stream, outcome, metrics, service)),
    findings: outcomes.flatMap(({ outcome }) => findingsOf(outcome, service.clockReading())),
  };
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
  outcome: StreamDiagnosis | ServiceError,
  metrics: CustomerMetrics,
  service: Service,
): StreamReport {
  const { customer, counters, credentialsValid, estimate, occupancy, periodStartMs } = metrics;
  const zone = new Zone(metrics.timezone);
  const clock = service.clockReading();
  return {
    customer,
    stream,
    ...(outcome instanceof ServiceError
      ? { failure: outcome.reason, newest: null, lag_seconds: null, keys: ABSENT, day: ABSENT }
      : diagnosisFields(outcome, zone, service.nowMs())),
    token: credentialsValid === undefined ? 'none' : credentialsValid ? 'good' : 'refused',
    counter_start: zone.format(periodStartMs),
    ...Object.fromEntries(
      COUNTERS[stream].flatMap((name) => [
        [name, counters[name]?.total ?? null],
        [`${name}_today`, counters[name]?.today ?? null],
      ]),
    ),
    ...(stream === 'people' && {
      occupancy: occupancy ?? null,
      door_count_ratio: estimate.ratio?.value ?? null,
      door_count_ratio_stddev: estimate.ratio?.stddev ?? null,
      empty_at_night: estimate.isEstimable ?? null,
    }),
    clock_ahead_seconds: clock === undefined ? null : Math.round(clock.aheadMs / 1_000),
  };
}

/**
 * `newest` is the newest minute with counts, `keys` the format of the minute keys or the state of its
 * detection, `day` whether `day` agrees with the minutes, or its sum of theirs.
 */
function diagnosisFields(
  { lastSeenMs, keyFormat, day }: StreamDiagnosis,
  zone: Zone,
  atMs: number,
) {
  const { status, formats } = keyFormat;
  const [{ form, zone: keyZone } = { form: status, zone: 'written' }] = formats;
  const formatName = keyZone === 'written' ? form : `${form} ${keyZone}`;
  return {
    failure: null,
    newest: lastSeenMs === undefined ? null : zone.format(lastSeenMs),
    lag_seconds:
      lastSeenMs === undefined ? null : Math.round(Math.max(0, atMs - lastSeenMs) / 1_000),
    keys: status === 'detected' ? formatName : status,
    day:
      day.agrees === undefined
        ? ABSENT
        : day.agrees
          ? 'agrees'
          : `${grandTotal(day.byDay)} of ${grandTotal(day.byMinute)}`,
  };
}

function findingsOf(
  outcome: StreamDiagnosis | ServiceError,
  clock: ClockReading | undefined,
): readonly Finding[] {
  if (outcome instanceof ServiceError) {
    const { reason, message } = outcome;
    return [{ severity: 'error', message: `${reason}: ${message}`, fix: FIXES[reason] }];
  }
  return RULES.filter(({ applies }) => applies(outcome, clock));
}

const FIXES = {
  auth: 'compare client_id, the secret and service.scope with the access administration tool',
  rate_limited: 'lower max_requests_per_second or raise polling.interval',
  timeout: 'raise timeout or polling.interval, or ask the operator of the service why it is slow',
  unreachable: 'check base_url, auth_url, proxy_url, ca_file, and firewalls',
  server: 'try again later; if it persists, contact the operator of the service',
  rejected: 'check base_url and auth_url: /v1/… and /connect/token are appended to them',
  malformed: 'check base_url and auth_url: another program may answer, such as a login page',
} as const satisfies Record<FailureReason, string>;

const ASK_OPERATOR = 'contact the operator of the service';
const COUNTERS_RIGHT = 'the counters are right nevertheless;';

interface Rule extends Finding {
  readonly applies: (diagnosis: StreamDiagnosis, clock: ClockReading | undefined) => boolean;
}

const RULES: readonly Rule[] = [
  {
    severity: 'warning',
    message: 'the clocks of the service and of this machine differ by more than a minute',
    fix: `nothing is lost; set the clock of this machine, or ${ASK_OPERATOR}`,
    applies: (_diagnosis, clock) => clock?.verdict === 'followed',
  },
  {
    severity: 'error',
    message: 'the clocks of the service and of this machine differ by more than a day',
    fix: `days and months change at the wrong time; set the clock of this machine, or ${ASK_OPERATOR}`,
    applies: (_diagnosis, clock) => clock?.verdict === 'ignored',
  },
  {
    severity: 'error',
    message: 'implausible totals, different at each request',
    fix: `nothing is exported until the totals are confirmed; ${ASK_OPERATOR}`,
    applies: ({ state }) => state.snapshot === undefined,
  },
  {
    severity: 'warning',
    message: 'day totals differ from minute totals, using a finer aggregation',
    fix: 'nothing: the counters are right; the column DAY shows what day has of today',
    applies: ({ day, isMinuteForced }) =>
      day.agrees === false && day.totalAggregation !== 'day' && !isMinuteForced,
  },
  {
    severity: 'error',
    message: 'day totals differ from minute totals, and the service does not return minutes',
    fix: `the totals may be too low; ${ASK_OPERATOR}`,
    applies: ({ day, isMinuteForced }) =>
      day.agrees === false && (day.totalAggregation === 'day' || isMinuteForced),
  },
  {
    severity: 'error',
    message: 'unknown minute key format, occupancy and last seen are unavailable',
    fix: `${COUNTERS_RIGHT} report the key format to this project`,
    applies: ({ keyFormat }) => keyFormat.status === 'unknown',
  },
  {
    severity: 'error',
    message: "the service does not return today's minutes, occupancy and last seen are unavailable",
    fix: `${COUNTERS_RIGHT} ${ASK_OPERATOR}`,
    applies: (diagnosis) =>
      lacksMinutes(diagnosis) && diagnosis.state.keyFormat.status === 'detected',
  },
  {
    severity: 'warning',
    message: 'ambiguous minute key format, occupancy is unavailable until it is known',
    fix: 'nothing: the exporter tries again at every minute with counts',
    applies: (diagnosis) =>
      lacksMinutes(diagnosis) && diagnosis.state.keyFormat.status !== 'detected',
  },
  {
    severity: 'warning',
    message: 'no counts in this month and in the last 14 days',
    fix: 'nothing for a new library; otherwise check that client_id belongs to this customer',
    applies: ({ lastSeenMs, state }) =>
      lastSeenMs === undefined && state.snapshot !== undefined && isZero(state.snapshot.totals),
  },
];

/** Occupancy and last seen need minutes with readable keys. */
function lacksMinutes({ keyFormat, state: { snapshot } }: StreamDiagnosis): boolean {
  return keyFormat.status !== 'unknown' && snapshot !== undefined && snapshot.order === undefined;
}
