/**
 * `check --connect`: reads every customer from the service as the first polls of the exporter do, within
 * the same limits, and lists what an operator should know. No finding contains a secret.
 */
import { systemClock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { AggregatedResponse, MinuteStream, Question } from '../base/model.ts';
import { accessOf } from '../config/secret-file.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { isZero } from '../counting/counts.ts';
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import { readDoorModel } from '../counting/door-history.ts';
import { diagnoseStream } from '../counting/diagnose.ts';
import type { StreamDiagnosis } from '../counting/diagnose.ts';
import { HighWaterMarks } from '../counting/high-water-marks.ts';
import { createOpeningHoursParser } from '../counting/opening-hours.ts';
import type { OpeningHoursParser } from '../counting/opening-hours.ts';
import type { PollContext } from '../counting/poll.ts';
import type { Query } from '../counting/query.ts';
import { CustomerRegistry } from '../polling/customers.ts';
import type { RegisteredCustomer } from '../polling/customers.ts';
import { streamContext } from '../polling/poll-job.ts';
import type { ClockReading, Service } from '../service/types.ts';
import { customersAtOnce, serviceOf } from './access.ts';
import type { Io } from './io.ts';

export interface CustomerReport {
  readonly config: CustomerConfig;
  /** In the order of the configuration. */
  readonly streams: readonly StreamReport[];
  /** What the exporter would export now. */
  readonly figures: CustomerMetrics;
  /** Undefined if the service neither accepted nor refused them. */
  readonly credentialsValid: boolean | undefined;
  /** Undefined if there was no token. */
  readonly tokenLifeMs: number | undefined;
  readonly clock: ClockReading | undefined;
  /** When the customer was read, by the service's clock. */
  readonly atMs: number;
}

export interface StreamReport {
  readonly stream: MinuteStream;
  readonly outcome: StreamDiagnosis | ServiceError;
}

/** `error`: the exporter's values are incomplete. The texts are the same for all customers. */
interface Finding {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly fix: string;
}

/** A finding and the names of its customers. */
export interface CustomersFinding extends Finding {
  readonly customers: readonly string[];
}

/** In the order of the configuration; fewer customers if the signal of `io` aborts. */
export async function readCustomers(
  config: Config,
  io: Pick<Io, 'env' | 'stop'>,
  progress: (customersRead: number) => void,
): Promise<readonly CustomerReport[]> {
  const credentials = new Map<string, boolean>();
  const tokenLives = new Map<string, number>();
  const service = serviceOf(config, io, {
    credentials: (customer, valid) => credentials.set(customer, valid),
    token: (customer, lifeMs) => tokenLives.set(customer, lifeMs),
  });
  const customers = new CustomerRegistry(new HighWaterMarks()).update(config);
  const reports = new Map<RegisteredCustomer, CustomerReport>();
  const queue = customers.values();
  async function work(): Promise<void> {
    for (const customer of queue) {
      const report = await readCustomer(customer, service, config, io.stop);
      if (io.stop.aborted) {
        return;
      }
      const { name } = customer.config;
      const [credentialsValid, tokenLifeMs] = [credentials.get(name), tokenLives.get(name)];
      reports.set(customer, { ...report, credentialsValid, tokenLifeMs });
      progress(reports.size);
    }
  }
  try {
    await Promise.all(Array.from({ length: customersAtOnce(config.service) }, work));
  } finally {
    service.close();
  }
  return customers.flatMap((customer) => reports.get(customer) ?? []);
}

/** More requests than a poll makes, because a short interval may allow fewer than are needed here. */
const MIN_REQUESTS = 100;

async function readCustomer(
  { customer, config }: RegisteredCustomer,
  service: Service,
  { service: { maxRequestsPerSecond, timeoutMs }, polling: { intervalMs } }: Config,
  stop: AbortSignal,
): Promise<Omit<CustomerReport, 'credentialsValid' | 'tokenLifeMs'>> {
  const client = service.clientFor(accessOf(config));
  const maxRequests = Math.max(
    MIN_REQUESTS,
    Math.floor((maxRequestsPerSecond * intervalMs) / 1_000),
  );

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
    try {
      const context = streamContext(
        customer,
        stream,
        { clock: systemClock, reconcileIntervalMs: 0, serviceNowMs: () => service.nowMs() },
        -Infinity,
      );
      const firstPoll = { ...context, allowBaseline: true, hasTime: () => true };
      const outcome = await diagnoseStream(firstPoll, query);
      customer.pollSucceeded(stream, outcome.state, systemClock.nowMs());
      await learnDoors(context, outcome, query);
      return { stream, outcome };
    } catch (failure) {
      if (!(failure instanceof ServiceError)) {
        throw failure;
      }
      return { stream, outcome: failure };
    }
  }

  /** A failure leaves the doors unknown, as it does in the exporter. */
  async function learnDoors(
    { stream, calendar, nowMs }: Pick<PollContext, 'stream' | 'calendar' | 'nowMs'>,
    { keyFormat }: StreamDiagnosis,
    query: Query,
  ): Promise<void> {
    if (stream !== 'people' || !customer.isEstimated || keyFormat.status !== 'detected') {
      return;
    }
    try {
      const today = calendar.dayAt(nowMs());
      const model = await readDoorModel(query, calendar, today, keyFormat);
      if (model !== undefined) {
        customer.doorsLearned(today, model);
      }
    } catch (failure) {
      if (!(failure instanceof ServiceError)) {
        throw failure;
      }
    }
  }

  const streams = await Promise.all(config.streams.map(readStream));
  return {
    config,
    streams,
    figures: customer.metricsAt(systemClock.nowMs()),
    clock: service.clockReading(),
    atMs: service.nowMs(),
  };
}

/** Errors first, otherwise in the order of the customers. */
export function findProblems(reports: readonly CustomerReport[]): readonly CustomersFinding[] {
  const parseOpeningHours = createOpeningHoursParser();
  const found = new Map<string, Finding & { readonly customers: string[] }>();
  for (const report of reports) {
    const { name } = report.config;
    const findings = [
      ...(report.clock === undefined ? [] : CLOCK_FINDINGS[report.clock.verdict]),
      ...report.streams.flatMap((stream) => streamFindings(report, stream, parseOpeningHours)),
    ];
    for (const { severity, message, fix } of findings) {
      const finding = found.get(message) ?? { severity, message, fix, customers: [] };
      found.set(message, finding);
      if (finding.customers.at(-1) !== name) {
        finding.customers.push(name);
      }
    }
  }
  return [...found.values()].toSorted((a, b) => a.severity.localeCompare(b.severity));
}

function streamFindings(
  { config, atMs, credentialsValid }: CustomerReport,
  { stream, outcome }: StreamReport,
  parseOpeningHours: OpeningHoursParser,
): readonly Finding[] {
  if (outcome instanceof ServiceError) {
    const { reason, message } = outcome;
    const fix = reason === 'auth' ? authFix(credentialsValid) : FIXES[reason];
    return [{ severity: 'error', message: `${reason}: ${message}`, fix }];
  }
  const { lastSeenMs = Infinity, state } = outcome;
  function isSilent(forMs: number): boolean {
    return atMs - lastSeenMs > forMs && isOpenSince(config, atMs, forMs, parseOpeningHours);
  }
  return state.snapshot === undefined
    ? [IMPLAUSIBLE]
    : STREAM_FINDINGS.filter(({ applies }) => applies(outcome, stream, isSilent));
}

/** True if opening hours are configured, and the library has been open for `forMs`. */
function isOpenSince(
  { openingHours, holidays, timezone }: CustomerConfig,
  atMs: number,
  forMs: number,
  parseOpeningHours: OpeningHoursParser,
): boolean {
  if (openingHours === undefined) {
    return false;
  }
  const hours = parseOpeningHours(openingHours, holidays);
  const changesAtMs = hours.nextChangeAfter(atMs - forMs, timezone);
  return hours.isOpenAt(atMs - forMs, timezone) && changesAtMs > atMs;
}

function authFix(credentialsValid: boolean | undefined): string {
  switch (credentialsValid) {
    case true:
      return 'the token is valid, but not for this data: check service.scope and client_id';
    case false:
      return 'compare client_id and the secret with the customer in the access administration tool';
    case undefined:
      return 'check client_secret_file, and that auth_url is the identity server';
  }
}

const FIXES = {
  rate_limited: 'lower max_requests_per_second or raise polling.interval',
  timeout: 'raise timeout or polling.interval, or ask the operator of the service why it is slow',
  unreachable: 'check base_url, auth_url, proxy_url, ca_file, and firewalls',
  server: 'try again later; if it persists, contact the operator of the service',
  rejected: 'check base_url and auth_url: /v1/… and /connect/token are appended to them',
  malformed: 'check base_url and auth_url: another program may answer, such as a login page',
} as const satisfies Record<Exclude<FailureReason, 'auth'>, string>;

const ASK_OPERATOR = 'contact the operator of the service';
const COUNTERS_RIGHT = 'the counters are right nevertheless;';
const HOUR_MS = 3_600_000;

const CLOCK_FINDINGS = {
  agrees: [],
  followed: [
    {
      severity: 'warning',
      message: 'the clocks of the service and of this machine differ by more than a minute',
      fix: `nothing is lost; set the clock of this machine, or ${ASK_OPERATOR}`,
    },
  ],
  ignored: [
    {
      severity: 'error',
      message: 'the clocks of the service and of this machine differ by more than a day',
      fix: `days and months change at the wrong time; set the clock of this machine, or ${ASK_OPERATOR}`,
    },
  ],
} as const satisfies Record<ClockReading['verdict'], readonly Finding[]>;

const IMPLAUSIBLE: Finding = {
  severity: 'error',
  message: 'implausible totals, different at each request',
  fix: `nothing is exported until the totals are confirmed; ${ASK_OPERATOR}`,
};

interface StreamFinding extends Finding {
  /** `isSilent` is true if nobody has been counted for a time in which the library was open. */
  readonly applies: (
    diagnosis: StreamDiagnosis,
    stream: MinuteStream,
    isSilent: (forMs: number) => boolean,
  ) => boolean;
}

const STREAM_FINDINGS: readonly StreamFinding[] = [
  ...(['quarter', 'minute'] as const).map((aggregation): StreamFinding => ({
    severity: 'warning',
    message: `day totals differ from minute totals, using ${aggregation}`,
    fix: 'nothing: the counters are right; the column DAY shows what day has of today',
    applies: ({ day, isMinuteForced }) =>
      day.agrees === false && day.totalAggregation === aggregation && !isMinuteForced,
  })),
  {
    severity: 'error',
    message: 'day totals differ from minute totals, and the service does not return minutes',
    fix: `the totals may be too low; ${ASK_OPERATOR}`,
    applies: ({ day, isMinuteForced }) =>
      day.agrees === false && (day.totalAggregation === 'day' || isMinuteForced),
  },
  {
    severity: 'warning',
    message: 'the service does not return minutes, even for half an hour',
    fix: 'ask the operator of the service how late its day totals are: the counters are as late',
    applies: ({ day, isMinuteForced }) => day.agrees !== false && isMinuteForced,
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
    applies: (diagnosis) => lacksMinutes(diagnosis) && isDetected(diagnosis),
  },
  {
    severity: 'warning',
    message: 'ambiguous minute key format, occupancy is unavailable until it is known',
    fix: 'nothing: the exporter tries again at every minute with counts',
    applies: (diagnosis) => lacksMinutes(diagnosis) && !isDetected(diagnosis),
  },
  {
    severity: 'warning',
    message: 'no counts in this month and in the last 14 days',
    fix: 'nothing for a new library; otherwise check that client_id belongs to this customer',
    applies: ({ lastSeenMs, state }) =>
      lastSeenMs === undefined && isZero(state.snapshot?.totals ?? []),
  },
  {
    severity: 'warning',
    message: 'nobody counted for more than an hour while the library is open',
    fix: 'check the people counters and opening_hours',
    applies: (_diagnosis, stream, isSilent) => stream === 'people' && isSilent(HOUR_MS),
  },
  {
    severity: 'warning',
    message: 'no login for more than four hours while the library is open',
    fix: 'check the self-service stations and opening_hours',
    applies: (_diagnosis, stream, isSilent) => stream === 'logins' && isSilent(4 * HOUR_MS),
  },
];

/** Occupancy and last seen need minutes with readable keys. */
function lacksMinutes({ keyFormat, state }: StreamDiagnosis): boolean {
  return keyFormat.status !== 'unknown' && state.snapshot?.order === undefined;
}

function isDetected({ state }: StreamDiagnosis): boolean {
  return state.keyFormat.status === 'detected';
}
