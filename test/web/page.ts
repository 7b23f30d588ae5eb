/** The status page of some customers, and what a person reads of it. */
import type { StatusCustomer } from '../../src/web/status-data.ts';
import { renderStatusPage } from '../../src/web/status-page.ts';
import { parseStatusQuery } from '../../src/web/status-query.ts';
import { NOW_MS, customer, stream } from './fixtures.ts';

export function pageOf(customers: readonly StatusCustomer[], query = '/'): string {
  return renderStatusPage(
    { nowMs: NOW_MS, customers },
    { version: '1.2.3', telemetryPath: '/metrics', query: parseStatusQuery(query) },
  );
}

/** What a person reads, without tags and with single spaces. */
export function readable(page: string): string {
  return page
    .replace(/<style>[^]*<\/style>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

export function numbered(customers: number): readonly StatusCustomer[] {
  return Array.from({ length: customers }, (_, i) => customer({ customer: `library-${i}` }));
}

/** As the service says nothing yet. */
export function unknownCustomer(): StatusCustomer {
  return customer({
    open: undefined,
    capacity: undefined,
    occupancy: undefined,
    credentialsValid: undefined,
    counters: { people_entered: { today: undefined } },
    streams: { people: stream({ up: undefined, lastSuccessMs: undefined, polls: 0 }) },
    path: undefined,
    nextPollInMs: { people: 0 },
  });
}
