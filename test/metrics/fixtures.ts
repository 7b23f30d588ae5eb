/** Figures of made-up customers, and sources that tell them. */
import type { CustomerMetrics, MetricsSource } from '../../src/counting/customer-metrics.ts';

/** 2026-03-10T09:00:00Z: an hour at which both customers below are open. */
export const NOW_MS = Date.UTC(2026, 2, 10, 9);

const IN_AN_HOUR_MS = NOW_MS + 3_600_000;

/** A customer of which everything is known. */
export function riverside(changes: Partial<CustomerMetrics> = {}): CustomerMetrics {
  return {
    customer: 'riverside',
    timezone: 'Europe/Copenhagen',
    labels: { region: 'north' },
    utcOffsetSeconds: 3_600,
    periodStartMs: Date.UTC(2026, 2, 1, 3),
    capacity: 250,
    open: true,
    credentialsValid: true,
    occupancy: 42,
    counters: {
      people_entered: { total: 12_345, excess: 0, today: 321 },
      people_exited: { total: 12_301, excess: 2, today: 279 },
      logins: { total: 3_210, excess: 0, today: 55 },
    },
    breakdowns: {},
    streams: {
      people: {
        up: true,
        lastSuccessMs: NOW_MS - 12_250,
        lastSeenMs: NOW_MS - 60_000,
        polls: 100,
        failures: 3,
        skipped: 1,
        lastError: undefined,
      },
      logins: {
        up: false,
        lastSuccessMs: NOW_MS - 600_000,
        lastSeenMs: NOW_MS - 900_000,
        polls: 99,
        failures: 10,
        skipped: 0,
        lastError: { message: 'The service answered 503', atMs: NOW_MS - 5_000 },
      },
    },
    validUntilMs: IN_AN_HOUR_MS,
    ...changes,
  };
}

/** A customer that was configured a moment ago and has not been polled, people only. */
export function harbour(changes: Partial<CustomerMetrics> = {}): CustomerMetrics {
  return {
    customer: 'harbour',
    timezone: 'America/New_York',
    labels: {},
    utcOffsetSeconds: -14_400,
    periodStartMs: Date.UTC(2026, 2, 1, 9),
    capacity: undefined,
    open: undefined,
    credentialsValid: undefined,
    occupancy: undefined,
    counters: { people_entered: UNKNOWN_KIND, people_exited: UNKNOWN_KIND },
    breakdowns: {},
    streams: { people: NOT_POLLED },
    validUntilMs: IN_AN_HOUR_MS,
    ...changes,
  };
}

const UNKNOWN_KIND = { total: undefined, excess: undefined, today: undefined };
const NOT_POLLED = {
  up: undefined,
  lastSuccessMs: undefined,
  lastSeenMs: undefined,
  polls: 0,
  failures: 0,
  skipped: 0,
  lastError: undefined,
};

/** A source that a test moves; it counts how often it was asked. */
export class MovableSource implements MetricsSource {
  readonly customer: string;
  figures: CustomerMetrics;
  asked = 0;

  constructor(figures: CustomerMetrics) {
    this.customer = figures.customer;
    this.figures = figures;
  }

  metricsAt(): CustomerMetrics {
    this.asked += 1;
    return this.figures;
  }
}
