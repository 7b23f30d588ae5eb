/**
 * Audits occupancy and last seen: they must follow from the records that the service had at some
 * instant of the last successful poll.
 */
import { countedOccupancy } from '../support/ground-truth.ts';
import type { OccupancyMinute } from '../support/ground-truth.ts';
import type { AuditContext, CustomerScrape } from './auditor.ts';
import { canAuditOccupancy, hasLocalKeys, mayConfuseHours, repeatedTimes } from './tolerances.ts';
import type { TimeRange } from './tolerances.ts';

const MINUTE_MS = 60_000;
const BUILDING_GAUGES = [
  'library_occupancy_people',
  'library_people_entered_today',
  'library_people_exited_today',
  'library_people_last_seen_timestamp_seconds',
];

export function createOccupancyAuditor({ environment, service, clock, report }: AuditContext) {
  /** Audits occupancy, which may be absent after faults; `inTheEnd` only if the last successful poll is old. */
  function audit(of: CustomerScrape, inTheEnd: boolean): void {
    const { exporter, customer, scrape, dayMs } = of;
    if (environment.breakdowns.includes('branch')) {
      // Each branch is a building, and the customer none.
      for (const name of BUILDING_GAUGES) {
        if (scrape.value(name, customer) !== undefined) {
          report(`${exporter} has ${name} of ${customer} beside those of its branches`);
        }
      }
      return;
    }
    const poll = of.lastPoll('people');
    if (
      poll === undefined ||
      !canAuditOccupancy(environment) ||
      mayConfuseHours(of.environment, dayMs, poll.endMs)
    ) {
      return;
    }
    const possible = possibleValues(of, poll.endMs, poll.tookMs);
    if (possible === undefined) {
      return;
    }
    const nowMs = clock.nowMs();
    const inside = scrape.value('library_occupancy_people', customer);
    const seen = scrape.value('library_people_last_seen_timestamp_seconds', customer);
    const { inside: possibleInside, seen: possibleSeen } = possible;
    const isOld = nowMs - poll.endMs > 14 * MINUTE_MS;
    // An empty day must be confirmed three times.
    const isNewDay = nowMs - dayMs < 5 * environment.intervalMs;
    const mayBeAbsent = inside === undefined && (!inTheEnd || isOld || isNewDay);
    if (!mayBeAbsent && (inside === undefined || !possibleInside.has(inside))) {
      report(
        `${exporter} library_occupancy_people ${customer} is ${inside}, not ${[...possibleInside].join(' or ')}`,
      );
    }
    if (seen !== undefined && possibleSeen.size > 0 && !possibleSeen.has(1000 * seen)) {
      const minutes = Array.from(possibleSeen, (ms) => ms / 1000).join(' or ');
      report(`${exporter} ${customer} was last seen at ${seen}, not at ${minutes}`);
    }
  }

  /**
   * Possible values during the last successful poll; undefined if they are ambiguous. `seen` is empty if
   * last seen may be of the day before, or if its key occurs twice.
   */
  function possibleValues(of: CustomerScrape, readMs: number, tookMs: number) {
    const { customer, dayMs } = of;
    const inside = new Set<number>();
    const seen = new Set<number>();
    const repeated = hasLocalKeys(environment)
      ? repeatedTimes(dayMs, of.environment.timezone)
      : undefined;
    for (let ms = 0; ms < tookMs + 1000; ms += 1000) {
      const path = countedOccupancy(service, customer, dayMs, readMs - Math.min(ms, tookMs));
      if (repeated !== undefined && dependsOnOrder(path, repeated)) {
        return undefined;
      }
      const end = path.at(-1);
      inside.add(end?.people ?? 0);
      seen.add(end === undefined || isWithin(end, repeated) ? NaN : end.minuteMs);
    }
    return { inside, seen: seen.has(NaN) ? new Set<number>() : seen };
  }

  return { audit };
}

/** Occupancy depends on the order of minutes with the same key if more people leave in them than were inside. */
function dependsOnOrder(path: readonly OccupancyMinute[], repeated: TimeRange): boolean {
  const within = path.filter((at) => isWithin(at, repeated));
  const before = path.findLast(({ minuteMs }) => minuteMs < repeated.startMs)?.people ?? 0;
  return within.reduce((sum, { exited }) => sum + exited, 0) > before;
}

function isWithin({ minuteMs }: OccupancyMinute, stretch: TimeRange | undefined): boolean {
  return stretch !== undefined && minuteMs >= stretch.startMs && minuteMs < stretch.endMs;
}
