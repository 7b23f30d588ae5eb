/**
 * Audits occupancy and last seen: they must follow from the records that the service had at some
 * instant of the last successful poll.
 */
import { Temporal } from 'temporal-polyfill';
import type { OccupancyMinute } from '../../src/simulator/ground-truth.ts';
import { dayStart } from '../acceptance/local-time.ts';
import type { AuditContext } from './auditor.ts';
import { DAY_STARTS_AT, hasLocalKeys, canAuditOccupancy } from './tolerances.ts';
import type { Scrape } from './scrape.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface TimeRange {
  readonly startMs: number;
  readonly endMs: number;
}

export class OccupancyAuditor {
  readonly #context: AuditContext;

  constructor(context: AuditContext) {
    this.#context = context;
  }

  /** With faults occupancy may be absent; `inTheEnd` only if the last successful poll is old. */
  audit(exporter: string, customer: string, scrape: Scrape, inTheEnd: boolean): void {
    const { environment, clock, polls, report } = this.#context;
    const nowMs = clock.nowMs();
    const dayMs = dayStart(nowMs, environment.timezone, DAY_STARTS_AT);
    const readSeconds = scrape.value(
      'library_poll_last_success_timestamp_seconds',
      customer,
      'people',
    );
    if (readSeconds === undefined || !canAuditOccupancy(environment)) {
      return;
    }
    const readMs = 1000 * readSeconds;
    if (this.#mayConfuseHours(dayMs, readMs)) {
      return;
    }
    const inside = scrape.value('library_occupancy_people', customer);
    const seen = scrape.value('library_people_last_seen_timestamp_seconds', customer);
    const tookMs = polls.tookMs(exporter, 'people', readMs);
    const possible = this.#possible(customer, dayMs, readMs, tookMs);
    if (possible === undefined) {
      return;
    }
    const { inside: possibleInside, seen: possibleSeen } = possible;
    const isOld = nowMs - readMs > 14 * MINUTE_MS;
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

  /** If offsets are ignored, a window may start in the wrong one of two hours, until the next baseline. */
  #mayConfuseHours(dayMs: number, readMs: number): boolean {
    const { conventions, timezone, reconcileIntervalMs, intervalMs } = this.#context.environment;
    const repeated = repeatedTimes(dayMs, timezone);
    return (
      conventions.designator !== 'honoured' &&
      repeated !== undefined &&
      readMs > repeated.startMs &&
      readMs < repeated.endMs + reconcileIntervalMs + 4 * intervalMs
    );
  }

  /**
   * Possible values during the last successful poll; undefined if they are ambiguous. `seen` is empty if
   * last seen may be of the day before, or if its key occurs twice.
   */
  #possible(customer: string, dayMs: number, readMs: number, tookMs: number) {
    const inside = new Set<number>();
    const seen = new Set<number>();
    const { environment, service } = this.#context;
    const repeated = hasLocalKeys(environment)
      ? repeatedTimes(dayMs, environment.timezone)
      : undefined;
    for (let ms = 0; ms < tookMs + 1000; ms += 1000) {
      const path = service.countedOccupancy(customer, dayMs, readMs - Math.min(ms, tookMs));
      if (repeated !== undefined && dependsOnOrder(path, repeated)) {
        return undefined;
      }
      const end = path.at(-1);
      inside.add(end?.people ?? 0);
      seen.add(end === undefined || isWithin(end, repeated) ? NaN : end.minuteMs);
    }
    return { inside, seen: seen.has(NaN) ? new Set<number>() : seen };
  }
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

/** The local times that occur twice within a day after an instant, if clocks are set back. */
function repeatedTimes(fromMs: number, timezone: string): TimeRange | undefined {
  const start = Temporal.Instant.fromEpochMilliseconds(fromMs).toZonedDateTimeISO(timezone);
  const change = start.getTimeZoneTransition('next');
  const backMs = change === null ? 0 : (start.offsetNanoseconds - change.offsetNanoseconds) / 1e6;
  const changeMs = change?.epochMilliseconds ?? Infinity;
  return backMs > 0 && changeMs < fromMs + DAY_MS
    ? { startMs: changeMs - backMs, endMs: changeMs + backMs }
    : undefined;
}
