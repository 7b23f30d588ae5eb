/** What is read for one customer: its periods, days and windows, and how many requests they take. */
import { nextTurn } from '../base/clock.ts';
import { DAY_MS } from '../base/duration.ts';
import type { Separator } from '../base/output.ts';
import type { CustomerConfig } from '../config/types.ts';
import { Calendar, spanOf } from '../counting/calendar/calendar.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import type { OpeningHours, OpeningHoursParser } from '../counting/calendar/opening-hours.ts';
import { Zone } from '../counting/calendar/zone.ts';
import { daysOf, periodsOf } from './periods.ts';
import type { DateRange, Day, Period, PeriodName } from './periods.ts';

export const SUBJECTS = ['customer', 'branch', 'device'] as const;

export interface ReportOptions {
  readonly range: DateRange;
  readonly by: (typeof SUBJECTS)[number];
  readonly period: PeriodName;
  /** Whether staffed and self-service hours are told apart. */
  readonly staffed: boolean;
  /** Visits are entries, or half of entries and exits. */
  readonly visits: 'entered' | 'mean';
  /** Of CSV. */
  readonly separator: Separator;
  /** What readers must know of the whole report; empty if there is nothing. */
  readonly note: string;
}

/** Opening times of a customer or branch within the days; undefined where none are configured. */
export interface Hours {
  readonly opening: readonly Span[] | undefined;
  readonly staffed: readonly Span[] | undefined;
}

/** The library evaluates so many days in some tens of milliseconds, in which no signal is heard. */
const DAYS_AT_ONCE = 100;

export interface CustomerPlan {
  readonly config: CustomerConfig;
  readonly options: ReportOptions;
  readonly calendar: Calendar;
  readonly nowMs: number;
  readonly days: readonly Day[];
  readonly periods: readonly Period[];
  /** Consecutive, from the start of the first day. None has a part of a period, day or staffed hours. */
  readonly windows: readonly Span[];
  /** Returns the hours of a branch, or else of the customer. */
  readonly hoursOf: (branch?: string) => Promise<Hours>;
}

const DAYS_OF_PERIODS = { year: 365, month: 30, week: 7, day: 1, hour: 1 / 24 };

/** Returns about how many periods of a range have started at `nowMs`, without a calendar. */
export function countPeriods(name: PeriodName, { from, to }: DateRange, nowMs: number): number {
  return Math.floor((Math.min(to, nowMs) - from) / (DAYS_OF_PERIODS[name] * DAY_MS));
}

/** Returns the plan of a customer's part of a report. Rejects when `stop` aborts. */
export async function planCustomer(
  config: CustomerConfig,
  options: ReportOptions,
  parse: OpeningHoursParser,
  nowMs: number,
  stop: AbortSignal,
): Promise<CustomerPlan> {
  const { by, range, period, staffed } = options;
  const { timezone, branches } = config;
  const calendar = new Calendar(new Zone(timezone), config.dayStartsAt);
  const days = daysOf(calendar, range, nowMs);
  const periods = periodsOf(period, calendar, range, nowMs);
  const evaluated = new Map<OpeningHours, Promise<readonly Span[]>>();

  async function evaluate(hours: OpeningHours): Promise<readonly Span[]> {
    const spans: Span[] = [];
    for (let i = 0; i < days.length; i += DAYS_AT_ONCE) {
      spans.push(...hours.openSpans(spanOf(days.slice(i, i + DAYS_AT_ONCE)), timezone));
      await nextTurn();
      stop.throwIfAborted();
    }
    return spans;
  }

  async function spansOf(text: string | undefined, holidays: string | undefined) {
    if (text === undefined) {
      return undefined;
    }
    const hours = parse(text, holidays);
    const spans = evaluated.get(hours) ?? evaluate(hours);
    evaluated.set(hours, spans);
    return spans;
  }

  async function hoursOf(branch?: string): Promise<Hours> {
    const { openingHours, staffedHours, holidays } =
      (branch === undefined ? undefined : branches[branch]) ?? config;
    return {
      opening: await spansOf(openingHours, holidays),
      staffed: staffed ? await spansOf(staffedHours, holidays) : undefined,
    };
  }

  const sites = by === 'branch' ? [undefined, ...Object.keys(branches)] : [undefined];
  const instants = new Set<number>();
  function addEdges(spans: readonly Span[]): void {
    spans.forEach(({ startMs, endMs }) => instants.add(startMs).add(endMs));
  }
  addEdges(days);
  addEdges(period === 'hour' ? periods : []);
  for (const branch of staffed ? sites : []) {
    addEdges((await hoursOf(branch)).staffed ?? []);
  }
  const edges = [...instants].toSorted((a, b) => a - b);
  const windows = edges.slice(1).map((endMs, i) => ({ startMs: edges[i] ?? endMs, endMs }));
  return { config, options, calendar, nowMs, days, periods, windows, hoursOf };
}
