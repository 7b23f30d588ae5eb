/**
 * One customer: its streams' newest snapshots, how its polls went, and from both the figures at any
 * instant. What is shown changes with the time of the asking, not of the polling: a new epoch or day
 * hides the old one's figures at once.
 */
import { KINDS } from '../base/nouns.ts';
import type { Kind, MinuteStream } from '../base/nouns.ts';
import type { Believed } from './belief.ts';
import { contains, runningEpoch } from './calendar.ts';
import type { Calendar, Epoch } from './calendar.ts';
import { at } from './counts.ts';
import type { CustomerFigures, FiguresSource, KindFigures, StreamFigures } from './figures.ts';
import type { MarkOwner, Marks } from './marks.ts';
import type { OpeningHours } from './opening-hours.ts';
import { INITIAL_STATE } from './state.ts';
import type { StreamState } from './state.ts';

/** What is told of a customer and changes nothing that is counted. */
export interface CustomerDescription {
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: number | undefined;
  readonly openingHours: OpeningHours | undefined;
}

export interface CustomerOptions {
  readonly name: string;
  readonly timezone: string;
  readonly description: CustomerDescription;
  readonly calendar: Calendar;
  readonly streams: readonly MinuteStream[];
  readonly owner: MarkOwner;
  readonly marks: Marks;
}

/** Occupancy older than this says nothing about who is inside now. */
const OCCUPANCY_AGE_MS = 15 * 60_000;

interface StreamRecord {
  state: StreamState;
  /** What is exported: per kind the high-water mark of the snapshot's totals. */
  shown: readonly number[];
  health: StreamFigures;
}

export class Customer implements FiguresSource {
  readonly customer: string;
  readonly #options: CustomerOptions;
  readonly #streams = new Map<MinuteStream, StreamRecord>();
  #description: CustomerDescription;
  #epoch: Epoch | undefined;
  #credentialsValid: boolean | undefined;

  constructor(options: CustomerOptions) {
    this.#options = options;
    this.#description = options.description;
    this.customer = options.name;
    for (const stream of options.streams) {
      this.#streams.set(stream, { state: INITIAL_STATE, shown: [], health: UNPOLLED });
    }
  }

  get streams(): readonly MinuteStream[] {
    return this.#options.streams;
  }

  get calendar(): Calendar {
    return this.#options.calendar;
  }

  stateOf(stream: MinuteStream): StreamState {
    return this.#record(stream).state;
  }

  /** The running epoch; the one of the marks stays until the next begins. */
  epochAt(nowMs: number): Epoch {
    const running = this.#epoch ?? this.#epochOfMarks();
    this.#epoch = runningEpoch(this.calendar, running, nowMs);
    return this.#epoch;
  }

  /** The highest values shown in the running epoch, before any poll of this process. */
  marksOf(stream: MinuteStream, epoch: Epoch): Believed | undefined {
    const { owner, marks } = this.#options;
    const known = KINDS[stream].map((kind) => marks.ofEpoch(owner, kind, epoch.startMs));
    const ofEpoch = known.filter((mark) => mark !== undefined);
    return ofEpoch.length < known.length
      ? undefined
      : {
          totals: ofEpoch.map(({ value }) => value),
          atMs: Math.max(...ofEpoch.map(({ atMs }) => atMs)),
        };
  }

  pollSucceeded(stream: MinuteStream, state: StreamState, nowMs: number): void {
    const record = this.#record(stream);
    record.state = state;
    const { snapshot } = state;
    if (snapshot !== undefined) {
      const { owner, marks } = this.#options;
      record.shown = KINDS[stream].map((kind, i) =>
        marks.raise(owner, kind, snapshot.epoch, at(snapshot.totals, i), nowMs),
      );
    }
    record.health = {
      ...record.health,
      up: true,
      lastSuccessMs: nowMs,
      polls: record.health.polls + 1,
      lastError: undefined,
    };
  }

  /** `message` is safe to show. */
  pollFailed(stream: MinuteStream, message: string, nowMs: number): void {
    const record = this.#record(stream);
    record.health = {
      ...record.health,
      up: false,
      polls: record.health.polls + 1,
      failures: record.health.failures + 1,
      lastError: { message, atMs: nowMs },
    };
  }

  turnSkipped(stream: MinuteStream): void {
    const record = this.#record(stream);
    record.health = { ...record.health, skipped: record.health.skipped + 1 };
  }

  describe(description: CustomerDescription): void {
    this.#description = description;
  }

  credentialsJudged(valid: boolean): void {
    this.#credentialsValid = valid;
  }

  figuresAt(nowMs: number): CustomerFigures {
    const { name, timezone, calendar } = this.#options;
    const { labels, capacity, openingHours } = this.#description;
    const epoch = this.epochAt(nowMs);
    const kinds: Partial<Record<Kind, KindFigures>> = {};
    const streams: Partial<Record<MinuteStream, StreamFigures>> = {};
    for (const [stream, record] of this.#streams) {
      KINDS[stream].forEach((kind, i) => {
        kinds[kind] = kindFigures(record, i, epoch, calendar.dayAt(nowMs).startMs);
      });
      streams[stream] = { ...record.health, lastSeenMs: lastSeenOf(record, calendar, nowMs) };
    }
    return {
      customer: name,
      timezone,
      labels,
      utcOffsetSeconds: calendar.zone.offsetMsAt(nowMs) / 1000,
      epochStartMs: epoch.startMs,
      capacity,
      open: openingHours?.isOpenAt(nowMs, timezone),
      credentialsValid: this.#credentialsValid,
      occupancy: this.#occupancyAt(nowMs),
      kinds,
      streams,
      validUntilMs: this.#validUntil(nowMs, epoch),
    };
  }

  #occupancyAt(nowMs: number): number | undefined {
    const snapshot = this.#streams.get('people')?.state.snapshot;
    const fresh =
      snapshot !== undefined &&
      // In both directions: after a step back, the newest good poll lies in the future.
      Math.abs(nowMs - snapshot.atMs) <= OCCUPANCY_AGE_MS &&
      snapshot.day.startMs === this.calendar.dayAt(nowMs).startMs;
    return fresh ? snapshot.minutes?.occupancy : undefined;
  }

  #validUntil(nowMs: number, epoch: Epoch): number {
    const { timezone, calendar } = this.#options;
    const { openingHours } = this.#description;
    const peopleAtMs = this.#streams.get('people')?.state.snapshot?.atMs;
    const staleMs = peopleAtMs === undefined ? Infinity : peopleAtMs + OCCUPANCY_AGE_MS + 1;
    return Math.min(
      epoch.endMs,
      calendar.dayAt(nowMs).endMs,
      calendar.zone.nextTransitionAfter(nowMs),
      openingHours?.nextChangeAfter(nowMs, timezone) ?? Infinity,
      staleMs > nowMs ? staleMs : Infinity,
    );
  }

  #epochOfMarks(): { startMs: number; month: number } | undefined {
    const { owner, marks } = this.#options;
    const newest = this.streams
      .flatMap((stream) => KINDS[stream].map((kind) => marks.get(owner, kind)))
      .filter((mark) => mark !== undefined)
      .toSorted((a, b) => b.epochStartMs - a.epochStartMs)[0];
    return newest && { startMs: newest.epochStartMs, month: newest.month };
  }

  #record(stream: MinuteStream): StreamRecord {
    const record = this.#streams.get(stream);
    if (record === undefined) {
      throw new Error(`customer ${this.customer} has no stream ${stream}`);
    }
    return record;
  }
}

const UNPOLLED: StreamFigures = {
  up: undefined,
  lastSuccessMs: undefined,
  lastSeenMs: undefined,
  polls: 0,
  failures: 0,
  skipped: 0,
  lastError: undefined,
};

function kindFigures(
  record: StreamRecord,
  kind: number,
  epoch: Epoch,
  dayStartMs: number,
): KindFigures {
  const { snapshot } = record.state;
  const total = snapshot?.epoch.startMs === epoch.startMs ? record.shown[kind] : undefined;
  return {
    total,
    held:
      total === undefined || snapshot === undefined ? undefined : total - at(snapshot.totals, kind),
    today: snapshot?.day.startMs === dayStartMs ? at(snapshot.today, kind) : undefined,
  };
}

/** The newest minute that counted anybody, as long as it lies in today or the day before. */
function lastSeenOf(record: StreamRecord, calendar: Calendar, nowMs: number): number | undefined {
  const lastSeenMs = record.state.snapshot?.minutes?.lastSeenMs;
  const today = calendar.dayAt(nowMs);
  const since = calendar.dayBefore(today);
  return lastSeenMs !== undefined && contains({ ...since, endMs: today.endMs }, lastSeenMs)
    ? lastSeenMs
    : undefined;
}
