/** How many requests a configuration makes, in words. Pure. */
import { formatDuration } from '../base/duration.ts';
import { LEAST_REQUESTS_PER_SECOND } from '../config/keys.ts';
import { requestsPerSecond } from '../config/service.ts';
import type { Config } from '../config/types.ts';

/** An anchor asks five questions in the place of one (DESIGN.md, section 3). */
const MORE_PER_ANCHOR = 4;
/** A token of the usual hour is renewed when 0.8 of it is over. */
const TOKEN_MINUTES = 48;

/** Requests a minute in the steady state, what they are for, and the limits in force. */
export function requestRateText({ polling, service, customers }: Config): string {
  const streams = customers.reduce((sum, customer) => sum + customer.streams.length, 0);
  const polls = 60 * requestsPerSecond(polling, customers);
  const anchors = (MORE_PER_ANCHOR * streams * 60_000) / polling.reconcileIntervalMs;
  const tokens = customers.length / TOKEN_MINUTES;
  const { maxRequestsPerSecond, maxConcurrency } = service;
  const hasBreakdowns = customers.some(({ breakdowns }) => breakdowns.length > 0);
  const paces = [
    `every ${formatDuration(polling.intervalMs)}`,
    ...(hasBreakdowns ? [`breakdowns every ${formatDuration(polling.breakdownIntervalMs)}`] : []),
  ];
  return (
    `requests: ${rounded(polls + anchors + tokens)} a minute: ${rounded(polls)} for polls ` +
    `(${paces.join(', ')}), ${rounded(anchors)} for anchors (every ` +
    `${formatDuration(polling.reconcileIntervalMs)}), ${rounded(tokens)} for tokens\n` +
    `limits: ${maxRequestsPerSecond} a second (max_requests_per_second; by default twice what ` +
    `the polls need, at least ${LEAST_REQUESTS_PER_SECOND}), ${maxConcurrency} at once (max_concurrency)\n`
  );
}

function rounded(requests: number): string {
  return requests >= 100 ? String(Math.round(requests)) : String(Number(requests.toFixed(1)));
}
