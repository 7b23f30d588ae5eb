/** The people or the logins of a customer: the state of their polls, their health, today and the past. */
import { COUNTERS } from '../base/model.ts';
import type { MinuteStream } from '../base/model.ts';
import type { CountingPeriod } from './calendar/calendar.ts';
import type { CountedDays } from './past/counted-days.ts';
import { UNPOLLED } from './totals/health.ts';
import type { Health } from './totals/health.ts';
import type { CounterOwner, HighWaterMarks, Mark } from './high-water-marks.ts';
import { countOf } from './rows/counts.ts';
import { INITIAL_STATE } from './totals/state.ts';
import type { AcceptedTotals, StreamState } from './totals/state.ts';

export class CountedStream {
  readonly name: MinuteStream;
  readonly days: CountedDays;
  health: Health = UNPOLLED;
  readonly #owner: CounterOwner;
  readonly #marks: HighWaterMarks;
  #state: StreamState = INITIAL_STATE;
  #unreadableMs: number | undefined;

  constructor(name: MinuteStream, days: CountedDays, owner: CounterOwner, marks: HighWaterMarks) {
    this.name = name;
    this.days = days;
    this.#owner = owner;
    this.#marks = marks;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** The first accepted poll in a row whose minutes could not be read; undefined if those of the newest one could. */
  get unreadableMs(): number | undefined {
    return this.#unreadableMs;
  }

  /** Replaces the state after a poll, and updates the high-water marks (rule 7). Returns whether it has new counts. */
  polled(state: StreamState, nowMs: number): boolean {
    const { snapshot } = state;
    const isNew = snapshot !== this.#state.snapshot;
    this.#state = state;
    if (snapshot !== undefined) {
      COUNTERS[this.name].forEach((counter, i) => {
        const total = countOf(snapshot.totals, i);
        this.#marks.update(this.#owner, counter, snapshot.period, total, nowMs);
      });
      this.#unreadableMs = snapshot.minutes ? undefined : (this.#unreadableMs ?? snapshot.atMs);
      this.days.counted(snapshot);
    }
    return isNew;
  }

  /** Returns the high-water marks of its counters of the newest period that has begun. */
  marksAt(nowMs: number): readonly Mark[] {
    return COUNTERS[this.name].flatMap(
      (counter) => this.#marks.get(this.#owner, counter, nowMs) ?? [],
    );
  }

  /** Returns the high-water marks of a period; undefined unless every counter has one. */
  marksOf({ startMs }: Pick<CountingPeriod, 'startMs'>): AcceptedTotals | undefined {
    const marks = COUNTERS[this.name].flatMap(
      (counter) => this.#marks.ofPeriod(this.#owner, counter, startMs) ?? [],
    );
    return marks.length < COUNTERS[this.name].length
      ? undefined
      : {
          totals: marks.map(({ value }) => value),
          atMs: Math.max(...marks.map(({ atMs }) => atMs)),
        };
  }
}
