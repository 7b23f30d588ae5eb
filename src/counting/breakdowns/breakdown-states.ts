/** The breakdowns of one customer: their states, and from these the exported values at any instant. */
import { COUNTERS } from '../../base/model.ts';
import type { Breakdown, CounterName } from '../../base/model.ts';
import { countsOf, INITIAL_BREAKDOWN } from './poll-breakdown.ts';
import type { AcceptedByKey, BreakdownSnapshot, BreakdownState } from './poll-breakdown.ts';
import { countOf, grandTotal } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { counterValues } from '../customer-metrics.ts';
import type {
  BreakdownMetrics,
  CounterValues,
  CustomerMetrics,
  DeviceMetrics,
  KeyMetrics,
} from '../customer-metrics.ts';
import { UNPOLLED } from '../totals/health.ts';
import type { Health } from '../totals/health.ts';
import { counterOfKey } from '../high-water-marks.ts';
import type { CounterOwner, HighWaterMarks } from '../high-water-marks.ts';

/** A people counter in the running counting period. */
export interface CountedDevice {
  readonly key: string;
  /** When its total last rose, as far as the high-water marks know; not after the start of a day without counts. */
  readonly lastMs: number;
  /** When it was last read. */
  readonly untilMs: number;
  /** Entries and exits in the counting period, by the service. */
  readonly people: number;
  /** Its exported total minus the service's. */
  readonly excess: number;
}

export class Breakdowns {
  readonly #owner: CounterOwner;
  readonly #marks: HighWaterMarks;
  #states: ReadonlyMap<Breakdown, BreakdownState> = new Map();
  /** Also of removed breakdowns: their counters must not fall if they come back. */
  readonly #health = new Map<Breakdown, Health>();

  constructor(owner: CounterOwner, marks: HighWaterMarks) {
    this.#owner = owner;
    this.#marks = marks;
  }

  /** Breakdowns that stay keep their state. */
  configure(breakdowns: readonly Breakdown[]): void {
    this.#states = new Map(breakdowns.map((breakdown) => [breakdown, this.stateOf(breakdown)]));
  }

  get configured(): readonly Breakdown[] {
    return [...this.#states.keys()];
  }

  stateOf(breakdown: Breakdown): BreakdownState {
    return this.#states.get(breakdown) ?? INITIAL_BREAKDOWN;
  }

  healthOf(breakdown: Breakdown): Health {
    return this.#health.get(breakdown) ?? UNPOLLED;
  }

  setHealth(breakdown: Breakdown, health: Health): void {
    this.#health.set(breakdown, health);
  }

  /** Returns the high-water marks of a period by key; undefined if there are none. */
  marksOf(breakdown: Breakdown, periodStartMs: number): AcceptedByKey | undefined {
    const totals = new Map<string, Counts>();
    let atMs = -Infinity;
    COUNTERS.people.forEach((counter, i) => {
      const marks = this.#marks.ofKeys(this.#owner, breakdown, counter, periodStartMs);
      for (const [key, mark] of marks) {
        totals.set(key, (totals.get(key) ?? [0, 0]).with(i, mark.value));
        atMs = Math.max(atMs, mark.atMs);
      }
    });
    return totals.size === 0 ? undefined : { totals, atMs };
  }

  /** Returns the keys that counted anybody in a period. */
  countedKeys(breakdown: Breakdown, periodStartMs: number): readonly string[] {
    const totals = this.marksOf(breakdown, periodStartMs)?.totals ?? [];
    return [...totals].flatMap(([key, counts]) => (counts.some((count) => count > 0) ? key : []));
  }

  /** Replaces the state after a poll, and updates the high-water marks (rule 7). */
  polled(breakdown: Breakdown, state: BreakdownState, nowMs: number): void {
    const { snapshot } = state;
    snapshot?.totals.forEach((totals, key) => {
      COUNTERS.people.forEach((counter, i) => {
        const marked = counterOfKey(breakdown, counter, key);
        this.#marks.update(this.#owner, marked, snapshot.period, countOf(totals, i), nowMs);
      });
    });
    this.#states = new Map(this.#states).set(breakdown, state);
  }

  /**
   * Returns the devices that counted anybody in the running counting period, or in the last one; undefined until the
   * first accepted poll of the period.
   */
  devicesOf(
    periodStartMs: number,
    lastPeriodStartMs: number,
  ): readonly CountedDevice[] | undefined {
    const { snapshot } = this.stateOf('device');
    if (snapshot?.period.startMs !== periodStartMs) {
      return undefined;
    }
    return [...snapshot.totals].flatMap(([key, totals]) => {
      const marks = [periodStartMs, lastPeriodStartMs].map((startMs) =>
        COUNTERS.people.flatMap((counter) => {
          const marked = counterOfKey('device', counter, key);
          return this.#marks.ofPeriod(this.#owner, marked, startMs) ?? [];
        }),
      );
      const counted = marks.flat().filter(({ value }) => value > 0);
      const people = grandTotal(totals);
      const exported = grandTotal((marks[0] ?? []).map(({ value }) => value));
      return counted.length === 0
        ? []
        : {
            key,
            lastMs: Math.min(
              Math.max(...counted.map(({ atMs }) => atMs)),
              grandTotal(countsOf(snapshot.today, key)) === 0 ? snapshot.day.startMs : Infinity,
            ),
            untilMs: snapshot.atMs,
            people,
            excess: exported - people,
          };
    });
  }

  /** `devices` has values of devices by key. */
  metricsAt(
    periodStartMs: number,
    dayStartMs: number,
    devices: ReadonlyMap<string, DeviceMetrics> = new Map(),
  ): CustomerMetrics['breakdowns'] {
    const metrics: Partial<Record<Breakdown, BreakdownMetrics>> = {};
    for (const [breakdown, { snapshot }] of this.#states) {
      const ofPeriod = snapshot?.period.startMs === periodStartMs ? snapshot : undefined;
      const ofDay = snapshot?.day.startMs === dayStartMs ? snapshot : undefined;
      const keys = [...((ofPeriod ?? ofDay)?.totals.keys() ?? [])];
      metrics[breakdown] = {
        keys: keys.map((key) => ({
          ...this.#keyMetrics(breakdown, key, ofPeriod, ofDay),
          ...(breakdown === 'device' && { device: devices.get(key) }),
        })),
        droppedKeys: ofPeriod?.droppedKeys,
      };
    }
    return metrics;
  }

  #keyMetrics(
    breakdown: Breakdown,
    key: string,
    ofPeriod: BreakdownSnapshot | undefined,
    ofDay: BreakdownSnapshot | undefined,
  ): KeyMetrics {
    const today = ofDay && countsOf(ofDay.today, key);
    const totals = ofPeriod && countsOf(ofPeriod.totals, key);
    const counters: Partial<Record<CounterName, CounterValues>> = {};
    COUNTERS.people.forEach((counter, i) => {
      const marked = counterOfKey(breakdown, counter, key);
      counters[counter] = counterValues(
        ofPeriod && this.#marks.ofPeriod(this.#owner, marked, ofPeriod.period.startMs),
        totals && countOf(totals, i),
        today && countOf(today, i),
      );
    });
    return { key, counters };
  }
}
