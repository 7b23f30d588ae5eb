/** What is to be written: which customers, of each which stretch of time, month by month. Pure. */
import { UsageError } from '../../base/errors.ts';
import type { Breakdown, CounterName } from '../../base/model.ts';
import type { CustomerConfig } from '../../config/types.ts';
import type { Calendar, CountingPeriod, Span } from '../../counting/calendar.ts';
import type { CustomerDescription } from '../../counting/description.ts';
import type { Zone } from '../../counting/zone.ts';
import { formatTime, refuseReversed } from '../time-flag.ts';

/** What a Prometheus showed of a counter first. */
export interface FirstSample {
  readonly atMs: number;
  readonly value: number;
}

/** Where the running exporter's samples begin. */
export interface Joint {
  /** The first sample of any of the customer's series. */
  readonly atMs: number;
  /** By {@link counterName}. */
  readonly counters: Readonly<Record<string, FirstSample>>;
}

/** A counter within its customer. */
export function counterName(
  kind: CounterName,
  of?: readonly [breakdown: Breakdown, key: string],
): string {
  return of === undefined ? kind : `${of[0]} ${of[1]} ${kind}`;
}

/** A customer whose history is written. */
export interface Subject {
  readonly config: CustomerConfig;
  readonly calendar: Calendar;
  readonly description: CustomerDescription;
  /** Nothing is told before it, and nothing from the end on. Whole seconds. */
  readonly told: Span;
  readonly joint: Joint | undefined;
}

/** What of a month is written of one customer. */
export interface Part {
  readonly subject: Subject;
  readonly epoch: CountingPeriod;
  /** Within the epoch. */
  readonly told: Span;
}

export interface Month {
  /** `2026-10` */
  readonly name: string;
  /** In the order of the configuration. */
  readonly parts: readonly Part[];
}

/** Throws a UsageError where it ends before it begins, or in the future. */
export function toldSpan(zone: Zone, fromMs: number, toMs: number, nowMs: number): Span {
  if (toMs > nowMs) {
    throw new UsageError(`--to must not be in the future, and ${formatTime(zone, toMs)} is`);
  }
  refuseReversed(zone, fromMs, toMs);
  return { startMs: Math.ceil(fromMs / 1_000) * 1_000, endMs: toMs };
}

/** The months in ascending order; of each only customers of whom something is told in it. */
export function monthsOf(subjects: readonly Subject[]): readonly Month[] {
  const parts = new Map<number, Part[]>();
  for (const subject of subjects) {
    const { calendar, told } = subject;
    for (let epoch = calendar.periodAt(told.startMs); epoch.startMs < told.endMs;) {
      const startMs = Math.max(told.startMs, epoch.startMs);
      const endMs = Math.min(told.endMs, epoch.endMs);
      const ofMonth = parts.get(epoch.month) ?? [];
      parts.set(epoch.month, ofMonth);
      ofMonth.push({ subject, epoch, told: { startMs, endMs } });
      epoch = calendar.periodOfMonth(epoch.month + 1);
    }
  }
  return [...parts]
    .toSorted(([a], [b]) => a - b)
    .map(([month, ofMonth]) => ({ name: monthName(month), parts: ofMonth }));
}

function monthName(month: number): string {
  const year = Math.floor(month / 12);
  return `${year}-${String((month % 12) + 1).padStart(2, '0')}`;
}

/**
 * When there are samples: at the start, at every whole step, and a second before the end, where the
 * last one is: the final values of an epoch, or those next to the first live sample.
 */
export function instantsOf({ startMs, endMs }: Span, stepMs: number): readonly number[] {
  const lastMs = Math.ceil(endMs / 1_000) * 1_000 - 1_000;
  const instants = [startMs];
  for (let atMs = (Math.floor(startMs / stepMs) + 1) * stepMs; atMs < lastMs; atMs += stepMs) {
    instants.push(atMs);
  }
  return lastMs > startMs ? [...instants, lastMs] : instants;
}
