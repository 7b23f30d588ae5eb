/** What is read for one customer: its periods, days and windows, and how many requests they take. */
import type { CustomerConfig } from '../config/types.ts';
import { Calendar } from '../counting/calendar/calendar.ts';
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
}

/** Hours of a customer or branch. */
export interface Hours {
  readonly opening: OpeningHours | undefined;
  readonly staffed: OpeningHours | undefined;
}

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
  readonly hoursOf: (branch?: string) => Hours;
}

/** Returns the plan of a customer's part of a report. */
export function planCustomer(
  config: CustomerConfig,
  options: ReportOptions,
  parse: OpeningHoursParser,
  nowMs: number,
): CustomerPlan {
  const { by, range, period, staffed } = options;
  const calendar = new Calendar(new Zone(config.timezone), config.dayStartsAt);
  const days = daysOf(calendar, range, nowMs);
  const periods = periodsOf(period, calendar, range, nowMs);

  function hoursOf(branch?: string): Hours {
    const { openingHours, staffedHours, holidays } =
      (branch === undefined ? undefined : config.branches[branch]) ?? config;
    return {
      opening: openingHours === undefined ? undefined : parse(openingHours, holidays),
      staffed: staffedHours === undefined ? undefined : parse(staffedHours, holidays),
    };
  }

  const sites = by === 'branch' ? [undefined, ...Object.keys(config.branches)] : [undefined];
  const staffedHours = new Set(staffed ? sites.map((branch) => hoursOf(branch).staffed) : []);
  const spans = [
    ...days,
    ...(period === 'hour' ? periods : []),
    ...[...staffedHours].flatMap((hours) => hours?.openSpans(spanOf(days), config.timezone) ?? []),
  ];
  const instants = new Set(spans.flatMap(({ startMs, endMs }) => [startMs, endMs]));
  const edges = [...instants].toSorted((a, b) => a - b);
  const windows = edges.slice(1).map((endMs, i) => ({ startMs: edges[i] ?? endMs, endMs }));
  return { config, options, calendar, nowMs, days, periods, windows, hoursOf };
}

/** Returns the span from the first start to the last end of consecutive ones. */
export function spanOf(spans: readonly Span[]): Span {
  return { startMs: spans[0]?.startMs ?? 0, endMs: spans.at(-1)?.endMs ?? 0 };
}
