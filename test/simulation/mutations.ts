/**
 * Errors that are built into the exporter where it has a function or an object to wrap: its
 * configuration, requests, responses, high-water marks and the text of /metrics. Each is for an audit that
 * must find it. Whether a change of one function is noticed, `npm run mutants` says.
 */
import { ServiceError } from '../../src/base/errors.ts';
import type { AggregatedResponse } from '../../src/base/model.ts';
import type { Config } from '../../src/config/types.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import type { Problem } from '../../src/counting/problems.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { Exchange } from '../../src/service/transport.ts';
import type { CustomerClient } from '../../src/service/types.ts';
import type { Environment } from './environment.ts';
import {
  canAuditBranches,
  canAuditOccupancy,
  isExactAfterPoll,
  mayAcceptEmpty,
  mayLackRows,
  mayOccur,
} from './tolerances.ts';

export interface Mutation {
  readonly config?: (config: Config) => Config;
  readonly client?: (client: CustomerClient) => CustomerClient;
  readonly exchange?: (exchange: Exchange) => Exchange;
  readonly marks?: () => HighWaterMarks;
  /** Is given a customer before it is polled, more than once. */
  readonly customer?: (customer: Customer) => void;
  readonly scrape?: (text: string) => string;
  /** Environments in which the error can have an effect, where these are rare. */
  readonly appliesTo?: (environment: Environment) => boolean;
}

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;

export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'no high-water mark': {
    marks: () =>
      new (class extends HighWaterMarks {
        override update(...[, , , value]: Parameters<HighWaterMarks['update']>): number {
          return value;
        }
      })(),
  },
  'state not read after a restart': {
    marks: () =>
      new (class extends HighWaterMarks {
        override restore(): number {
          return 0;
        }
      })(),
    appliesTo: ({ conventions, visitsPerDay, incidentsPerHour, incidents, days }) =>
      conventions.corrections.share > 0 &&
      visitsPerDay.some((visits) => visits >= 60) &&
      incidents.includes('kill') &&
      incidentsPerHour * days * 24 > 4,
  },
  'no reconciliation': {
    config: (config) => ({
      ...config,
      polling: { ...config.polling, reconcileIntervalMs: 1_000 * 24 * 60 * MINUTE_MS },
    }),
    appliesTo: ({ conventions }) => conventions.lateness.offlineShare >= 0.3,
  },
  'day and counting period start an hour late': {
    config: (config) => ({
      ...config,
      customers: config.customers.map((one) => ({ ...one, dayStartsAt: { hour: 5, minute: 0 } })),
    }),
  },
  // The total is still right: what the day lacks is in the total of the period.
  'window starts late': {
    client: withFrom('minute', 5),
    appliesTo: (environment) =>
      environment.alwaysOpen &&
      environment.visitsPerDay.some((visits) => visits >= 200) &&
      canAuditOccupancy(environment) &&
      !mayLackRows(environment) &&
      !mayOccur(environment, 'clock steps'),
  },
  'doors learned from other days by each process': {
    client: withHistoryByProcess,
    appliesTo: (environment) => environment.exporters === 2 && isExactAfterPoll(environment),
  },
  'first row skipped': {
    client: (client) => ({
      async query(query, signal) {
        const response = await client.query(query, signal);
        const skipped = response.aggregation === 'minute' ? 1 : 0;
        return { ...response, rows: response.rows.slice(skipped) };
      },
    }),
  },
  'lower response not requested again': {
    client: cachingRepeats,
    appliesTo: (environment) => mayLackRows(environment) && !mayAcceptEmpty(environment),
  },
  'clocks not compared': {
    exchange: (exchange) => async (request, signal) => ({
      ...(await exchange(request, signal)),
      date: undefined,
    }),
    marks: () =>
      new (class extends HighWaterMarks {
        override get newestMs(): number {
          return -Infinity;
        }
      })(),
  },
  'refused credentials tried again at once': {
    exchange: (exchange) => async (request, signal) => {
      const response = await exchange(request, signal);
      return request.form !== undefined && response.status >= 400 && response.status < 500
        ? exchange(request, signal)
        : response;
    },
  },
  'Retry-After ignored': {
    exchange: (exchange) => async (request, signal) => ({
      ...(await exchange(request, signal)),
      retryAfter: undefined,
    }),
  },
  'secret in the log': {
    exchange: (exchange) => async (request, signal) => {
      const response = await exchange(request, signal);
      if (request.form !== undefined && response.status !== 200) {
        throw new ServiceError('auth', `refused ${request.form.reveal()}`);
      }
      return response;
    },
  },
  'counters shown as 0 before the first response': {
    scrape: (text) => {
      const series = 'library_people_entered_total{customer="library-0"}';
      return text.includes(series) ? text : `${text}${series} 0\n`;
    },
  },
  'windows of branches end with the next one': {
    customer: once(endWindowsLater),
    appliesTo: (environment) =>
      environment.branches > 0 && canAuditBranches(environment) && isExactAfterPoll(environment),
  },
  'dead doors not found': {
    customer: withProblems((problems) => problems.filter(({ kind }) => kind !== 'nobody_counted')),
    appliesTo: hasDeadDoors,
  },
  'problem that begins when it is found': {
    customer: withProblems((problems, nowMs) =>
      problems.map((problem) => ({ ...problem, sinceMs: nowMs })),
    ),
    appliesTo: hasDeadDoors,
  },
  'failing polls not shown by /metrics': {
    scrape: (text) => text.replaceAll(/^library_problem_start_.*"polls_failing".*\n/gm, ''),
  },
};

/** Whether all doors of a building die for some hours in which people come. */
function hasDeadDoors(environment: Environment): boolean {
  const { deadDoors, startMs, days, visitsPerDay, breakdowns, intervalMs } = environment;
  const { fromMs = 0, toMs = 0, counts = [1] } = deadDoors ?? {};
  const endMs = Math.min(toMs, startMs + days * 24 * 60 * MINUTE_MS);
  return (
    counts.every((count) => count === 0) &&
    endMs - fromMs > 4 * 60 * MINUTE_MS &&
    (visitsPerDay[0] ?? 0) >= 200 &&
    intervalMs <= QUARTER_MS &&
    !breakdowns.includes('branch') &&
    canAuditOccupancy(environment) &&
    isExactAfterPoll(environment)
  );
}

/** Changes the problems that a customer shows. */
function withProblems(
  change: (problems: readonly Problem[], nowMs: number) => readonly Problem[],
): (customer: Customer) => void {
  return once((customer) => {
    const metricsAt = customer.metricsAt.bind(customer);
    customer.metricsAt = (nowMs): CustomerMetrics => {
      const metrics = metricsAt(nowMs);
      return { ...metrics, problems: change(metrics.problems, nowMs) };
    };
  });
}

function endWindowsLater({ branches }: Customer): void {
  const plan = branches?.plan.bind(branches);
  if (branches !== undefined && plan !== undefined) {
    branches.plan = () => {
      const task = plan();
      return task?.toMs === undefined ? task : { ...task, toMs: task.toMs + QUARTER_MS };
    };
  }
}

/** Changes each customer once. */
function once(change: (customer: Customer) => void): (customer: Customer) => void {
  const changed = new WeakSet<Customer>();
  return (customer) => {
    if (!changed.has(customer)) {
      changed.add(customer);
      change(customer);
    }
  };
}

/** Moves the start of windows some minutes. */
function withFrom(aggregation: string, minutes: number) {
  return (client: CustomerClient): CustomerClient => ({
    query: (query, signal) =>
      client.query(
        query.aggregation === aggregation
          ? { ...query, from: shifted(query.from, minutes) }
          : query,
        signal,
      ),
  });
}

let processes = 0;

/** The history of the doors is read by `quarter`. */
function withHistoryByProcess(client: CustomerClient): CustomerClient {
  processes += 1;
  return withFrom('quarter', (processes % 20) * 24 * 60)(client);
}

/** Returns the time some minutes later, with the same offset. */
function shifted(from: string, minutes: number): string {
  const [, local = '', rest = ''] = /^(.{16})(.*)$/.exec(from) ?? [];
  const shiftedMs = Date.parse(`${local}Z`) + minutes * MINUTE_MS;
  return `${new Date(shiftedMs).toISOString().slice(0, 16)}${rest}`;
}

/** Responds to a query that repeats the one before with the response to that. */
function cachingRepeats(client: CustomerClient): CustomerClient {
  let last: { readonly key: string; readonly response: AggregatedResponse } | undefined;
  return {
    async query(query, signal) {
      const key = JSON.stringify(query);
      if (last?.key === key && last.response.rows.length === 0) {
        return last.response;
      }
      const response = await client.query(query, signal);
      last = { key, response };
      return response;
    },
  };
}
