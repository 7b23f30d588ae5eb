/** Durations as Prometheus writes them: `90s`, `5m`, `1h30m`. */

const UNITS_MS = [
  ['y', 365 * 86_400_000],
  ['w', 7 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** Matches durations, and the empty string, which is none. */
export const DURATION_PATTERN =
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
