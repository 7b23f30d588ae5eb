/** What the flags of a backfill ask for: the customers, their time range, and its months. Pure. */
import { MINUTE_MS } from '../base/duration.ts';
import { UsageError } from '../base/errors.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { Calendar, monthName } from '../counting/calendar/calendar.ts';
import type { CountingPeriod, Span } from '../counting/calendar/calendar.ts';
import type { CustomerDescription } from '../counting/customer-metrics.ts';
import { createOpeningHoursParser } from '../counting/calendar/opening-hours.ts';
import { Zone } from '../counting/calendar/zone.ts';
import { descriptionOf } from '../customers.ts';

/** A longer step would leave gaps: Prometheus ignores samples that are older than five minutes. */
const STEP_MS = 5 * MINUTE_MS;

/** A time on the command line. What it means depends on the customer's zone. */
export interface TimeFlag {
  readonly text: string;
  /** Returns the time in milliseconds since 1970, a whole second. */
  toInstantMs(zone: Zone, nowMs: number): number;
}

export interface BackfillFlags {
  readonly 'config.file': string;
  readonly from: TimeFlag;
  /** When Prometheus began to scrape the exporter. */
  readonly to: TimeFlag;
  /** All customers if undefined. */
  readonly customer?: readonly string[];
  readonly instance: string;
  readonly job: string;
  readonly output: string;
}

export interface BackfillTarget {
  readonly config: CustomerConfig;
  readonly calendar: Calendar;
  readonly description: CustomerDescription;
  /** From the first sample up to, and without, the end. Starts at a whole second. */
  readonly range: Span;
}

/** What one month has of one customer. */
export interface MonthPart {
  readonly target: BackfillTarget;
  readonly period: CountingPeriod;
  /** Within the period. */
  readonly range: Span;
}

export interface Month {
  /** `2026-10` */
  readonly name: string;
  /** In the order of the configuration. */
  readonly parts: readonly MonthPart[];
}

/** The label names of library_site_info. */
export function infoLabelNames({ customers }: Config): readonly string[] {
  return [...new Set(customers.flatMap(({ labels }) => Object.keys(labels)))].toSorted();
}

/** Throws a UsageError if a range is empty or ends in the future. */
export function createTargets(
  customers: readonly CustomerConfig[],
  { from, to }: BackfillFlags,
  nowMs: number,
): readonly BackfillTarget[] {
  const parseOpeningHours = createOpeningHoursParser();
  return customers.map((config) => {
    const zone = new Zone(config.timezone);
    const startMs = Math.ceil(from.toInstantMs(zone, nowMs) / 1_000) * 1_000;
    const endMs = to.toInstantMs(zone, nowMs);
    if (endMs > nowMs) {
      throw new UsageError(`--to must not be in the future: ${zone.format(endMs)}`);
    }
    refuseReversed(zone, startMs, endMs);
    return {
      config,
      calendar: new Calendar(zone, config.dayStartsAt),
      description: descriptionOf(config, parseOpeningHours),
      range: { startMs, endMs },
    };
  });
}

/** Throws a UsageError unless `fromMs` is before `toMs`. */
export function refuseReversed(zone: Zone, fromMs: number, toMs: number): void {
  if (fromMs >= toMs) {
    throw new UsageError(
      `--to: expected a time after --from (${zone.format(fromMs)}), got ${zone.format(toMs)}`,
    );
  }
}

/** In ascending order. A month has only the customers whose range reaches into it. */
export function splitIntoMonths(targets: readonly BackfillTarget[]): readonly Month[] {
  const months = new Map<number, MonthPart[]>();
  for (const target of targets) {
    const { calendar, range } = target;
    let period = calendar.periodAt(range.startMs);
    while (period.startMs < range.endMs) {
      const startMs = Math.max(range.startMs, period.startMs);
      const endMs = Math.min(range.endMs, period.endMs);
      const parts = months.get(period.month) ?? [];
      parts.push({ target, period, range: { startMs, endMs } });
      months.set(period.month, parts);
      period = calendar.periodOfMonth(period.month + 1);
    }
  }
  return [...months]
    .toSorted(([a], [b]) => a - b)
    .map(([month, parts]) => ({ name: monthName(month), parts }));
}

/**
 * The start, every five minutes, and one second before the end: the final values of a counting period, or the
 * last values before the first live sample.
 */
export function sampleTimes({ startMs, endMs }: Span): readonly number[] {
  const lastMs = Math.ceil(endMs / 1_000) * 1_000 - 1_000;
  const times = [startMs];
  for (let atMs = (Math.floor(startMs / STEP_MS) + 1) * STEP_MS; atMs < lastMs; atMs += STEP_MS) {
    times.push(atMs);
  }
  return lastMs > startMs ? [...times, lastMs] : times;
}

/** A minute is over one second before its end, so that the last sample of a period has all of it. */
export const LAST_SECOND_MS = 1_000;

/** Whether an interval is over at an instant. */
export function isOver(endMs: number, atMs: number): boolean {
  return endMs <= atMs + LAST_SECOND_MS;
}
