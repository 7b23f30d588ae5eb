/** Metrics of two customers, and sources that a test can change. */
import { BREAKDOWNS } from '../../src/base/model.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { UNPOLLED } from '../../src/counting/totals/health.ts';
import type { CustomerMetrics, StreamMetrics } from '../../src/counting/customer-metrics.ts';
import { createExposition } from '../../src/metrics/exposition.ts';
import type { Exposition } from '../../src/metrics/exposition.ts';
import type { Format } from '../../src/metrics/family.ts';
import { customerNamed } from '../support/polled.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** 2026-03-10T09:00:00Z. */
export const NOW_MS = Date.UTC(2026, 2, 10, 9);

/** A customer with a value for everything but breakdowns. */
export function riverside(changes: Partial<CustomerMetrics> = {}): CustomerMetrics {
  return {
    customer: 'riverside',
    timezone: 'Europe/Copenhagen',
    labels: { region: 'north' },
    utcOffsetSeconds: 3_600,
    periodStartMs: Date.UTC(2026, 2, 1, 3),
    month: '2026-03',
    capacity: 250,
    open: true,
    staffed: false,
    credentialsValid: true,
    occupancy: 42,
    inside: 39,
    enteredHour: 27,
    problems: [],
    isTrusted: true,
    missed: 7.5,
    estimate: { people: { people: 38.5, lower: 33, upper: 44.25 }, ratio: 1.04 },
    usual: {
      people: 14.5,
      entries: 6,
      exits: 5.25,
      entriesLastHour: 33,
      entriesToday: 310.5,
      inside: 47.5,
      openSinceLastSeenMs: 61_500,
    },
    branches: undefined,
    counters: {
      people_entered: { total: 12_345, excess: 0, today: 321 },
      people_exited: { total: 12_301, excess: 2, today: 279 },
      logins: { total: 3_210, excess: 0, today: 55 },
    },
    breakdowns: {},
    streams: {
      people: streamMetrics({
        up: true,
        lastSuccessMs: NOW_MS - 12_250,
        acceptedMs: NOW_MS - 132_250,
        lastSeenMs: NOW_MS - 60_000,
        polls: 100,
        failures: 3,
        skipped: 1,
      }),
      logins: streamMetrics({ up: false, lastSeenMs: NOW_MS - 900_000 }),
    },
    validUntilMs: Infinity,
    ...changes,
  };
}

export function streamMetrics(changes: Partial<StreamMetrics>): StreamMetrics {
  return { ...UNPOLLED, lastSeenMs: undefined, ...changes };
}

/** A customer that was not polled yet, with the stream people only. */
export function harbour(changes: Partial<CustomerMetrics> = {}): CustomerMetrics {
  const unpolled = customerNamed('harbour', undefined, { zone: new Zone('America/New_York') });
  return { ...unpolled.metricsAt(NOW_MS), validUntilMs: Infinity, ...changes };
}

/** Exposes these sources, which have the labels and breakdowns of their metrics. */
export function setSources(exposition: Exposition, sources: readonly TestSource[]): void {
  const configured = sources.map(({ metrics: { labels, breakdowns } }) => ({
    labels,
    breakdowns: BREAKDOWNS.filter((breakdown) => breakdowns[breakdown] !== undefined),
  }));
  exposition.setCustomers(sources, configured);
}

type TestSource = ReturnType<typeof sourceOf>;

function sourceOf(metrics: CustomerMetrics) {
  return {
    customer: metrics.customer,
    metrics,
    asked: 0,
    metricsAt() {
      this.asked += 1;
      return this.metrics;
    },
  };
}

/** What exposes these metrics, each by a source of its own. */
export function exposing(...metrics: readonly CustomerMetrics[]) {
  const clock = new VirtualClock(NOW_MS);
  const exposition = createExposition({ clock });
  const sources = metrics.map(sourceOf);
  setSources(exposition, sources);
  return { clock, exposition, sources };
}

export function textOf(exposition: Exposition, format: Format = 'text'): string {
  return Buffer.concat(exposition.render(format).map(({ plain }) => plain)).toString();
}
