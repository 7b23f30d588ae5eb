/**
 * Errors that are built into the exporter where it has a function or an object to wrap: its
 * configuration, requests, responses, high-water marks and the text of /metrics. Each is for an audit that
 * must find it. Whether a change of one function is noticed, `npm run mutants` says.
 */
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { ServiceError } from '../../src/base/errors.ts';
import type { Config, CustomerConfig } from '../../src/config/types.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { Problem } from '../../src/counting/problems.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { Exchange } from '../../src/service/transport.ts';
import type { CustomerClient } from '../../src/service/types.ts';

export interface Mutation {
  readonly config?: (config: Config) => Config;
  readonly client?: (client: CustomerClient) => CustomerClient;
  readonly exchange?: (exchange: Exchange) => Exchange;
  readonly marks?: () => HighWaterMarks;
  /** Changes a new customer. */
  readonly customer?: (customer: Customer) => void;
  readonly scrape?: (text: string) => string;
}

export const MUTATIONS = {
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
  },
  'no reconciliation': {
    config: (config) => ({
      ...config,
      polling: { ...config.polling, reconcileIntervalMs: 1_000 * DAY_MS },
    }),
  },
  'day and counting period start an hour late': {
    config: withCustomers({ dayStartsAt: { hour: 5, minute: 0 } }),
  },
  'window starts late': {
    client: withFrom('minute', () => 5),
  },
  'doors learned from other days by each process': {
    client: withFrom('quarter', () => (processes++ % 20) * 24 * 60),
  },
  'clocks not compared': {
    exchange: withoutHeader('date'),
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
  'Retry-After ignored': { exchange: withoutHeader('retryAfter') },
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
    customer({ branches }) {
      const plan = branches?.plan.bind(branches);
      if (branches !== undefined && plan !== undefined) {
        branches.plan = () => {
          const task = plan();
          return task?.toMs === undefined ? task : { ...task, toMs: task.toMs + 15 * MINUTE_MS };
        };
      }
    },
  },
  'dead doors not found': {
    customer: withProblems((problems) => problems.filter(({ kind }) => kind !== 'nobody_counted')),
  },
  'problem that begins when it is found': {
    customer: withProblems((problems, nowMs) =>
      problems.map((problem) => ({ ...problem, sinceMs: nowMs })),
    ),
  },
  'failing polls not shown by /metrics': {
    scrape: (text) => text.replaceAll(/^library_problem_start_.*"polls_failing".*\n/gm, ''),
  },
} satisfies Readonly<Record<string, Mutation>>;

/** Changes the configuration of every customer. */
export function withCustomers(change: Partial<CustomerConfig>): (config: Config) => Config {
  return (config) => ({
    ...config,
    customers: config.customers.map((one) => ({ ...one, ...change })),
  });
}

function withoutHeader(name: 'date' | 'retryAfter'): (exchange: Exchange) => Exchange {
  return (exchange) => async (request, signal) => ({
    ...(await exchange(request, signal)),
    [name]: undefined,
  });
}

/** Changes the problems that a customer shows. */
function withProblems(
  change: (problems: readonly Problem[], nowMs: number) => readonly Problem[],
): (customer: Customer) => void {
  return (customer) => {
    const metricsAt = customer.metricsAt.bind(customer);
    customer.metricsAt = (nowMs) => {
      const metrics = metricsAt(nowMs);
      return { ...metrics, problems: change(metrics.problems, nowMs) };
    };
  };
}

let processes = 0;

/** Moves the start of windows some minutes, with the same offset. */
function withFrom(aggregation: string, minutesOf: () => number) {
  return (client: CustomerClient): CustomerClient => {
    const minutes = minutesOf();
    return {
      query(query, signal) {
        const [, local = '', rest = ''] = /^(.{16})(.*)$/.exec(query.from) ?? [];
        const shiftedMs = Date.parse(`${local}Z`) + minutes * MINUTE_MS;
        const from = `${new Date(shiftedMs).toISOString().slice(0, 16)}${rest}`;
        return client.query(query.aggregation === aggregation ? { ...query, from } : query, signal);
      },
    };
  };
}
