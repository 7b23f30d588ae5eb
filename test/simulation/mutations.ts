/**
 * Errors that are built into the exporter where it has a function or an object to wrap: its
 * configuration, requests, responses, high-water marks and the text of /metrics. The simulation is
 * worth what it finds of them.
 */
import { ServiceError } from '../../src/base/errors.ts';
import type { AggregatedResponse, Aggregation, Row } from '../../src/base/model.ts';
import type { Config } from '../../src/config/types.ts';
import type { BranchState, BranchTask } from '../../src/counting/branches/plan.ts';
import type { BranchSites } from '../../src/counting/branches/sites.ts';
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
  hasLocalKeys,
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
  /** Is given the branches of a customer before they are polled, more than once. */
  readonly branches?: (branches: BranchSites) => void;
  /** Changes the windows of branches that were stored. */
  readonly restored?: (state: BranchState) => BranchState;
  readonly scrape?: (scrape: () => string) => () => string;
  /** Environments in which the error can have an effect. Default: all. */
  readonly appliesTo?: (environment: Environment) => boolean;
}

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const CONNECT_PATH = '/connect/token';

export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'no high-water mark': {
    marks: () =>
      new (class extends HighWaterMarks {
        override update(...[, , , value]: Parameters<HighWaterMarks['update']>): number {
          return value;
        }
      })(),
    appliesTo: hasCorrections,
  },
  'state not read after a restart': {
    marks: () =>
      new (class extends HighWaterMarks {
        override restore(): number {
          return 0;
        }
      })(),
    appliesTo: restartsAfterCorrections,
  },
  'high-water mark of the last period used': {
    marks: () =>
      new (class extends HighWaterMarks {
        readonly #highest = new Map<string, number>();
        override update(...call: Parameters<HighWaterMarks['update']>): void {
          const [owner, counter, period, value, atMs] = call;
          const key = `${owner} ${counter}`;
          const highest = Math.max(value, this.#highest.get(key) ?? 0);
          this.#highest.set(key, highest);
          super.update(owner, counter, period, highest, atMs);
        }
      })(),
  },
  'no reconciliation': {
    config: (config) => ({
      ...config,
      polling: { ...config.polling, reconcileIntervalMs: 1_000 * 24 * 60 * MINUTE_MS },
    }),
    appliesTo: ({ conventions }) => conventions.lateness.offlineShare >= 0.3,
  },
  'day and counting period start an hour late': {
    config: (config) => withCustomers(config, { dayStartsAt: { hour: 5, minute: 0 } }),
  },
  // The total is still right: what the day lacks is in the total of the period.
  'window starts late': {
    client: withQueries(['minute'], (from) => shifted(from, 5)),
    appliesTo: (environment) =>
      environment.alwaysOpen &&
      environment.visitsPerDay.some((visits) => visits >= 200) &&
      canAuditOccupancy(environment) &&
      !mayLackRows(environment) &&
      !mayOccur(environment, 'clock steps'),
  },
  'window starts early': { client: withQueries(['minute'], (from) => shifted(from, -5)) },
  'doors learned from other days by each process': {
    client: withHistoryByProcess,
    appliesTo: (environment) => environment.exporters === 2 && isExactAfterPoll(environment),
  },
  'first row skipped': { client: withRows((rows) => rows.slice(1)) },
  'keys without an offset in the wrong zone': {
    config: (config) => ({
      ...config,
      service: { ...config.service, keyTimes: config.service.keyTimes === 'utc' ? 'local' : 'utc' },
    }),
    appliesTo: (environment) =>
      hasLocalKeys(environment) &&
      canAuditOccupancy(environment) &&
      environment.timezone !== 'UTC' &&
      environment.visitsPerDay.some((visits) => visits >= 60),
  },
  'failed request taken for an empty response': {
    client: (client) => ({
      query: (query, signal) =>
        client
          .query(query, signal)
          .catch((): AggregatedResponse => ({ aggregation: query.aggregation, rows: [] })),
    }),
    appliesTo: ({ faultRate }) => faultRate > 0.01,
  },
  'lower response not requested again': {
    client: cachingRepeats,
    appliesTo: (environment) => mayLackRows(environment) && !mayAcceptEmpty(environment),
  },
  'lagging day aggregation trusted': {
    client: withDayFromMinutes,
    appliesTo: ({ conventions }) => conventions.dayFreshness === 'nightly',
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
    appliesTo: (environment) => mayOccur(environment, 'clock wrong for a while'),
  },
  'two token requests at once': {
    exchange: (exchange) => (request, signal) => {
      if (request.form !== undefined) {
        exchange(request, signal).catch(() => undefined);
      }
      return exchange(request, signal);
    },
  },
  'refused credentials tried again at once': {
    exchange: (exchange) => async (request, signal) => {
      const response = await exchange(request, signal);
      return request.form !== undefined && response.status >= 400 && response.status < 500
        ? exchange(request, signal)
        : response;
    },
    appliesTo: (environment) =>
      mayOccur(environment, 'credentials revoked') || mayOccur(environment, 'secret rotated'),
  },
  'Retry-After ignored': {
    exchange: (exchange) => async (request, signal) => ({
      ...(await exchange(request, signal)),
      retryAfter: undefined,
    }),
    appliesTo: ({ faultKinds, faultRate }) =>
      faultRate >= 0.05 && faultKinds.some((kind) => kind.endsWith('retry-after')),
  },
  'refused token used on': {
    exchange: withFirstToken,
    appliesTo: (environment) => mayOccur(environment, 'tokens dropped'),
  },
  'secret in the log': {
    exchange: (exchange) => async (request, signal) => {
      const response = await exchange(request, signal);
      if (request.form !== undefined && response.status !== 200) {
        throw new ServiceError('auth', `${CONNECT_PATH} refused ${request.form.reveal()}`);
      }
      return response;
    },
  },
  'counters shown as 0 before the first response': {
    scrape: (scrape) => () => {
      const text = scrape();
      const series = 'library_people_entered_total{customer="library-0"}';
      return text.includes(series) ? text : `${text}${series} 0\n`;
    },
  },
  'last values shown while polls fail over the change of day or period': {
    scrape: (scrape) => {
      let shown = '';
      return () => {
        const text = scrape();
        const isUp = text.includes('library_up{customer="library-0",stream="people"} 1\n');
        shown = isUp || shown === '' ? text : shown;
        return shown;
      };
    },
    appliesTo: (environment) => mayOccur(environment, 'outage'),
  },
  "today's sums of branches start an hour late": {
    branches: withTasks((task) =>
      task.toMs === undefined ? { ...task, fromMs: task.fromMs + 4 * QUARTER_MS } : task,
    ),
    appliesTo: (environment) => hasPromptBranches(environment) && environment.alwaysOpen,
  },
  'windows of branches end with the next one': {
    branches: withTasks((task) =>
      task.toMs === undefined ? task : { ...task, toMs: task.toMs + QUARTER_MS },
    ),
    appliesTo: hasPromptBranches,
  },
  'stored windows given to other branches after a restart': {
    restored: (state) => ({ ...state, keys: state.keys.toReversed() }),
    appliesTo: (environment) =>
      hasPromptBranches(environment) && environment.branches > 1 && mayOccur(environment, 'kill'),
  },
  'dead doors not found': {
    customer: withProblems((problems) => problems.filter(({ kind }) => kind !== 'nobody_counted')),
    appliesTo: hasDeadDoors,
  },
  'problem of doors that does not end when somebody is counted': {
    customer: withProblems((problems, _, before) => [
      ...problems,
      ...before.filter(({ kind }) => problems.every((one) => one.kind !== kind)),
    ]),
    appliesTo: hasDeadDoors,
  },
  'problem that begins when it is found': {
    customer: withProblems((problems, nowMs, before) =>
      problems.map(
        (problem) =>
          before.find(({ kind }) => kind === problem.kind) ?? { ...problem, sinceMs: nowMs },
      ),
    ),
    appliesTo: hasDeadDoors,
  },
  'problems of the last poll but one shown by /metrics': {
    scrape: (scrape) => {
      let problems = '';
      return () => {
        const text = scrape();
        const [old, now] = [problems, (text.match(PROBLEM_LINES) ?? []).join('')];
        problems = now;
        return text.replaceAll(PROBLEM_LINES, '').replace(/$/, old);
      };
    },
    appliesTo: hasDeadDoors,
  },
};

const PROBLEM_LINES = /^library_problem_start_timestamp_seconds.*\n/gm;

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

/** Changes the problems of a customer; `before` are those that were shown last. */
function withProblems(
  change: (
    problems: readonly Problem[],
    nowMs: number,
    before: readonly Problem[],
  ) => readonly Problem[],
): (customer: Customer) => void {
  const changed = new WeakSet<Customer>();
  return (customer) => {
    if (!changed.has(customer)) {
      changed.add(customer);
      let before: readonly Problem[] = [];
      const metricsAt = customer.metricsAt.bind(customer);
      customer.metricsAt = (nowMs): CustomerMetrics => {
        const metrics = metricsAt(nowMs);
        before = change(metrics.problems, nowMs, before);
        return { ...metrics, problems: before };
      };
    }
  };
}

function hasPromptBranches(environment: Environment): boolean {
  return environment.branches > 0 && canAuditBranches(environment) && isExactAfterPoll(environment);
}

/** Changes the requests for the windows of branches. */
function withTasks(change: (task: BranchTask) => BranchTask): (branches: BranchSites) => void {
  const changed = new WeakSet<BranchSites>();
  return (branches) => {
    if (!changed.has(branches)) {
      changed.add(branches);
      const plan = branches.plan.bind(branches);
      branches.plan = () => {
        const task = plan();
        return task && change(task);
      };
    }
  };
}

function hasCorrections({ conventions }: Environment): boolean {
  return conventions.corrections.share > 0;
}

function restartsAfterCorrections(environment: Environment): boolean {
  const { incidentsPerHour, days } = environment;
  const hasRestarts = mayOccur(environment, 'kill') && incidentsPerHour * days * 24 > 4;
  const hasVisits = environment.visitsPerDay.some((visits) => visits >= 60);
  return hasCorrections(environment) && hasRestarts && hasVisits;
}

function withCustomers(config: Config, change: Partial<Config['customers'][number]>): Config {
  return { ...config, customers: config.customers.map((one) => ({ ...one, ...change })) };
}

function withRows(change: (rows: readonly Row[]) => readonly Row[]) {
  return (client: CustomerClient): CustomerClient => ({
    async query(query, signal) {
      const response = await client.query(query, signal);
      return query.aggregation === 'minute' && response.aggregation === 'minute'
        ? { ...response, rows: change(response.rows) }
        : response;
    },
  });
}

function withQueries(
  aggregations: readonly Aggregation[],
  changeFrom: (from: string) => string,
): (client: CustomerClient) => CustomerClient {
  return (client) => ({
    query: (query, signal) =>
      client.query(
        aggregations.includes(query.aggregation)
          ? { ...query, from: changeFrom(query.from) }
          : query,
        signal,
      ),
  });
}

let processes = 0;

/** The history of the doors is read by `quarter`. */
function withHistoryByProcess(client: CustomerClient): CustomerClient {
  processes += 1;
  const days = processes % 20;
  return withQueries(['quarter'], (from) => shifted(from, days * 24 * 60))(client);
}

/** Returns the time some minutes later or earlier, with the same offset. */
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

/** Reads the totals of today by `minute` instead of `day`, so that a roll-up that lags goes unnoticed. */
function withDayFromMinutes(client: CustomerClient): CustomerClient {
  let lastFrom = '';
  return {
    async query(query, signal) {
      const isToday = query.aggregation === 'day' && query.from === lastFrom;
      lastFrom = query.from;
      return isToday
        ? {
            ...(await client.query({ ...query, aggregation: 'minute' }, signal)),
            aggregation: 'day',
          }
        : client.query(query, signal);
    },
  };
}

/** Sends the first token of each process for ever. */
function withFirstToken(exchange: Exchange): Exchange {
  let first: Parameters<Exchange>[0]['bearer'];
  return (request, signal) => {
    first ??= request.bearer;
    return exchange(
      request.bearer === undefined || first === undefined ? request : { ...request, bearer: first },
      signal,
    );
  };
}
