/** The rows of a report: one for each customer, branch or device and each period. */
import { HOUR_MS } from '../base/duration.ts';
import { compareKeys, countsOf } from '../counting/breakdowns/poll-breakdown.ts';
import type { CountsByKey } from '../counting/breakdowns/poll-breakdown.ts';
import type { OpeningHours } from '../counting/calendar/opening-hours.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import { countOf } from '../counting/rows/counts.ts';
import type { CustomerPlan } from './plan.ts';
import type { Day, Period } from './periods.ts';
import { WHOLE } from './reading.ts';
import type { CustomerReading } from './reading.ts';
import { sumOf } from './windows.ts';

/** What is not known, or not asked for, is undefined. */
export interface ReportRow {
  readonly period: Period;
  readonly entered: number | undefined;
  readonly exited: number | undefined;
  readonly visits: number | undefined;
  readonly logins: number | undefined;
  readonly enteredStaffed: number | undefined;
  readonly enteredSelfService: number | undefined;
  readonly hoursStaffed: number | undefined;
  readonly hoursSelfService: number | undefined;
  /** Days that have begun; not of hours. */
  readonly daysOpen: number | undefined;
  /** Dates of days that are over. */
  readonly daysWithoutCounts: readonly string[] | undefined;
  readonly notes: readonly string[];
}

/** A customer, or one of its branches or devices, and its periods. */
export interface Section {
  readonly customer: string;
  /** Id of the branch or device; undefined for the customer as a whole. */
  readonly key: string | undefined;
  /** Name of the branch. */
  readonly name: string | undefined;
  readonly rows: readonly ReportRow[];
}

/** Returns the sections of a customer: configured branches also if they counted nobody. */
export function sectionsOf(plan: CustomerPlan, reading: CustomerReading): readonly Section[] {
  const { config, options } = plan;
  if (options.by === 'customer') {
    return [
      { customer: config.name, key: undefined, name: undefined, rows: rowsOf(plan, reading) },
    ];
  }
  const configured = options.by === 'branch' ? Object.keys(config.branches) : [];
  const counted = sumOf(reading.people ?? []).keys();
  return [...new Set([...configured, ...counted])].toSorted(compareKeys).map((key) => ({
    customer: config.name,
    key,
    name: options.by === 'branch' ? (config.branches[key]?.name ?? key) : undefined,
    rows: rowsOf(plan, reading, key),
  }));
}

/** The counts of a window of one customer, branch or device. */
interface Counted extends Span {
  readonly entered: number;
  readonly exited: number;
  readonly logins: number;
  /** People in and out, where they are read, else logins. */
  readonly anybody: number;
  readonly isStaffed: boolean;
}

function rowsOf(plan: CustomerPlan, reading: CustomerReading, key?: string): readonly ReportRow[] {
  const { config, options, days, nowMs } = plan;
  const whole = { startMs: days[0]?.startMs ?? 0, endMs: days.at(-1)?.endMs ?? 0 };
  const hours = plan.hoursOf(options.by === 'branch' ? key : undefined);
  const opening = spansOf(hours.opening, config.timezone, whole);
  const staffed = spansOf(options.staffed ? hours.staffed : undefined, config.timezone, whole);
  const selfService = opening && staffed && without(opening, staffed);
  const windows = countedWindows(plan, reading, key ?? WHOLE, staffed);
  const openDays = days.filter(
    opening === undefined ? usuallyOpen(plan, windows) : isOpenOn(opening),
  );
  const gaps = openDays.filter((day) => day.endMs <= nowMs && within(windows, day).every(isEmpty));
  return plan.periods.map((period): ReportRow => {
    const own = within(windows, period);
    const sums = {
      entered: reading.people && sum(own, 'entered'),
      exited: reading.people && sum(own, 'exited'),
      logins: reading.logins && sum(own, 'logins'),
    };
    const isByDay = options.period !== 'hour';
    const isEmptyPeriod = isByDay && period.endMs <= nowMs && own.every(isEmpty);
    return {
      period,
      ...sums,
      visits: visitsOf(sums.entered, sums.exited, options.visits),
      ...staffedColumns(staffed, selfService, own, period, sums.entered),
      daysOpen: isByDay ? within(openDays, period).length : undefined,
      daysWithoutCounts: isByDay ? within(gaps, period).map(({ date }) => date) : undefined,
      notes: [
        ...period.cut,
        ...(isEmptyPeriod ? ['no counts'] : []),
        ...(options.staffed && staffed === undefined ? ['no staffed_hours'] : []),
      ],
    };
  });
}

function countedWindows(
  { windows }: CustomerPlan,
  { people, logins }: CustomerReading,
  key: string,
  staffed: readonly Span[] | undefined,
): readonly Counted[] {
  function countsAt(tables: readonly CountsByKey[] | undefined, i: number): readonly number[] {
    const table = tables?.[i];
    return table === undefined ? [] : countsOf(table, key);
  }
  const starts = new Set<number>();
  let next = 0;
  for (const { startMs } of windows) {
    while ((staffed?.[next]?.endMs ?? Infinity) <= startMs) {
      next += 1;
    }
    if ((staffed?.[next]?.startMs ?? Infinity) <= startMs) {
      starts.add(startMs);
    }
  }
  return windows.map((window, i) => {
    const entered = countOf(countsAt(people, i), 0);
    const exited = countOf(countsAt(people, i), 1);
    const ofLogins = countOf(countsAt(logins, i), 0);
    return {
      ...window,
      entered,
      exited,
      logins: ofLogins,
      anybody: people === undefined ? ofLogins : entered + exited,
      isStaffed: starts.has(window.startMs),
    };
  });
}

function isEmpty({ anybody }: Counted): boolean {
  return anybody === 0;
}

function sum(windows: readonly Counted[], counter: 'entered' | 'exited' | 'logins'): number {
  return windows.reduce((total, window) => total + window[counter], 0);
}

function visitsOf(
  entered: number | undefined,
  exited: number | undefined,
  visits: 'entered' | 'mean',
): number | undefined {
  return visits === 'entered' || entered === undefined || exited === undefined
    ? entered
    : (entered + exited) / 2;
}

type StaffedColumns = Pick<
  ReportRow,
  'enteredStaffed' | 'enteredSelfService' | 'hoursStaffed' | 'hoursSelfService'
>;

/** Everybody who does not come while staff is there counts as self-service, early and late ones included. */
function staffedColumns(
  staffed: readonly Span[] | undefined,
  selfService: readonly Span[] | undefined,
  windows: readonly Counted[],
  period: Span,
  entered: number | undefined,
): StaffedColumns {
  const enteredStaffed =
    staffed &&
    sum(
      windows.filter(({ isStaffed }) => isStaffed),
      'entered',
    );
  const isKnown = entered !== undefined && enteredStaffed !== undefined;
  return {
    enteredStaffed: isKnown ? enteredStaffed : undefined,
    enteredSelfService: isKnown ? entered - enteredStaffed : undefined,
    hoursStaffed: staffed && hoursIn(staffed, period),
    hoursSelfService: selfService && hoursIn(selfService, period),
  };
}

function spansOf(
  hours: OpeningHours | undefined,
  timezone: string,
  whole: Span,
): readonly Span[] | undefined {
  return hours && hours.openSpans(whole, timezone);
}

/** Returns the hours of spans within a period, with two decimals. */
function hoursIn(spans: readonly Span[], period: Span): number {
  const ms = spans.reduce((total, span) => total + overlapMs(span, period), 0);
  return Math.round((ms / HOUR_MS) * 100) / 100;
}

function overlapMs(a: Span, b: Span): number {
  return Math.max(0, Math.min(a.endMs, b.endMs) - Math.max(a.startMs, b.startMs));
}

/** Returns the parts of spans that are not in others. Both are in order. */
function without(spans: readonly Span[], others: readonly Span[]): readonly Span[] {
  return spans.flatMap((span) => {
    const parts: Span[] = [];
    let { startMs } = span;
    for (const other of others.filter((one) => overlapMs(one, span) > 0)) {
      parts.push({ startMs, endMs: other.startMs });
      startMs = other.endMs;
    }
    parts.push({ startMs, endMs: span.endMs });
    return parts.filter((part) => part.endMs > part.startMs);
  });
}

function isOpenOn(opening: readonly Span[]): (day: Day) => boolean {
  return (day) => opening.some((span) => overlapMs(span, day) > 0);
}

/** Without opening hours: the weekdays on more than half of which somebody was counted. */
function usuallyOpen({ days, nowMs }: CustomerPlan, windows: readonly Counted[]) {
  const counted = Array.from({ length: 7 }, () => ({ days: 0, withCounts: 0 }));
  function weekdayOf({ date }: Day) {
    return counted[new Date(date).getUTCDay()];
  }
  for (const day of days) {
    const weekday = weekdayOf(day);
    if (weekday !== undefined && day.endMs <= nowMs) {
      weekday.days += 1;
      weekday.withCounts += within(windows, day).every(isEmpty) ? 0 : 1;
    }
  }
  return (day: Day): boolean => {
    const weekday = weekdayOf(day);
    return weekday !== undefined && 2 * weekday.withCounts > weekday.days;
  };
}

/** Returns those of consecutive spans that start within another one. */
function within<Item extends Span>(items: readonly Item[], { startMs, endMs }: Span): Item[] {
  return items.slice(lowerBound(items, startMs), lowerBound(items, endMs));
}

/** Returns the number of spans that start before an instant. */
function lowerBound(items: readonly Span[], atMs: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.startMs ?? Infinity) < atMs) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
