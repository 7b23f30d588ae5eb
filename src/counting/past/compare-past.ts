/**
 * Finds the days of the past that have changed at the service: one request by `day` over the 28 days, once a
 * night. Days whose sums differ are read again, and only those.
 *
 * The key of a row is the start of a bucket as long as a local day, which need not start with our days. Of each
 * bucket that starts within the past, the service's sums are compared with our quarter-hours; the newest one ends
 * with the past. What differs marks the days that it overlaps. Exceptions:
 *
 * - If the total is ours, nothing has changed, whatever the buckets are.
 * - Keys that cannot be parsed, and another aggregation, leave the total alone: it marks all days.
 * - A nightly roll-up lags: lower sums of the newest buckets are no change. Other lower ones are requested a
 *   second time (rule 3).
 * - A bucket that still differs after its days were read again is remembered, and marks no day until its sums
 *   change: windows and keys may be of different times of the records.
 */
import { DAY_MS } from '../../base/duration.ts';
import { contains } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { anyBelow, areEqual, grandTotal, isZero, plus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { parseKey } from '../rows/keys.ts';
import { readLarger, WindowReader } from '../rows/window-reader.ts';
import type { WindowResponse } from '../rows/window-reader.ts';
import { daysBefore, sumsWithin } from './past.ts';
import type { Past } from './past.ts';
import { readDaysAgain } from './read-four-weeks.ts';
import type { PastSource } from './read-past.ts';

/** Those of today's date and of yesterday's. */
const BUCKETS_THAT_LAG = 2;
/** A key that is a date alone. */
const DATE = /^\d{4}-\d\d-\d\d$/;

/** The service's sums of a part of the past. */
interface Bucket {
  readonly span: Span;
  readonly sums: Counts;
  readonly mayLag: boolean;
}

/** Returns the past as the service has it now. Throws a ServiceError. */
export async function comparePast(source: PastSource, past: Past): Promise<Past> {
  const { query, stream, calendar } = source;
  const { today, comparison } = past;
  const days = daysBefore(calendar, today);
  const span = { startMs: days[0]?.startMs ?? today.startMs, endMs: today.startMs };
  const reader = new WindowReader({ query, stream, zone: calendar.zone, nowMs: () => span.endMs });
  const known = new Map(comparison.differing);
  function changesIn(response: WindowResponse): readonly Bucket[] {
    return differingBuckets(source, past, span, response).filter(
      ({ span: { startMs }, sums }) => !areEqual(known.get(startMs) ?? [NaN], sums),
    );
  }
  const response = await readLarger(
    () => reader.read('day', span.startMs, span.endMs),
    (read) =>
      changesIn(read).some((one) => anyBelow(one.sums, sumsWithin(calendar, past, one.span))),
    ({ sums }) => grandTotal(sums),
  );
  let updated = past;
  for (const run of runsOf(days, changesIn(response))) {
    updated = await readDaysAgain(source, updated, today, run);
  }
  const differing = differingBuckets(source, updated, span, response).map(
    ({ span: { startMs }, sums }) => [startMs, sums] as const,
  );
  return { ...updated, comparison: { dayMs: today.startMs, differing } };
}

/** Returns the buckets of a response whose sums are not those of the past. */
function differingBuckets(
  { calendar, keyTimes }: PastSource,
  past: Past,
  span: Span,
  response: WindowResponse,
): readonly Bucket[] {
  return areEqual(past.sums, response.sums)
    ? []
    : bucketsOf(calendar, keyTimes, span, response).filter((bucket) => {
        const ours = sumsWithin(calendar, past, bucket.span);
        return bucket.mayLag ? anyBelow(ours, bucket.sums) : !areEqual(ours, bucket.sums);
      });
}

/** Returns the buckets within a span, oldest first; the whole span if they are not known. */
function bucketsOf(
  { zone }: Calendar,
  keyTimes: PastSource['keyTimes'],
  span: Span,
  { aggregation, rows, sums }: WindowResponse,
): readonly Bucket[] {
  const startsMs = rows.map(({ key }) =>
    parseKey(DATE.test(String(key)) ? `${key}T00:00` : key, zone, keyTimes),
  );
  function wallOf(ms: number): number {
    return ms + zone.offsetMsAt(ms);
  }
  // The first one may be cut by the window.
  const anyWallMs = wallOf(startsMs[Math.floor(startsMs.length / 2)] ?? zone.instantOfWall(0));
  const days = Math.floor((anyWallMs - wallOf(span.startMs)) / DAY_MS);
  const buckets: Bucket[] = [];
  for (let wallMs = anyWallMs - days * DAY_MS; ; wallMs += DAY_MS) {
    const bucket = {
      startMs: zone.instantOfWall(wallMs),
      endMs: zone.instantOfWall(wallMs + DAY_MS),
    };
    if (bucket.startMs >= span.endMs) {
      break;
    }
    const within = rows.filter((_, i) => contains(bucket, startsMs[i] ?? NaN));
    const none = sums.map(() => 0);
    buckets.push({
      span: { ...bucket, endMs: Math.min(bucket.endMs, span.endMs) },
      sums: within.reduce<Counts>((total, { counts }) => plus(total, counts), none),
      mayLag: wallMs + BUCKETS_THAT_LAG * DAY_MS >= wallOf(span.endMs),
    });
  }
  const areKnown =
    aggregation === 'day' &&
    !startsMs.includes(undefined) &&
    (isZero(sums) || buckets.some((bucket) => !isZero(bucket.sums)));
  return areKnown ? buckets : [{ span, sums, mayLag: false }];
}

/** Returns the days that buckets overlap, as runs of successive days. */
function runsOf(days: readonly Span[], buckets: readonly Bucket[]): readonly (readonly Span[])[] {
  const runs: Span[][] = [];
  for (const day of days) {
    const isMarked = buckets.some(
      ({ span }) => span.startMs < day.endMs && span.endMs > day.startMs,
    );
    const last = runs.at(-1);
    if (isMarked && last?.at(-1)?.endMs === day.startMs) {
      last.push(day);
    } else if (isMarked) {
      runs.push([day]);
    }
  }
  return runs;
}
