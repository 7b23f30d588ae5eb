/**
 * What the status page is told of the customers. How each does is said at once, for the page sorts by
 * it; what is dear to find out is found out for those alone that the page shows.
 */
import type { Clock } from '../base/clock.ts';
import type { Stream } from '../base/model.ts';
import type { Customer } from '../counting/customer.ts';
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import type { Health } from '../counting/health.ts';
import type { OccupancyPath } from '../counting/shown.ts';
import type { Poller } from './poller.ts';

export interface CustomerStatus {
  readonly customer: string;
  readonly credentialsValid: boolean | undefined;
  readonly streams: Readonly<Partial<Record<Stream, Health>>>;
  readonly detail: () => CustomerDetail;
}

export interface CustomerDetail {
  readonly figures: CustomerMetrics;
  readonly path: OccupancyPath | undefined;
  /** How long until each stream is polled next; 0 for one that is being polled. */
  readonly nextPollInMs: Readonly<Partial<Record<Stream, number | undefined>>>;
}

export interface StatusOptions {
  readonly customers: readonly Customer[];
  readonly poller: Poller;
  readonly clock: Clock;
}

/** In the order of the configuration, at the clock's instant. */
export function statusOf({ customers, poller, clock }: StatusOptions): {
  readonly nowMs: number;
  readonly customers: readonly CustomerStatus[];
} {
  const nowMs = clock.nowMs();
  return {
    nowMs,
    customers: customers.map((customer) => ({
      customer: customer.customer,
      credentialsValid: customer.credentialsValid,
      streams: customer.health,
      detail: () => ({
        figures: customer.metricsAt(nowMs),
        path: customer.occupancyPathAt(nowMs),
        nextPollInMs: Object.fromEntries(
          [...customer.streams, ...customer.breakdowns].map((stream) => [
            stream,
            poller.nextPollInMs(customer, stream),
          ]),
        ),
      }),
    })),
  };
}
