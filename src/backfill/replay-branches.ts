/** Replays the branches of a customer: each is a building whose day comes from the windows that are over. */
import { COUNTERS } from '../base/model.ts';
import {
  asPastDay,
  NO_SUMS,
  PAST_WINDOW_MS,
  pastDayOfKey,
  sumOfKey,
  sumsAt,
  todayOfKey,
  endMsOf,
} from '../counting/branches/branch-day.ts';
import type { BranchDay } from '../counting/branches/branch-day.ts';
import { compareKeys } from '../counting/breakdowns/poll-breakdown.ts';
import type { Calendar } from '../counting/calendar/calendar.ts';
import { contains } from '../counting/calendar/calendar.ts';
import type { BranchDescriptions, BranchMetrics } from '../counting/customer-metrics.ts';
import { HISTORY_DAYS } from '../counting/occupancy/door-model.ts';
import { createHistory } from '../counting/occupancy/history.ts';
import { countOf } from '../counting/rows/counts.ts';
import { lastSeenIn } from '../counting/rows/day-counts.ts';
import { Site } from '../counting/site.ts';
import type { BranchHistory } from './read-branches.ts';
import { isOver } from './targets.ts';

interface BranchReplay {
  readonly key: string;
  /** Its place among the known keys. */
  readonly index: number;
  readonly site: Site;
  lastSeenMs: number | undefined;
}

export class BranchesReplay {
  readonly #calendar: Calendar;
  readonly #history: BranchHistory;
  readonly #branches: readonly BranchReplay[];
  /** The day of the last sample, and the windows that were over. */
  #today: BranchDay | undefined;
  #windows = 0;

  /** `timezone` is that of the opening hours. */
  constructor(
    calendar: Calendar,
    timezone: string,
    { configured, others }: BranchDescriptions,
    history: BranchHistory,
  ) {
    this.#calendar = calendar;
    this.#history = history;
    const keys = [...new Set([...history.keys, ...Object.keys(configured)])];
    this.#branches = keys.toSorted(compareKeys).map((key) => {
      const index = history.keys.indexOf(key);
      const own = Object.hasOwn(configured, key) ? configured[key] : undefined;
      return {
        key,
        index: index < 0 ? keys.length : index,
        site: new Site(calendar, timezone, own ?? others),
        lastSeenMs: undefined,
      };
    });
  }

  /** Returns the values at an instant, in the order of keys. Instants must ascend. */
  metricsAt(atMs: number): readonly BranchMetrics[] {
    const today = this.#history.days.find(({ day }) => contains(day, atMs));
    const windows =
      today?.sums.filter((_, window) => isOver(endMsOf(today, window + 1), atMs)).length ?? 0;
    if (today !== undefined && (today !== this.#today || windows !== this.#windows)) {
      this.#count(today, windows);
    }
    return this.#branches.map(({ key, index, site }) => {
      const sums = today && sumOfKey(sumsAt(today.sums, windows), index);
      const counters = COUNTERS.people.map((name, counter) => [
        name,
        { total: undefined, excess: undefined, today: sums && countOf(sums, counter) },
      ]);
      return {
        key,
        ...site.metricsAt(atMs),
        lastSeenMs: site.lastSeenAt(atMs),
        counters: Object.fromEntries(counters) as BranchMetrics['counters'],
      };
    });
  }

  /** Gives each branch the windows of a day that are over, and at its start the days before. */
  #count(today: BranchDay, windows: number): void {
    const { daysBefore, days } = this.#history;
    const isNewDay = today !== this.#today;
    this.#today = today;
    this.#windows = windows;
    const over = { ...today, sums: today.sums.slice(0, windows) };
    const endMs = endMsOf(today, windows);
    const past =
      isNewDay &&
      daysBefore &&
      [...daysBefore, ...days.slice(0, days.indexOf(today)).map(asPastDay)].slice(-HISTORY_DAYS);
    for (const branch of this.#branches) {
      const { site, index } = branch;
      if (past) {
        const pastDays = past.map((day) => pastDayOfKey(this.#calendar, day, index));
        site.historyRead(createHistory(this.#calendar, today.day, pastDays, PAST_WINDOW_MS));
      }
      const minutes = todayOfKey(this.#calendar, over, { sums: NO_SUMS, endMs }, index);
      branch.lastSeenMs = lastSeenIn(minutes) ?? branch.lastSeenMs;
      const order = { minutes, endMs, lastSeenMs: branch.lastSeenMs };
      site.counted({ day: today.day, atMs: endMs, order });
    }
  }
}
