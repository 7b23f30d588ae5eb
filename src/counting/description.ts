/** What is told of a customer beside its counts, and what that comes to at an instant. */
import type { CustomerMetrics } from './customer-metrics.ts';
import type { OpeningHours } from './opening-hours.ts';
import type { Zone } from './zone.ts';

/** What is told of a customer and changes nothing that is counted. */
export interface CustomerDescription {
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: number | undefined;
  readonly openingHours: OpeningHours | undefined;
}

/** `timezone` is the one that is told and that the opening hours are in; `zone` is counted by. */
export function describedAt(
  { labels, capacity, openingHours }: CustomerDescription,
  zone: Zone,
  timezone: string,
  atMs: number,
): Pick<CustomerMetrics, 'labels' | 'utcOffsetSeconds' | 'capacity' | 'open'> {
  return {
    labels,
    utcOffsetSeconds: zone.offsetMsAt(atMs) / 1000,
    capacity,
    open: openingHours?.isOpenAt(atMs, timezone),
  };
}
