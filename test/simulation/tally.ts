/** Sums over the worlds of a run. */
import { settingsOf } from './coverage.ts';
import type { Played } from './play.ts';

const DAYS_PER_YEAR = 365.25;

export class Tally {
  seeds = 0;
  /** Worlds in which something was found. */
  bad = 0;
  readonly #met = new Set<string>();
  #days = 0;
  #polls = 0;
  #requests = 0;
  #scrapes = 0;
  #faults = 0;
  #mishaps = 0;

  /** Customer-years. */
  get years(): number {
    return this.#days / DAYS_PER_YEAR;
  }

  add(played: Played): void {
    this.seeds += 1;
    this.bad += played.violations.length > 0 ? 1 : 0;
    this.#days += played.customerDays;
    this.#polls += played.polls;
    this.#requests += played.requests;
    this.#scrapes += played.scrapes;
    settingsOf(played.world).forEach((setting) => this.#met.add(setting));
    played.occasions.forEach((occasion) => this.#met.add(occasion));
    for (const [kind, count] of played.faults) {
      this.#met.add(`fault: ${kind}`);
      this.#faults += count;
    }
    for (const [kind, count] of played.mishaps) {
      this.#met.add(`mishap: ${kind}`);
      this.#mishaps += count;
    }
  }

  /** What of all there is no world has met. */
  missing(all: ReadonlySet<string>): readonly string[] {
    return [...all].filter((one) => !this.#met.has(one)).toSorted();
  }

  summary(): string {
    return (
      `${this.seeds} seeds, ${this.years.toFixed(2)} customer-years, ${this.#polls} polls, ` +
      `${this.#requests} requests, ${this.#scrapes} scrapes, ${this.#faults} faults, ` +
      `${this.#mishaps} mishaps`
    );
  }
}
