/** How many requests the customers need, and the default of `max_requests_per_second`. */
import type { CustomerConfig, PollingConfig } from './types.ts';

type Polled = Pick<CustomerConfig, 'streams' | 'breakdowns'>;

const MIN_REQUESTS_PER_SECOND = 50;
/** The default is higher where the first polls of a start would take longer, but not above the second one. */
const START_SECONDS = 20;
const MAX_REQUESTS_PER_SECOND_AT_START = 200;

/**
 * Returns the requests per second that polling needs: one per interval for each stream, and two per
 * breakdown interval for each breakdown: one from the start of the counting period and one of the day
 * (docs/how-it-counts.md#rules). The windows of branches need one more per interval.
 */
export function requestsPerSecond(
  { intervalMs, breakdownIntervalMs }: PollingConfig,
  customers: readonly Polled[],
): number {
  return customers.reduce((sum, { streams, breakdowns }) => {
    const perInterval = streams.length + (breakdowns.includes('branch') ? 1 : 0);
    const perBreakdownInterval = 2 * breakdowns.length;
    return sum + (perInterval / intervalMs + perBreakdownInterval / breakdownIntervalMs) * 1_000;
  }, 0);
}

/** Returns twice what polling needs; more for a start: a token, five per stream and two per breakdown. */
export function defaultRequestsPerSecond(polling: PollingConfig, customers: readonly Polled[]) {
  function requestsAtStart({ streams, breakdowns }: Polled): number {
    return 1 + 5 * streams.length + 2 * breakdowns.length;
  }
  const atStart = customers.reduce((sum, customer) => sum + requestsAtStart(customer), 0);
  return Math.max(
    MIN_REQUESTS_PER_SECOND,
    Math.ceil(2 * requestsPerSecond(polling, customers)),
    Math.min(Math.ceil(atStart / START_SECONDS), MAX_REQUESTS_PER_SECOND_AT_START),
  );
}
