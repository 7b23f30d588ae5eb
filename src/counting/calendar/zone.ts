/** A time zone as a list of intervals with a constant offset, each found once and kept. */
import { Temporal } from 'temporal-polyfill';

interface OffsetInterval {
  readonly offsetMs: number;
  /** First instant with this offset. */
  readonly startMs: number;
  /** First instant after it. */
  readonly endMs: number;
}

/** No zone is farther from UTC, so a wall-clock time read as UTC is off by at most this. */
const MAX_OFFSET_MS = 15 * 3_600_000;

export class Zone {
  readonly name: string;
  readonly #intervals: OffsetInterval[] = [];

  /** `name` is an IANA name that the runtime knows. */
  constructor(name: string) {
    this.name = name;
  }

  /** Local time minus UTC, in milliseconds. */
  offsetMsAt(instantMs: number): number {
    return this.#intervalAt(instantMs).offsetMs;
  }

  /** Returns the first instant after `instantMs` with another offset; Infinity if there is none. */
  nextTransitionAfter(instantMs: number): number {
    return this.#intervalAt(instantMs).endMs;
  }

  /**
   * Returns the instant of `wallMs`, a local date and time written as if it were UTC. In the repeated hour it
   * is the first of both; a skipped time is read with the offset from before the gap (Temporal's
   * `earlier` and `compatible`).
   */
  instantOfWall(wallMs: number): number {
    const before = this.offsetMsAt(wallMs - MAX_OFFSET_MS);
    const after = this.offsetMsAt(wallMs + MAX_OFFSET_MS);
    if (before === after) {
      return wallMs - before;
    }
    if (this.offsetMsAt(wallMs - before) === before) {
      return wallMs - before;
    }
    return wallMs - (this.offsetMsAt(wallMs - after) === after ? after : before);
  }

  /** `2026-11-01T04:00:00+01:00`: the instant in local time with its offset. Whole seconds. */
  format(instantMs: number): string {
    const offsetMs = this.offsetMsAt(instantMs);
    const minutes = Math.abs(Math.round(offsetMs / 60_000));
    const sign = offsetMs < 0 ? '-' : '+';
    const hh = String(Math.floor(minutes / 60)).padStart(2, '0');
    const mm = String(minutes % 60).padStart(2, '0');
    return `${new Date(instantMs + offsetMs).toISOString().slice(0, 19)}${sign}${hh}:${mm}`;
  }

  #intervalAt(instantMs: number): OffsetInterval {
    const found = this.#intervals.find(
      ({ startMs, endMs }) => instantMs >= startMs && instantMs < endMs,
    );
    if (found !== undefined) {
      return found;
    }
    const zoned = Temporal.Instant.fromEpochMilliseconds(Math.floor(instantMs)).toZonedDateTimeISO(
      this.name,
    );
    const next = zoned.getTimeZoneTransition('next');
    // `previous` is strictly before: an instant that is itself a transition needs one step.
    const previous = zoned.add({ nanoseconds: 1 }).getTimeZoneTransition('previous');
    const interval = {
      offsetMs: zoned.offsetNanoseconds / 1e6,
      startMs: previous?.epochMilliseconds ?? -Infinity,
      endMs: next?.epochMilliseconds ?? Infinity,
    };
    this.#intervals.push(interval);
    return interval;
  }
}
