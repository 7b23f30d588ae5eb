/** The counts of today and of the 28 days before: of the people or logins of a customer, or of a branch. */
import { MINUTE_MS } from '../base/duration.ts';
import type { Calendar, Span } from './calendar/calendar.ts';
import { continueHistory, lastSeenAt } from './occupancy/history.ts';
import type { History } from './occupancy/history.ts';
import type { CountsToday } from './rows/day-counts.ts';
import type { Snapshot } from './totals/state.ts';

/** The newest accepted counts of a day. */
export type Counted = Pick<Snapshot, 'day' | 'atMs' | 'minutes'>;

/** `read` as the service has it, or `continued` by the day that was polled to its end. */
interface Past {
  readonly source: 'read' | 'continued';
  readonly history: History;
}

/** After the day's start, so that a nightly roll-up has ended. */
const READ_DELAY_MS = 30 * MINUTE_MS;

export class CountedDays {
  readonly #calendar: Calendar;
  #past: Past | undefined;
  #counted: Counted | undefined;

  constructor(calendar: Calendar) {
    this.#calendar = calendar;
  }

  /** Takes the history of a day as the service has it. */
  historyRead(history: History): void {
    this.#past = { source: 'read', history };
  }

  /** Takes newer accepted counts. A step of the clock to another day loses the history. */
  counted(counted: Counted): void {
    const { day } = counted;
    if (this.#counted?.day.startMs !== day.startMs) {
      const before = this.#past?.history;
      const history = continueHistory(this.#calendar, before, this.today, day);
      if (history !== before) {
        this.#past = history && { source: 'continued', history };
      }
    }
    this.#counted = counted;
  }

  /** Whether the history is to be read: at once if there is none, later in the first hours of a day. */
  isHistoryDue(nowMs: number): boolean {
    const day = this.#calendar.dayAt(nowMs);
    return (
      this.readHistoryOf(day) === undefined &&
      (this.#past === undefined || nowMs >= day.startMs + READ_DELAY_MS)
    );
  }

  /** Returns the history before a day as the service has it; undefined unless it was read for that day. */
  readHistoryOf(day: Span): History | undefined {
    const past = this.#past;
    return past?.source === 'read' && past.history.today.startMs === day.startMs
      ? past.history
      : undefined;
  }

  /** The history, read or continued. */
  get history(): History | undefined {
    return this.#past?.history;
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
      : lastSeenAt(this.#calendar, nowMs, counted?.minutes?.lastSeenMs, this.history);
  }
}
