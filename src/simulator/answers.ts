/**
 * Answers of the data endpoints out of a ledger: rows of an aggregation, or pages of raw records.
 * It takes windows that are already understood; the rules of what may be asked are in questions.ts.
 */
import type { Aggregation } from '../base/model.ts';
import type { Conventions, ForcedAggregation } from './conventions.ts';
import { DAY_MS, MINUTE_MS } from './conventions.ts';
import { groupRows, isGroup } from './group-rows.ts';
import type { Row } from './group-rows.ts';
import { createBuckets, quarterOfYear } from './keys.ts';
import type { Buckets, TimeAggregation } from './keys.ts';
import type { Ledger } from './ledger.ts';
import type { DataQuestion } from './questions.ts';
import { rawAnswer } from './raw.ts';
import { addAmount, addCounts } from './summary.ts';
import type { Counts } from './summary.ts';
import type { Zone } from './zone.ts';

/** When the last roll-up of the night was, local time. */
const ROLL_UP_MINUTE = 150;

/** The body of a good answer, as JSON. */
export function answer(ledger: Ledger, utc: Zone, question: DataQuestion, nowMs: number): string {
  const { forced } = ledger.conventions;
  const { aggregation } = question;
  if (aggregation === undefined) {
    return (
      rawAnswer(ledger, utc, question, nowMs) ??
      aggregated(ledger, utc, question, forced.to, nowMs, true).body
    );
  }
  const asked = aggregated(ledger, utc, question, aggregation, nowMs, false);
  const tooLarge =
    forced.above === 'rows' ? asked.rows > forced.limit : asked.body.length > forced.limit;
  return tooLarge &&
    coarseness(forced.to, ledger.conventions) > coarseness(aggregation, ledger.conventions)
    ? aggregated(ledger, utc, question, forced.to, nowMs, true).body
    : asked.body;
}

/** Groups are coarser than anything: the service has no larger ones. */
function coarseness(aggregation: Aggregation, conventions: Conventions): number {
  switch (aggregation) {
    case 'minute':
      return 0;
    case 'quarter':
      return conventions.quarter === '15 minutes' ? 1 : 3;
    case 'day':
      return 2;
    case 'branch':
    case 'client':
    case 'device':
      return 4;
  }
}

function aggregated(
  ledger: Ledger,
  utc: Zone,
  question: DataQuestion,
  aggregation: Aggregation | ForcedAggregation,
  nowMs: number,
  isForced: boolean,
): { readonly body: string; readonly rows: number } {
  const rows = isGroup(aggregation)
    ? groupRows(ledger, question, aggregation, nowMs)
    : timeRows(ledger, utc, question, aggregation, nowMs, isForced);
  if (ledger.conventions.rowOrder === 'descending') {
    rows.reverse();
  }
  const result = rows.map(({ key, counts }) =>
    question.stream === 'people'
      ? `{"key":${key},"in":${counts.first},"out":${counts.second}}`
      : `{"key":${key},"value":${counts.first}}`,
  );
  const metadata = { ...question.echo, count: rows.length, aggregation };
  return {
    body: `{"metadata":${JSON.stringify(metadata)},"result":[${result.join(',')}]}`,
    rows: rows.length,
  };
}

function timeRows(
  ledger: Ledger,
  utc: Zone,
  question: DataQuestion,
  aggregation: TimeAggregation,
  nowMs: number,
  isForced: boolean,
): Row[] {
  const { conventions, zone } = ledger;
  const buckets = createBuckets(aggregation, conventions, zone, utc);
  const widened = isForced
    ? conventions.forced.window === 'whole buckets'
    : conventions.window === 'whole buckets' && aggregation !== 'minute';
  const span = { stream: question.stream, ...(widened ? widen(question, buckets) : question) };
  const nightly =
    (aggregation === 'day' && conventions.dayFreshness === 'nightly') ||
    (aggregation === 'quarter' && conventions.quarterFreshness === 'nightly');
  const shown = nightly ? lastRollUp(ledger, nowMs) : { knownAtMs: nowMs, keyBeforeMs: Infinity };

  const counts = new Map<number, Counts>();
  function bucket(number: number): Counts {
    const found = counts.get(number) ?? { first: 0, second: 0 };
    counts.set(number, found);
    return found;
  }
  const byDate = aggregation === 'day' || conventions.quarter === '3 months';
  ledger.scan(
    { ...span, nowMs: shown.knownAtMs },
    (records, at) => {
      const keyMs = records.keyMs[at] ?? 0;
      if (keyMs < shown.keyBeforeMs) {
        addAmount(bucket(buckets.bucketOf(keyMs)), records.amount[at] ?? 0);
      }
    },
    (summary) => {
      if (aggregation === 'minute' || !byDate || summary.lastKeyMs >= shown.keyBeforeMs) {
        return false;
      }
      for (const [day, ofDay] of summary.byDay) {
        addCounts(bucket(aggregation === 'day' ? day : quarterOfYear(day)), ofDay);
      }
      return true;
    },
  );
  if (conventions.emptyBuckets === 'listed') {
    const serviceNowMs = nowMs + conventions.serviceClockMs;
    const lastMs = Math.min(span.toMs, serviceNowMs, shown.keyBeforeMs - 1);
    const last = buckets.bucketOf(lastMs);
    for (let at = buckets.bucketOf(Math.max(span.fromMs, ledger.startMs)); at <= last; at++) {
      bucket(at);
    }
  }
  const numbers = Array.from(counts.keys()).toSorted((a, b) => a - b);
  const first =
    question.fromMs === -Infinity ? (numbers[0] ?? 0) : buckets.bucketOf(question.askedFromMs);
  const rows = numbers.map((number) => ({
    key: buckets.key(number, first),
    counts: bucket(number),
  }));
  return conventions.repeatedKeys === 'merged' ? merge(rows) : rows;
}

function merge(rows: readonly Row[]): Row[] {
  const merged = new Map<string, Row>();
  for (const row of rows) {
    const found = merged.get(row.key);
    if (found === undefined) {
      merged.set(row.key, row);
    } else {
      addCounts(found.counts, row.counts);
    }
  }
  return [...merged.values()];
}

function widen(
  question: DataQuestion,
  buckets: Buckets,
): { readonly fromMs: number; readonly toMs: number } {
  const { fromMs, toMs } = question;
  return {
    fromMs: Number.isFinite(fromMs)
      ? buckets.startMs(buckets.bucketOf(question.askedFromMs))
      : fromMs,
    toMs: Number.isFinite(toMs) ? buckets.startMs(buckets.bucketOf(toMs) + 1) - 1 : toMs,
  };
}

/** What a nightly roll-up shows: what it knew when it ran, of the days that were over then. */
function lastRollUp(
  ledger: Ledger,
  nowMs: number,
): { readonly knownAtMs: number; readonly keyBeforeMs: number } {
  const { zone, dayZone } = ledger;
  const today = zone.dayOf(nowMs);
  const tonight = zone.instantOf(today * DAY_MS + ROLL_UP_MINUTE * MINUTE_MS);
  const knownAtMs =
    tonight <= nowMs ? tonight : zone.instantOf((today - 1) * DAY_MS + ROLL_UP_MINUTE * MINUTE_MS);
  return { knownAtMs, keyBeforeMs: dayZone.dayStartMs(dayZone.dayOf(knownAtMs)) };
}
