/** The counts of today and of the 28 days before: of the people or logins of a customer, or of a branch. */
import { MINUTE_MS } from '../../base/duration.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import type { CountsToday } from '../rows/day-counts.ts';
import { appendDay, lastSeenAt } from './past.ts';
import type { Past } from './past.ts';

/** The newest accepted counts of a day. */
export interface Counted {
  readonly day: Span;
  readonly atMs: number;
  /** Undefined if keys cannot be parsed. */
  readonly minutes: CountsToday | undefined;
}

/** After the day's start, so that a nightly roll-up has ended. */
const COMPARISON_DELAY_MS = 30 * MINUTE_MS;

export class CountedDays {
  readonly #calendar: Calendar;
  #past: Past | undefined;
  /** Returns the past that was stored. Called at the first counts: for 10,000 customers, it takes a second. */
  #restore: (() => Past | undefined) | undefined;
  #counted: Counted | undefined;

  constructor(calendar: Calendar) {
    this.#calendar = calendar;
  }

  /** Takes the past from what was stored, when it is needed. */
  restoreFrom(restore: () => Past | undefined): void {
    this.#restore = restore;
  }

  /** Takes the past as the service has it. */
  pastRead(past: Past): void {
    this.#past = past;
  }

  /** Takes newer accepted counts. A new day begins with the day before as it was counted. */
  counted(counted: Counted): void {
    const { day } = counted;
    this.#past ??= this.#restore?.();
    this.#restore = undefined;
    if (this.#counted?.day.startMs !== day.startMs) {
      this.#past = appendDay(this.#calendar, this.#past, this.today, day);
    }
    this.#counted = counted;
  }

  /**
   * Returns whether days of the past are to be read, or compared with the service: at once if none is known,
   * later in the first hours of a day.
   */
  isPastDue(nowMs: number): boolean {
    const day = this.#calendar.dayAt(nowMs);
    return (
      this.#past === undefined ||
      (this.comparedPastOf(day) === undefined && nowMs >= day.startMs + COMPARISON_DELAY_MS)
    );
  }

  /** Returns the past of a day; undefined unless it was compared with the service, or read, on that day. */
  comparedPastOf(day: Span): Past | undefined {
    const past = this.#past;
    const isCompared = past?.comparison.dayMs === day.startMs;
    return isCompared && past.today.startMs === day.startMs ? past : undefined;
  }

  /** What is known of the past: days may be missing before the newest counts. */
  get known(): Past | undefined {
    return this.#past;
  }

  /** The 28 days before the newest counts; undefined unless all of them are known. */
  get past(): Past | undefined {
    const past = this.#past;
    const { day } = this.#counted ?? {};
    return day === undefined || past?.today.startMs === day.startMs ? past : undefined;
  }

  /** The newest accepted counts. */
  get newest(): Counted | undefined {
    return this.#counted;
  }

  /** The newest counts; undefined if keys cannot be parsed. */
  get today(): CountsToday | undefined {
    return this.#counted?.minutes;
  }

  /**
   * Returns the start of the newest minute, or of its window, within four weeks that counted anybody; undefined
   * if keys cannot be parsed.
   */
  lastSeenAt(nowMs: number): number | undefined {
    const counted = this.#counted;
    return counted !== undefined && counted.minutes === undefined
      ? undefined
      : lastSeenAt(this.#calendar, nowMs, counted?.minutes?.lastSeenMs, this.past);
  }
}
