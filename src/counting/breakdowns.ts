/** The breakdowns of one customer: their states, and from these the exported values at any instant. */
import { COUNTERS } from '../base/model.ts';
import type { Breakdown, CounterName } from '../base/model.ts';
import { INITIAL_BREAKDOWN } from './breakdown.ts';
import type { AcceptedByKey, BreakdownSnapshot, BreakdownState } from './breakdown.ts';
import { compareKeys, countsOf } from './by-key.ts';
import { at } from './counts.ts';
import type { Counts } from './counts.ts';
import { counterValues, MAX_OCCUPANCY_AGE_MS } from './customer-metrics.ts';
import type { BreakdownMetrics, CounterValues, KeyMetrics } from './customer-metrics.ts';
import { kindOfKey } from './high-water-marks.ts';
import type { CounterOwner, HighWaterMarks } from './high-water-marks.ts';

export interface BreakdownSettings {
  readonly breakdowns: readonly Breakdown[];
  /** Names of branches by their keys, as configured. */
  readonly branchNames: Readonly<Record<string, string>>;
  /** How often each of them is polled. */
  readonly intervalMs: number;
}

/** Occupancy of branches may be this many polls old, because they are rare. */
const MAX_OCCUPANCY_AGE_POLLS = 3;

interface BreakdownRecord {
  state: BreakdownState;
  /** The exported totals by key: their high-water marks. */
  exported: ReadonlyMap<string, Counts>;
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

  /** Breakdowns that stay keep their state. */
  configure(settings: BreakdownSettings): void {
    this.#settings = settings;
    for (const breakdown of this.#records.keys()) {
      if (!settings.breakdowns.includes(breakdown)) {
        this.#records.delete(breakdown);
      }
    }
    for (const breakdown of settings.breakdowns) {
      if (!this.#records.has(breakdown)) {
        this.#records.set(breakdown, { state: INITIAL_BREAKDOWN, exported: new Map() });
      }
    }
  }

  get configured(): readonly Breakdown[] {
    return this.#settings.breakdowns;
  }

  stateOf(breakdown: Breakdown): BreakdownState {
    return this.#record(breakdown).state;
  }

  /** The high-water marks of a period by key; undefined if there are none. */
  marksOf(breakdown: Breakdown, periodStartMs: number): AcceptedByKey | undefined {
    const totals = new Map<string, number[]>();
    let atMs = -Infinity;
    COUNTERS.people.forEach((counter, i) => {
      for (const [key, mark] of this.#marks.ofKeys(
        this.#owner,
        breakdown,
        counter,
        periodStartMs,
      )) {
        const counts = totals.get(key) ?? COUNTERS.people.map(() => 0);
        counts[i] = mark.value;
        totals.set(key, counts);
        atMs = Math.max(atMs, mark.atMs);
      }
    });
    return totals.size === 0 ? undefined : { totals, atMs };
  }

  /** The keys that counted anybody in a period. */
  countedKeys(breakdown: Breakdown, periodStartMs: number): readonly string[] {
    const totals = this.marksOf(breakdown, periodStartMs)?.totals ?? new Map<string, Counts>();
    return [...totals.keys()].filter((key) => countsOf(totals, key).some((count) => count > 0));
  }

  /** Replaces the state after a poll, and updates the high-water marks (rule 7). */
  polled(breakdown: Breakdown, state: BreakdownState, nowMs: number): void {
    const record = this.#record(breakdown);
    record.state = state;
    const { snapshot } = state;
    if (snapshot !== undefined) {
      const exported = snapshot.keys.map((key): [string, Counts] => [
        key,
        this.#updateMarks(breakdown, key, snapshot, nowMs),
      ]);
      record.exported = new Map(exported);
    }
  }

  metricsAt(
    nowMs: number,
    periodStartMs: number,
    dayStartMs: number,
  ): Readonly<Partial<Record<Breakdown, BreakdownMetrics>>> {
    const metrics: Partial<Record<Breakdown, BreakdownMetrics>> = {};
    for (const [breakdown, { state, exported }] of this.#records) {
      const { snapshot } = state;
      const ofPeriod = snapshot?.period.startMs === periodStartMs ? snapshot : undefined;
      const ofDay = snapshot?.day.startMs === dayStartMs ? snapshot : undefined;
      const hasOccupancy = breakdown === 'branch' && this.#isRecent(ofDay, nowMs);
      const keys = (ofPeriod ?? ofDay)?.keys ?? [];
      metrics[breakdown] = {
        keys: keys.map((key) => keyMetrics(key, exported, ofPeriod, ofDay, hasOccupancy)),
        droppedKeys: ofPeriod?.droppedKeys,
        names: breakdown === 'branch' ? this.#names(keys) : [],
      };
    }
    return metrics;
  }

  /** When the occupancy of the branches becomes too old without a poll. */
  occupancyEndMs(): number {
    const polledMs = this.#records.get('branch')?.state.snapshot?.atMs;
    return polledMs === undefined ? Infinity : polledMs + this.#maxOccupancyAgeMs() + 1;
  }

  #updateMarks(
    breakdown: Breakdown,
    key: string,
    { period, totals }: BreakdownSnapshot,
    nowMs: number,
  ): Counts {
    const counts = countsOf(totals, key);
    return COUNTERS.people.map((counter, i) => {
      const kind = kindOfKey(breakdown, counter, key);
      return this.#marks.update(this.#owner, kind, period, at(counts, i), nowMs);
    });
  }

  #isRecent(snapshot: BreakdownSnapshot | undefined, nowMs: number): boolean {
    // After a clock step back, the last poll is in the future.
    return snapshot !== undefined && Math.abs(nowMs - snapshot.atMs) <= this.#maxOccupancyAgeMs();
  }

  #maxOccupancyAgeMs(): number {
    return Math.max(MAX_OCCUPANCY_AGE_MS, MAX_OCCUPANCY_AGE_POLLS * this.#settings.intervalMs);
  }

  /** Of each branch that is exported or configured. */
  #names(keys: readonly string[]): BreakdownMetrics['names'] {
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

function keyMetrics(
  key: string,
  exported: ReadonlyMap<string, Counts>,
  ofPeriod: BreakdownSnapshot | undefined,
  ofDay: BreakdownSnapshot | undefined,
  hasOccupancy: boolean,
): KeyMetrics {
  const today = ofDay && countsOf(ofDay.today, key);
  const totals = ofPeriod && countsOf(ofPeriod.totals, key);
  const counters: Partial<Record<CounterName, CounterValues>> = {};
  COUNTERS.people.forEach((counter, i) => {
    counters[counter] = counterValues(
      totals && at(countsOf(exported, key), i),
      totals && at(totals, i),
      today && at(today, i),
    );
  });
  const inside = today && Math.max(0, at(today, 0) - at(today, 1));
  return { key, counters, occupancy: hasOccupancy ? inside : undefined };
}
