/** The rows of a report: one for each customer, branch or device and each period. */
import { HOUR_MS } from '../base/duration.ts';
import { compareKeys } from '../counting/breakdowns/poll-breakdown.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import type { CustomerPlan } from './plan.ts';
import type { Day, Period } from './periods.ts';
import { WHOLE } from './reading.ts';
import type { CustomerReading } from './reading.ts';
import { sumOf } from './windows.ts';

/** What is not known, or not asked for, is undefined. */
export interface ReportRow {
  readonly period: Period;
  readonly entered?: number | undefined;
  readonly exited?: number | undefined;
  readonly visits?: number | undefined;
  readonly logins?: number | undefined;
  readonly enteredStaffed?: number | undefined;
  readonly enteredSelfService?: number | undefined;
  readonly hoursStaffed?: number | undefined;
  readonly hoursSelfService?: number | undefined;
  /** Days that have begun; not of hours. */
  readonly daysOpen?: number | undefined;
  /** Dates of days that are over. */
  readonly daysWithoutCounts?: readonly string[] | undefined;
  readonly notes: readonly string[];
}

/** A customer, or one of its branches or devices, and its periods. */
export interface Section {
  readonly customer: string;
  /** Id of the branch or device; undefined for the customer as a whole. */
  readonly key?: string | undefined;
  /** Name of the branch. */
  readonly name?: string | undefined;
  readonly rows: readonly ReportRow[];
}

const NO_LOGINS = 'of all branches: the service has no logins by branch';

/**
 * Returns the sections of a customer: configured branches also if they counted nobody. A customer with one
 * branch is that building. Logins of several branches have a section of their own.
 */
export async function sectionsOf(
  plan: CustomerPlan,
  reading: CustomerReading,
): Promise<readonly Section[]> {
  const { config, options } = plan;
  if (options.by === 'customer') {
    const rows = await rowsOf(plan, reading, undefined);
    return [{ customer: config.name, rows }];
  }
  const { name: customer } = config;
  const branches = options.by === 'branch' ? config.branches : undefined;
  const counted = [...sumOf(reading.people ?? []).keys()];
  const keys = [...new Set([...Object.keys(branches ?? {}), ...counted])].toSorted(compareKeys);
  const [only] = keys;
  if (branches && keys.length <= 1) {
    const name = only === undefined ? undefined : branches[only]?.name;
    return [{ customer, name, rows: await rowsOf(plan, reading, only) }];
  }
  const sections: Section[] = [];
  for (const key of keys) {
    const name = branches && (branches[key]?.name ?? key);
    const rows = await rowsOf(plan, { ...reading, logins: undefined }, key);
    sections.push({ customer, key, name, rows });
  }
  const rows = reading.logins && (await rowsOf(plan, { ...reading, people: undefined }, undefined));
  const ofLogins = rows?.map(({ period, logins }): ReportRow => {
    return { period, logins, notes: [...period.cut, NO_LOGINS] };
  });
  return ofLogins ? [...sections, { customer, rows: ofLogins }] : sections;
}

/** Returns sections with a total of each customer that has several, and one of all customers. */
export function withTotals(sections: readonly Section[]): readonly Section[] {
  const customers = [...Map.groupBy(sections, ({ customer }) => customer)];
  const each = customers.flatMap(([customer, own]) =>
    own.length > 1 ? [...own, totalOf(own, customer, 'total')] : own,
  );
  return customers.length > 1 ? [...each, totalOf(sections, 'all customers')] : each;
}

const SUMMED = [
  'entered',
  'exited',
  'visits',
  'logins',
  'enteredStaffed',
  'enteredSelfService',
] as const;

function totalOf(sections: readonly Section[], customer: string, key?: string): Section {
  const byPeriod = Map.groupBy(
    sections.flatMap(({ rows }) => rows),
    ({ period: { start, end } }) => `${start} ${end}`,
  );
  const rows = [...byPeriod.values()].flatMap((alike) => {
    const sums = SUMMED.map((name) => [name, sumBy(alike, (row) => row[name])]);
    return alike.slice(0, 1).map(({ period }): ReportRow => {
      return { period, ...Object.fromEntries(sums), notes: period.cut };
    });
  });
  return { customer, key, rows };
}

/** Returns the sum of what is known; undefined if nothing is. */
export function sumBy(
  rows: readonly ReportRow[],
  value: (row: ReportRow) => number | undefined,
): number | undefined {
  const values = rows.map(value).filter((one) => one !== undefined);
  return values.length === 0 ? undefined : values.reduce((sum, one) => sum + one);
}

/** The counts of a window of one customer, branch or device. */
interface Counted extends Span {
  readonly entered: number;
  readonly exited: number;
  readonly logins: number;
  /** People in and out, where they are read, else logins. */
  readonly anybody: number;
}

async function rowsOf(
  plan: CustomerPlan,
  reading: CustomerReading,
  key: string | undefined,
): Promise<readonly ReportRow[]> {
  const { options, days, nowMs } = plan;
  const { opening, staffed } = await plan.hoursOf(options.by === 'branch' ? key : undefined);
  const selfService = opening && staffed && without(opening, staffed);
  const windows = countedWindows(plan, reading, key ?? WHOLE);
  const staffedWindows = new Set(staffed?.flatMap((span) => within(windows, span)));
  const openDays = days.filter(
    opening === undefined
      ? usuallyOpen(plan, windows)
      : (day) => overlapping(opening, day).length > 0,
  );
  const gaps = openDays.filter((day) => day.endMs <= nowMs && within(windows, day).every(isEmpty));
  return plan.periods.map((period): ReportRow => {
    const own = within(windows, period);
    const whileStaffed = own.filter((window) => staffedWindows.has(window));
    const people = reading.people && {
      entered: sum(own, 'entered'),
      exited: sum(own, 'exited'),
      staffed: staffed && sum(whileStaffed, 'entered'),
    };
    const isByDay = options.period !== 'hour';
    const isEmptyPeriod = isByDay && period.endMs <= nowMs && own.every(isEmpty);
    return {
      period,
      entered: people?.entered,
      exited: people?.exited,
      visits:
        options.visits === 'mean'
          ? people && (people.entered + people.exited) / 2
          : people?.entered,
      logins: reading.logins && sum(own, 'logins'),
      enteredStaffed: people?.staffed,
      // Everybody who does not come while staff is there, early and late ones included.
      enteredSelfService:
        people?.staffed === undefined ? undefined : people.entered - people.staffed,
      hoursStaffed: staffed && hoursIn(staffed, period),
      hoursSelfService: selfService && hoursIn(selfService, period),
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
): readonly Counted[] {
  return windows.map((window, i) => {
    const [entered = 0, exited = 0] = people?.[i]?.get(key) ?? [];
    const [ofLogins = 0] = logins?.[i]?.get(WHOLE) ?? [];
    const anybody = people === undefined ? ofLogins : entered + exited;
    return { ...window, entered, exited, logins: ofLogins, anybody };
  });
}

function isEmpty({ anybody }: Counted): boolean {
  return anybody === 0;
}

function sum(windows: readonly Counted[], counter: 'entered' | 'exited' | 'logins'): number {
  return windows.reduce((total, window) => total + window[counter], 0);
}

/** Returns the hours of spans within a period, with two decimals. */
function hoursIn(spans: readonly Span[], period: Span): number {
  const ms = overlapping(spans, period).reduce((sum, span) => sum + overlapMs(span, period), 0);
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
    for (const other of overlapping(others, span)) {
      parts.push({ startMs, endMs: other.startMs });
      startMs = other.endMs;
    }
    parts.push({ startMs, endMs: span.endMs });
    return parts.filter((part) => part.endMs > part.startMs);
  });
}

/** Without opening hours: the weekdays on more than half of which somebody was counted. */
function usuallyOpen({ days, nowMs }: CustomerPlan, windows: readonly Counted[]) {
  const over = Map.groupBy(
    days.filter(({ endMs }) => endMs <= nowMs),
    weekdayOf,
  );
  const usual = [...over].filter(
    ([, alike]) =>
      2 * alike.filter((day) => !within(windows, day).every(isEmpty)).length > alike.length,
  );
  const weekdays = new Set(usual.map(([weekday]) => weekday));
  return (day: Day): boolean => weekdays.has(weekdayOf(day));
}

function weekdayOf({ date }: Day): number {
  return new Date(date).getUTCDay();
}

/** Returns those of consecutive spans that start within another one. */
function within<Item extends Span>(items: readonly Item[], { startMs, endMs }: Span): Item[] {
  return items.slice(lowerBound(items, startMs), lowerBound(items, endMs));
}

/** Returns those of spans, in order and apart, that overlap another one. */
function overlapping(spans: readonly Span[], { startMs, endMs }: Span): readonly Span[] {
  // Only the last one that starts before it can reach into it.
  const first = Math.max(0, lowerBound(spans, startMs) - 1);
  return spans.slice(first, lowerBound(spans, endMs)).filter((span) => span.endMs > startMs);
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
