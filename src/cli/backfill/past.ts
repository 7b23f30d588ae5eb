/** What a customer's history comes to in each family: the same families as a scrape shows. Pure. */
import { ALL_COUNTERS, COUNTERS, MINUTE_STREAMS } from '../../base/model.ts';
import type { Breakdown, CounterName, MinuteStream } from '../../base/model.ts';
import { keyFiguresAt } from '../../counting/breakdown-history.ts';
import type { BreakdownHistory } from '../../counting/breakdown-history.ts';
import { compareKeys } from '../../counting/by-key.ts';
import { contains } from '../../counting/calendar.ts';
import { at, isZero } from '../../counting/counts.ts';
import type { BreakdownMetrics, CustomerMetrics } from '../../counting/customer-metrics.ts';
import { HistoryWalk } from '../../counting/history.ts';
import type { MinuteHistory } from '../../counting/minute-history.ts';
import { breakdownFamilies } from '../../metrics/breakdown-families.ts';
import { LASTING_FAMILIES } from '../../metrics/families.ts';
import type { Family, FamilyContext, LabelPair } from '../../metrics/family.ts';
import { pastSamples } from '../../metrics/history-text.ts';
import type { PastFigures, PastSamples } from '../../metrics/history-text.ts';
import type { PartRecord } from './manifest.ts';
import { counterName, instantsOf } from './plan.ts';
import type { Part } from './plan.ts';
import type { PartHistory } from './reader.ts';

export interface PastOptions extends FamilyContext {
  readonly stepMs: number;
  /** The labels that a scrape adds. */
  readonly target: readonly LabelPair[];
}

/** Those that can be told of the past, in the order of a scrape. */
export function pastFamilies(configured: ReadonlySet<Breakdown>): readonly Family[] {
  return [...LASTING_FAMILIES, ...breakdownFamilies(configured)];
}

/** The sums of the epoch; empty where nobody has been counted. */
export function totalsOf({ streams }: PartHistory): PartRecord['totals'] {
  const totals: Partial<Record<CounterName, { byMinute: number; byDay: number }>> = {};
  for (const [stream, { sums, byDay }] of entriesOf(streams)) {
    COUNTERS[stream].forEach((kind, i) => {
      totals[kind] = { byMinute: at(sums, i), byDay: at(byDay, i) };
    });
  }
  return totals;
}

/**
 * The samples of each family. Only the streams of `counted` are told: the rest has no history yet,
 * and what is not known is not 0.
 */
export function samplesOfPart(
  part: Part,
  history: PartHistory,
  counted: ReadonlySet<MinuteStream>,
  options: PastOptions,
): (family: Family) => Iterable<PastSamples> {
  const streams = Object.fromEntries(
    entriesOf(history.streams).filter(([stream]) => counted.has(stream)),
  );
  const past = counted.size === 0 ? [] : pastOf(part, { ...history, streams }, options.stepMs);
  return function* samplesOf(family) {
    if (LASTING_FAMILIES.includes(family)) {
      yield* pastSamples(family, past, options, options.target);
      return;
    }
    for (const breakdown of counted.has('people') ? history.breakdowns : []) {
      for (const key of keysOf(part, breakdown)) {
        const ofKey = pastOfKey(part, breakdown, key, past);
        if (hasAny(family, ofKey.at(-1), options)) {
          yield* pastSamples(family, ofKey, options, options.target);
        }
      }
    }
  };
}

/** The streams of a history that have counts. */
export function countedStreams({ streams }: PartHistory): readonly MinuteStream[] {
  return entriesOf(streams).flatMap(([stream, { sums, byDay }]) =>
    isZero(sums) && isZero(byDay) ? [] : [stream],
  );
}

function entriesOf(
  streams: PartHistory['streams'],
): readonly (readonly [MinuteStream, MinuteHistory])[] {
  return MINUTE_STREAMS.flatMap((stream) => {
    const history = streams[stream];
    return history === undefined ? [] : [[stream, history] as const];
  });
}

function pastOf(part: Part, { streams }: PartHistory, stepMs: number): readonly PastFigures[] {
  const { subject, epoch, told } = part;
  const { config, calendar, description } = subject;
  const { name: customer, timezone } = config;
  const ceilings = ceilingsOf(part, (kind) => counterName(kind));
  const walk = new HistoryWalk({
    customer,
    timezone,
    description,
    calendar,
    epoch,
    streams,
    ceilings,
  });
  return instantsOf(told, stepMs).map((atMs) => ({ atMs, figures: walk.metricsAt(atMs) }));
}

/** Those that were counted, and those that have a name. */
function keysOf({ subject }: Part, { breakdown, keys }: BreakdownHistory): readonly string[] {
  const named = breakdown === 'branch' ? Object.keys(subject.config.branches) : [];
  return [...new Set([...keys, ...named])].toSorted(compareKeys);
}

/** The same instants, with the figures of one key alone. */
function pastOfKey(
  part: Part,
  history: BreakdownHistory,
  key: string,
  past: readonly PastFigures[],
): readonly PastFigures[] {
  const { breakdown, keys } = history;
  const { branches } = part.subject.config;
  const isCounted = keys.includes(key);
  const ceilings = ceilingsOf(part, (kind) => counterName(kind, [breakdown, key]));
  const name = Object.hasOwn(branches, key) ? (branches[key] ?? key) : key;
  const names: BreakdownMetrics['names'] = breakdown === 'branch' ? [[key, name]] : [];
  return past.map(({ atMs, figures }): PastFigures => {
    const ofKey = isCounted ? [keyFiguresAt(history, key, ceilings, atMs)] : [];
    const breakdowns = { [breakdown]: { keys: ofKey, leftOut: undefined, names } };
    return { atMs, figures: { ...figures, breakdowns } satisfies CustomerMetrics };
  });
}

/** What the running exporter showed first, where that was in this epoch. */
function ceilingsOf(
  { subject, epoch }: Part,
  nameOf: (kind: CounterName) => string,
): Readonly<Partial<Record<CounterName, number>>> {
  const ceilings: Partial<Record<CounterName, number>> = {};
  for (const kind of ALL_COUNTERS) {
    const first = subject.joint?.counters[nameOf(kind)];
    if (first !== undefined && contains(epoch, first.atMs)) {
      ceilings[kind] = first.value;
    }
  }
  return ceilings;
}

function hasAny(family: Family, last: PastFigures | undefined, context: FamilyContext): boolean {
  return last !== undefined && family.samples(last.figures, context).length > 0;
}
