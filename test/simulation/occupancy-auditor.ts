/**
 * Where keys are written plainly: occupancy is the floored path over the rows served at some instant
 * of the last good poll, and last seen is the newest minute of that path.
 */
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { OccupancyMinute } from '../../src/simulator/ground-truth.ts';
import type { WorldClock } from './clock.ts';
import type { DrawnWorld } from './drawn-world.ts';
import { hasLocalKeys, hasPlainMinutes } from './excuses.ts';
import type { PollTimes } from './poll-times.ts';
import type { Scrape } from './scrape.ts';
import { dayStart, repeatedTimes } from './wall.ts';
import type { Stretch } from './wall.ts';

const MINUTE_MS = 60_000;

export interface OccupancyAuditorOptions {
  readonly world: DrawnWorld;
  readonly service: SimulatedService;
  readonly clock: WorldClock;
  readonly polls: PollTimes;
  readonly violated: (what: string) => void;
}

export class OccupancyAuditor {
  readonly #world: DrawnWorld;
  readonly #service: SimulatedService;
  readonly #clock: WorldClock;
  readonly #polls: PollTimes;
  readonly #violated: (what: string) => void;

  constructor({ world, service, clock, polls, violated }: OccupancyAuditorOptions) {
    this.#world = world;
    this.#service = service;
    this.#clock = clock;
    this.#polls = polls;
    this.#violated = violated;
  }

  /** In the storm occupancy may be unknown; in the end not, unless the last good poll is old. */
  audit(exporter: string, customer: string, scrape: Scrape, inTheEnd: boolean): void {
    const nowMs = this.#clock.nowMs();
    const dayMs = dayStart(nowMs, this.#world.timezone);
    const readMs =
      1000 *
      (scrape.value('library_poll_last_success_timestamp_seconds', customer, 'people') ?? NaN);
    // Whether a first poll has come is for others to judge.
    if (!hasPlainMinutes(this.#world) || Number.isNaN(readMs)) {
      return;
    }
    if (this.#mayMistakeTheHour(dayMs, readMs)) {
      return;
    }
    const inside = scrape.value('library_occupancy_people', customer);
    const seen = scrape.value('library_people_last_seen_timestamp_seconds', customer);
    const tookMs = this.#polls.tookMs(exporter, 'people', readMs);
    const possible = this.#possible(customer, dayMs, readMs, tookMs);
    if (possible === undefined) {
      return;
    }
    const { inside: possibleInside, seen: possibleSeen } = possible;
    const isOld = nowMs - readMs > 14 * MINUTE_MS;
    // That nobody has come has to be said three times.
    const isNewDay = nowMs - dayMs < 5 * this.#world.intervalMs;
    const mayBeAbsent = inside === undefined && (!inTheEnd || isOld || isNewDay);
    if (!mayBeAbsent && (inside === undefined || !possibleInside.has(inside))) {
      this.#violated(
        `${exporter} library_occupancy_people ${customer} is ${inside}, not ${[...possibleInside].join(' or ')}`,
      );
    }
    if (seen !== undefined && possibleSeen.size > 0 && !possibleSeen.has(1000 * seen)) {
      const minutes = Array.from(possibleSeen, (ms) => ms / 1000).join(' or ');
      this.#violated(`${exporter} ${customer} was last seen at ${seen}, not at ${minutes}`);
    }
  }

  /** Without its offset, the start of a window may be in the wrong one of two hours, until the next anchor. */
  #mayMistakeTheHour(dayMs: number, readMs: number): boolean {
    const { conventions, timezone, reconcileIntervalMs, intervalMs } = this.#world;
    const repeated = repeatedTimes(dayMs, timezone);
    return (
      conventions.designator !== 'honoured' &&
      repeated !== undefined &&
      readMs > repeated.startMs &&
      readMs < repeated.endMs + reconcileIntervalMs + 4 * intervalMs
    );
  }

  /**
   * At the instants of the last good poll; undefined where nobody can tell. None for last seen where
   * nobody may have come yet, so that it is of the day before, or where its key is that of two minutes.
   */
  #possible(customer: string, dayMs: number, readMs: number, tookMs: number) {
    const inside = new Set<number>();
    const seen = new Set<number>();
    const repeated = hasLocalKeys(this.#world)
      ? repeatedTimes(dayMs, this.#world.timezone)
      : undefined;
    for (let ms = 0; ms < tookMs + 1000; ms += 1000) {
      const path = this.#service.countedOccupancy(customer, dayMs, readMs - Math.min(ms, tookMs));
      if (repeated !== undefined && hangsOnOrder(path, repeated)) {
        return undefined;
      }
      const end = path.at(-1);
      inside.add(end?.people ?? 0);
      seen.add(end === undefined || isWithin(end, repeated) ? NaN : end.minuteMs);
    }
    return { inside, seen: seen.has(NaN) ? new Set<number>() : seen };
  }
}

/**
 * Whether the occupancy hangs on the order of minutes that have one key with others: where nobody may
 * have left who had not been counted in, it does not.
 */
function hangsOnOrder(path: readonly OccupancyMinute[], repeated: Stretch): boolean {
  const within = path.filter((at) => isWithin(at, repeated));
  const before = path.findLast(({ minuteMs }) => minuteMs < repeated.startMs)?.people ?? 0;
  return within.reduce((sum, { exited }) => sum + exited, 0) > before;
}

function isWithin({ minuteMs }: OccupancyMinute, stretch: Stretch | undefined): boolean {
  return stretch !== undefined && minuteMs >= stretch.startMs && minuteMs < stretch.endMs;
}
