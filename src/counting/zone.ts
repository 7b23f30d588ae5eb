/**
 * A time zone as a list of spans of constant offset, found once and kept: a key of a minute becomes
 * an instant by an addition. Knows nothing of epochs and days.
 */
import { Temporal } from 'temporal-polyfill';

interface OffsetSpan {
  readonly offsetMs: number;
  /** First instant with this offset. */
  readonly startMs: number;
  /** First instant after it. */
  readonly endMs: number;
}

/** No offset in use differs by more from UTC, so a wall time read as UTC is at most this far off. */
const WIDEST_OFFSET_MS = 15 * 3_600_000;

export class Zone {
  readonly name: string;
  readonly #spans: OffsetSpan[] = [];

  /** `name` is an IANA name that the runtime knows; the configuration has checked it. */
  constructor(name: string) {
    this.name = name;
  }

  /** Local time minus UTC, in milliseconds. */
  offsetMsAt(instantMs: number): number {
    return this.#spanAt(instantMs).offsetMs;
  }

  /** The first instant after `instantMs` with another offset; Infinity where there is none. */
  nextTransitionAfter(instantMs: number): number {
    return this.#spanAt(instantMs).endMs;
  }

  /**
   * The instant at which clocks on the wall show `wallMs`, a local date and time written as if it
   * were UTC. In the hour that occurs twice it is the first of both; a time that is left out is
   * read with the offset from before the gap (Temporal's `earlier` and `compatible`).
   */
  instantOfWall(wallMs: number): number {
    const before = this.offsetMsAt(wallMs - WIDEST_OFFSET_MS);
    const after = this.offsetMsAt(wallMs + WIDEST_OFFSET_MS);
    if (before === after) {
      return wallMs - before;
    }
    const [larger, smaller] = before > after ? [before, after] : [after, before];
    if (this.offsetMsAt(wallMs - larger) === larger) {
      return wallMs - larger;
    }
    return wallMs - (this.offsetMsAt(wallMs - smaller) === smaller ? smaller : before);
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

  #spanAt(instantMs: number): OffsetSpan {
    for (const span of this.#spans) {
      if (instantMs >= span.startMs && instantMs < span.endMs) {
        return span;
      }
    }
    const zoned = Temporal.Instant.fromEpochMilliseconds(Math.floor(instantMs)).toZonedDateTimeISO(
      this.name,
    );
    const next = zoned.getTimeZoneTransition('next');
    // `previous` is strictly before, so that an instant that is itself a transition needs one step.
    const previous = zoned.add({ nanoseconds: 1 }).getTimeZoneTransition('previous');
    const span = {
      offsetMs: zoned.offsetNanoseconds / 1e6,
      startMs: previous?.epochMilliseconds ?? -Infinity,
      endMs: next?.epochMilliseconds ?? Infinity,
    };
    this.#spans.push(span);
    return span;
  }
}
