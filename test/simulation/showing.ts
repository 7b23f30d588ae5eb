/** In which worlds a planted bug can show at all. */
import type { DrawnWorld } from './drawn-world.ts';
import {
  hasExactPolls,
  hasLocalKeys,
  mayBeEmptyThrice,
  mayBefall,
  mayLackRows,
} from './excuses.ts';
import { repeatedTimes } from './wall.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

/** Some come while an anchor is taken, and there are quiet minutes in which one who is lost is missed. */
export function comesDuringAnchors(world: DrawnWorld): boolean {
  return (
    hasExactPolls(world) &&
    world.slowestMs >= 3_000 &&
    world.visitsPerDay.some((visits) => visits >= 200)
  );
}

/** Keys say local times, and that matters. */
export function mattersHowKeysAreRead(world: DrawnWorld): boolean {
  return (
    hasLocalKeys(world) &&
    world.timezone !== 'UTC' &&
    world.visitsPerDay.some((visits) => visits >= 60)
  );
}

/** In the storm clocks are set back, and the hour that occurs twice has visitors. */
export function hasRepeatedHour({ startMs, days, timezone, alwaysOpen }: DrawnWorld): boolean {
  const times = repeatedTimes(startMs, timezone);
  return alwaysOpen && times !== undefined && times.endMs < startMs + days * DAY_MS;
}

/** Answers lack rows now and then, and so seldom that nothing of it may be believed. */
export function lacksRowsSeldom(world: DrawnWorld): boolean {
  return mayLackRows(world) && !mayBeEmptyThrice(world);
}

/** Where the marks are what keeps a counter from falling. */
export function restartsAfterCorrections(world: DrawnWorld): boolean {
  return world.conventions.corrections.share > 0 && mayBefall(world, 'kill');
}
