import { parseDuration } from '../../src/base/duration.ts';

/** Of a duration in a rule file, like `15m`; 0 of none. */
export function secondsOf(duration = '0'): number {
  return (parseDuration(duration) ?? NaN) / 1_000;
}
