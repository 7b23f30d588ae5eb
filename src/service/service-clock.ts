/**
 * What time it is for the service, by the Date header of its good answers. One service has one
 * clock, so this is one for all customers, and it tells once that the two clocks disagree. Knows
 * nothing of windows and days.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ClockReading } from './types.ts';
import { parseHttpDate } from './retry-after.ts';

export interface ServiceClock {
  /**
   * Milliseconds since 1970: the service's time where it is known to be more than a minute and less
   * than a day away from ours, else ours. Goes on evenly while ours steps.
   */
  nowMs(): number;
  /** How the two clocks compare; undefined before the first answer that tells the time. */
  reading(): ClockReading | undefined;
  /** An answer with this Date header has just come; asking and answering took `durationMs`. */
  answered(date: string | undefined, durationMs: number): void;
}

/** A minute is the resolution of everything that is counted; less changes nothing. */
const TOLERATED_MS = 60_000;
/** Days apart, their day is not ours, and nothing is gained by counting with both. */
const LARGEST_OFFSET_MS = 86_400_000;
/** The header leaves out what is less than a second (RFC 9110, 6.6.1). */
const HALF_RESOLUTION_MS = 500;
/** Clocks behind one address may differ, or one may drift along the border: not every turn is told. */
const WARN_EVERY_MS = 3_600_000;

export function createServiceClock({
  clock,
  log,
}: {
  readonly clock: Clock;
  readonly log: Logger;
}): ServiceClock {
  /** The service's time when our steady clock was 0; undefined before the first answer. */
  let startMs: number | undefined;
  let told = false;
  let toldAtMs = -Infinity;

  function tell(aheadMs: number, uncertainMs: number): void {
    const nowMs = clock.monotonicMs();
    const fields = { service_ahead_seconds: Math.round(aheadMs / 1000) };
    if (told && Math.abs(aheadMs) + uncertainMs < TOLERATED_MS) {
      told = false;
      log.info("the service's clock and ours agree again", fields);
    } else if (
      !told &&
      Math.abs(aheadMs) - uncertainMs > TOLERATED_MS &&
      nowMs - toldAtMs >= WARN_EVERY_MS
    ) {
      told = true;
      toldAtMs = nowMs;
      log.warn(
        "the service's clock and ours differ by more than a minute: set ours right, or tell the service's operator",
        fields,
      );
    }
  }

  function reading(): ClockReading | undefined {
    if (startMs === undefined) {
      return undefined;
    }
    const aheadMs = startMs + clock.monotonicMs() - clock.nowMs();
    const apartMs = Math.abs(aheadMs);
    const verdict =
      apartMs <= TOLERATED_MS ? 'agrees' : apartMs <= LARGEST_OFFSET_MS ? 'followed' : 'ignored';
    return { aheadMs, verdict };
  }

  return {
    reading,
    nowMs() {
      const read = reading();
      return clock.nowMs() + (read?.verdict === 'followed' ? read.aheadMs : 0);
    },
    answered(date, durationMs) {
      const dateMs = parseHttpDate(date?.trim() ?? '');
      if (dateMs === undefined) {
        return;
      }
      // It was written at some moment between asking and now: the middle is wrong by half at most.
      const theirsMs = dateMs + HALF_RESOLUTION_MS + durationMs / 2;
      startMs = theirsMs - clock.monotonicMs();
      tell(theirsMs - clock.nowMs(), HALF_RESOLUTION_MS + durationMs / 2);
    },
  };
}
