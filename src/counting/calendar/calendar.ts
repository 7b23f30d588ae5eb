/**
 * Days and counting periods of a customer, in local time. A day lasts from `day_starts_at` to the
 * next one; a counting period from the first of them in a calendar month to the first in the next.
 */
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
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

/** A few more than the days of a past. */
const MAX_DAYS_BEFORE = 40;

/** Returns the start of the minute of an instant. */
export function floorToMinute(instantMs: number): number {
  return Math.floor(instantMs / MINUTE_MS) * MINUTE_MS;
}

/** Returns whether an instant is in a span; its end is not. */
export function contains(span: Span, instantMs: number): boolean {
  return instantMs >= span.startMs && instantMs < span.endMs;
}

/** Returns the span from the first start to the last end of consecutive ones. */
export function spanOf(spans: readonly Span[]): Span {
  return { startMs: spans[0]?.startMs ?? 0, endMs: spans.at(-1)?.endMs ?? 0 };
}

export class Calendar {
  readonly zone: Zone;
  readonly #dayStartsAtMs: number;
  #day: Span = { startMs: 0, endMs: 0 };
  /** Days by the start of the next one: what is usual goes back over the same days at each poll. */
  readonly #daysBefore = new Map<number, Span>();
  #period: CountingPeriod = { startMs: 0, endMs: 0, month: 0 };

  constructor(zone: Zone, dayStartsAt: { readonly hour: number; readonly minute: number }) {
    this.zone = zone;
    this.#dayStartsAtMs = (dayStartsAt.hour * 60 + dayStartsAt.minute) * MINUTE_MS;
  }

  /** Returns the day at an instant. */
  dayAt(instantMs: number): Span {
    if (!contains(this.#day, instantMs)) {
      this.#day = this.#findDay(instantMs);
    }
    return this.#day;
  }

  /** Returns the day that ends when the given one starts. */
  dayBefore(day: Span): Span {
    const known = this.#daysBefore.get(day.startMs);
    if (known !== undefined) {
      return known;
    }
    if (this.#daysBefore.size >= MAX_DAYS_BEFORE) {
      this.#daysBefore.clear();
    }
    const found = this.#findDay(day.startMs - 1);
    this.#daysBefore.set(day.startMs, found);
    return found;
  }

  /** Returns the counting period at an instant, by this calendar alone. */
  periodAt(instantMs: number): CountingPeriod {
    if (!contains(this.#period, instantMs)) {
      const wall = new Date(instantMs + this.zone.offsetMsAt(instantMs));
      const month = wall.getUTCFullYear() * 12 + wall.getUTCMonth();
      const started = instantMs >= this.periodStart(month);
      this.#period = this.periodOfMonth(started ? month : month - 1);
    }
    return this.#period;
  }

  /** Returns the first `day_starts_at` of a month. */
  periodStart(month: number): number {
    return this.startOfDate(Date.UTC(Math.floor(month / 12), month % 12, 1));
  }

  /** Returns the first `day_starts_at` of a local date, which is given as its midnight in UTC. */
  startOfDate(midnightMs: number): number {
    return this.zone.instantOfWall(midnightMs + this.#dayStartsAtMs);
  }

  periodOfMonth(month: number): CountingPeriod {
    return { startMs: this.periodStart(month), endMs: this.periodStart(month + 1), month };
  }

  #findDay(instantMs: number): Span {
    const wall = new Date(instantMs + this.zone.offsetMsAt(instantMs));
    const midnight = Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate());
    let startMs = this.startOfDate(midnight - DAY_MS);
    let endMs = this.startOfDate(midnight);
    for (let days = 1; endMs <= instantMs; days += 1) {
      startMs = endMs;
      endMs = this.startOfDate(midnight + days * DAY_MS);
    }
    return { startMs, endMs };
  }
}

/** Returns a month, which is given in months since the year 0, as in 2026-11. */
export function monthName(month: number): string {
  return `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}`;
}

/**
 * Returns the counting period in force: the running one, which has begun, until the calendar's next one starts,
 * so that a new zone or day start applies from the next period on.
 */
export function runningPeriod(
  calendar: Calendar,
  running: { readonly startMs: number; readonly month: number } | undefined,
  nowMs: number,
): CountingPeriod {
  const own = calendar.periodAt(nowMs);
  if (running === undefined || running.month < own.month || running.startMs === own.startMs) {
    return own;
  }
  return { ...running, endMs: calendar.periodStart(running.month + 1) };
}
