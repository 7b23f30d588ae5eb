/** Durations as Prometheus writes them: `90s`, `5m`, `1h30m`. */

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** 24 hours; a day of the calendar may have 23 or 25. */
export const DAY_MS = 86_400_000;

const UNITS_MS = [
  ['y', 365 * DAY_MS],
  ['w', 7 * DAY_MS],
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['m', MINUTE_MS],
  ['s', SECOND_MS],
  ['ms', 1],
] as const;

/** Matches durations, and the empty string, which is none. */
const DURATION_PATTERN =
  /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * Returns milliseconds, or `undefined` for what is not a duration. Units go from large to small, each at
 * most once, whole numbers only; `0` alone needs no unit (prometheus/common, model.ParseDuration).
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') {
    return 0;
  }
  const match = DURATION_PATTERN.exec(text);
  if (text === '' || match === null) {
    return undefined;
  }
  const ms = UNITS_MS.reduce((sum, [, unitMs], i) => sum + Number(match[i + 1] ?? 0) * unitMs, 0);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** Returns the shortest form of a duration in milliseconds: 5_400_000 is `1h30m`. */
export function formatDuration(durationMs: number): string {
  let rest = Math.round(durationMs);
  let text = '';
  for (const [unit, unitMs] of UNITS_MS) {
    const count = Math.floor(rest / unitMs);
    if (count > 0) {
      text += `${count}${unit}`;
      rest -= count * unitMs;
    }
  }
  return text === '' ? '0s' : text;
}
