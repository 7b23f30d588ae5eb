/**
 * Days and epochs of a customer. A day goes from `day_starts_at` to the next one, an epoch from the
 * first of them in a calendar month to the first in the next, all in local time.
 */
import type { Zone } from './zone.ts';

/** From `startMs` up to, and without, `endMs`. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

export interface CountingPeriod extends Span {
  /** Months since the year 0: which calendar month, whatever the zone. */
  readonly month: number;
}

export const MINUTE_MS = 60_000;
/** Twenty-four hours; a day of the calendar may have one more or less. */
export const DAY_MS = 86_400_000;

/** A clock this far behind the running epoch has stepped back; one further behind was wrong. */
const CLOCK_STEP_MS = 26 * 3_600_000;

export function floorToMinute(instantMs: number): number {
  return Math.floor(instantMs / MINUTE_MS) * MINUTE_MS;
}

export function contains(span: Span, instantMs: number): boolean {
  return instantMs >= span.startMs && instantMs < span.endMs;
}

export class Calendar {
  readonly zone: Zone;
  readonly #dayStartsAtMs: number;
  #day: Span = { startMs: 0, endMs: 0 };
  #dayBefore: Span = { startMs: NaN, endMs: NaN };
  #epoch: CountingPeriod = { startMs: 0, endMs: 0, month: 0 };

  constructor(zone: Zone, dayStartsAt: { readonly hour: number; readonly minute: number }) {
    this.zone = zone;
    this.#dayStartsAtMs = (dayStartsAt.hour * 60 + dayStartsAt.minute) * MINUTE_MS;
  }

  /** The day that is running at an instant. */
  dayAt(instantMs: number): Span {
    if (!contains(this.#day, instantMs)) {
      this.#day = this.#findDay(instantMs);
    }
    return this.#day;
  }

  /** The day that ends when the given one starts. */
  dayBefore(day: Span): Span {
    if (this.#dayBefore.endMs !== day.startMs) {
      this.#dayBefore = this.#findDay(day.startMs - 1);
    }
    return this.#dayBefore;
  }

  /** The epoch that is running at an instant, going by this calendar alone. */
  periodAt(instantMs: number): CountingPeriod {
    if (!contains(this.#epoch, instantMs)) {
      const wall = new Date(instantMs + this.zone.offsetMsAt(instantMs));
      const month = wall.getUTCFullYear() * 12 + wall.getUTCMonth();
      const started = instantMs >= this.periodStart(month);
      this.#epoch = this.periodOfMonth(started ? month : month - 1);
    }
    return this.#epoch;
  }

  /** The first `day_starts_at` of a month. */
  periodStart(month: number): number {
    return this.zone.instantOfWall(
      Date.UTC(Math.floor(month / 12), month % 12, 1) + this.#dayStartsAtMs,
    );
  }

  periodOfMonth(month: number): CountingPeriod {
    return { startMs: this.periodStart(month), endMs: this.periodStart(month + 1), month };
  }

  #findDay(instantMs: number): Span {
    const wall = new Date(instantMs + this.zone.offsetMsAt(instantMs));
    const midnight = Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate());
    const starts = [-1, 0, 1, 2].map((days) =>
      this.zone.instantOfWall(midnight + days * DAY_MS + this.#dayStartsAtMs),
    );
    const next = starts.findIndex((startMs) => startMs > instantMs);
    return { startMs: starts[next - 1] ?? instantMs, endMs: starts[next] ?? instantMs };
  }
}

/**
 * The epoch to count from: the running one until the calendar's next begins. A new zone or day
 * start therefore moves no counter before the next epoch, and a clock that steps back over the
 * border of two epochs does not bring the old one back.
 */
export function runningPeriod(
  calendar: Calendar,
  running: { readonly startMs: number; readonly month: number } | undefined,
  nowMs: number,
): CountingPeriod {
  const own = calendar.periodAt(nowMs);
  if (running === undefined || running.month < own.month) {
    return own;
  }
  if (running.startMs - nowMs > CLOCK_STEP_MS) {
    return own;
  }
  if (running.month === own.month && running.startMs === own.startMs) {
    // The same object for everybody, as a rule.
    return own;
  }
  return {
    startMs: running.startMs,
    endMs: calendar.periodStart(running.month + 1),
    month: running.month,
  };
}
