/**
 * The breakdowns of one customer: of each the newest snapshot, what is exported of it, and from both
 * the figures at any instant. A new epoch or day hides the old one's figures at once.
 */
import { COUNTERS } from '../base/model.ts';
import type { Breakdown, CounterName } from '../base/model.ts';
import { INITIAL_BREAKDOWN } from './breakdown.ts';
import type { BreakdownSnapshot, BreakdownState, KnownByKey } from './breakdown.ts';
import { compareKeys, countsOf } from './by-key.ts';
import type { CountingPeriod } from './calendar.ts';
import { at } from './counts.ts';
import type { Counts } from './counts.ts';
import type { BreakdownMetrics, KeyMetrics, CounterValues } from './customer-metrics.ts';
import { kindOfKey } from './high-water-marks.ts';
import type { CounterOwner, HighWaterMarks } from './high-water-marks.ts';
import { OCCUPANCY_AGE_MS } from './shown.ts';

export interface BreakdownSettings {
  readonly breakdowns: readonly Breakdown[];
  /** Names of branches by their keys, as configured. */
  readonly branchNames: Readonly<Record<string, string>>;
  /** How often each of them is polled. */
  readonly intervalMs: number;
}

/** Occupancy may be so many polls old, for these come seldom. */
const OCCUPANCY_POLLS = 3;

interface BreakdownRecord {
  state: BreakdownState;
  /** What is exported: of each key that is shown, per kind the high-water mark of its total. */
  shown: ReadonlyMap<string, Counts>;
}

export class Breakdowns {
  readonly #owner: CounterOwner;
  readonly #marks: HighWaterMarks;
  readonly #records = new Map<Breakdown, BreakdownRecord>();
  #settings: BreakdownSettings = { breakdowns: [], branchNames: {}, intervalMs: 0 };

  constructor(owner: CounterOwner, marks: HighWaterMarks) {
    this.#owner = owner;
    this.#marks = marks;
  }

  /** Those that stay go on with what they have counted. */
  configure(settings: BreakdownSettings): void {
    this.#settings = settings;
    for (const breakdown of this.#records.keys()) {
      if (!settings.breakdowns.includes(breakdown)) {
        this.#records.delete(breakdown);
      }
    }
    for (const breakdown of settings.breakdowns) {
      if (!this.#records.has(breakdown)) {
        this.#records.set(breakdown, { state: INITIAL_BREAKDOWN, shown: new Map() });
      }
    }
  }

  get configured(): readonly Breakdown[] {
    return this.#settings.breakdowns;
  }

  stateOf(breakdown: Breakdown): BreakdownState {
    return this.#record(breakdown).state;
  }

  /** The highest values shown in an epoch, by key; undefined where none were. */
  marksOf(breakdown: Breakdown, epoch: CountingPeriod): KnownByKey | undefined {
    const totals = new Map<string, number[]>();
    let atMs = -Infinity;
    COUNTERS.people.forEach((kind, i) => {
      for (const [key, mark] of this.#marks.ofKeys(this.#owner, breakdown, kind, epoch.startMs)) {
        const counts = totals.get(key) ?? COUNTERS.people.map(() => 0);
        counts[i] = mark.value;
        totals.set(key, counts);
        atMs = Math.max(atMs, mark.atMs);
      }
    });
    return totals.size === 0 ? undefined : { totals, atMs };
  }

  /** Takes over what a poll has left. */
  polled(breakdown: Breakdown, state: BreakdownState, nowMs: number): void {
    const record = this.#record(breakdown);
    record.state = state;
    const { snapshot } = state;
    if (snapshot !== undefined) {
      const shown = snapshot.keys.map((key): [string, Counts] => [
        key,
        this.#raise(breakdown, key, snapshot, nowMs),
      ]);
      record.shown = new Map(shown);
    }
  }

  metricsAt(
    nowMs: number,
    periodStartMs: number,
    dayStartMs: number,
  ): Readonly<Partial<Record<Breakdown, BreakdownMetrics>>> {
    const figures: Partial<Record<Breakdown, BreakdownMetrics>> = {};
    for (const [breakdown, { state, shown }] of this.#records) {
      const { snapshot } = state;
      const ofPeriod = snapshot?.epoch.startMs === periodStartMs ? snapshot : undefined;
      const ofDay = snapshot?.day.startMs === dayStartMs ? snapshot : undefined;
      const hasOccupancy = breakdown === 'branch' && this.#isFresh(ofDay, nowMs);
      const keys = (ofPeriod ?? ofDay)?.keys ?? [];
      figures[breakdown] = {
        keys: keys.map((key) => keyFigures(key, shown, ofPeriod, ofDay, hasOccupancy)),
        droppedKeys: ofPeriod?.droppedKeys,
        names: breakdown === 'branch' ? this.#namesOf(keys) : [],
      };
    }
    return figures;
  }

  /** When the occupancy of the branches is too old, unless they are polled until then. */
  occupancyEndMs(): number {
    const polledMs = this.#records.get('branch')?.state.snapshot?.atMs;
    return polledMs === undefined ? Infinity : polledMs + this.#occupancyAgeMs() + 1;
  }

  #raise(
    breakdown: Breakdown,
    key: string,
    { epoch, totals }: BreakdownSnapshot,
    nowMs: number,
  ): Counts {
    const counts = countsOf(totals, key);
    return COUNTERS.people.map((kind, i) =>
      this.#marks.update(this.#owner, kindOfKey(breakdown, kind, key), epoch, at(counts, i), nowMs),
    );
  }

  #isFresh(snapshot: BreakdownSnapshot | undefined, nowMs: number): boolean {
    // In both directions: after a step back, the newest good poll lies in the future.
    return snapshot !== undefined && Math.abs(nowMs - snapshot.atMs) <= this.#occupancyAgeMs();
  }

  #occupancyAgeMs(): number {
    return Math.max(OCCUPANCY_AGE_MS, OCCUPANCY_POLLS * this.#settings.intervalMs);
  }

  /** Of every branch that is shown or configured. */
  #namesOf(keys: readonly string[]): BreakdownMetrics['names'] {
    const names = this.#settings.branchNames;
    return [...new Set([...keys, ...Object.keys(names)])]
      .toSorted(compareKeys)
      .map((key) => [key, Object.hasOwn(names, key) ? (names[key] ?? key) : key]);
  }

  #record(breakdown: Breakdown): BreakdownRecord {
    const record = this.#records.get(breakdown);
    if (record === undefined) {
      throw new Error(`customer ${this.#owner.customer} has no breakdown by ${breakdown}`);
    }
    return record;
  }
}

function keyFigures(
  key: string,
  shown: ReadonlyMap<string, Counts>,
  ofPeriod: BreakdownSnapshot | undefined,
  ofDay: BreakdownSnapshot | undefined,
  hasOccupancy: boolean,
): KeyMetrics {
  const today = ofDay && countsOf(ofDay.today, key);
  const totals = ofPeriod && countsOf(ofPeriod.totals, key);
  const counters: Partial<Record<CounterName, CounterValues>> = {};
  COUNTERS.people.forEach((kind, i) => {
    const total = totals && at(shown.get(key) ?? [], i);
    counters[kind] = {
      total,
      excess: total === undefined || totals === undefined ? undefined : total - at(totals, i),
      today: today && at(today, i),
    };
  });
  const inside = today && Math.max(0, at(today, 0) - at(today, 1));
  return { key, counters, occupancy: hasOccupancy ? inside : undefined };
}
