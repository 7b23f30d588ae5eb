/**
 * The days of a customer's branches as they are stored: a cache, which saves the requests for 28 days after a
 * restart and changes no value.
 */
import { MAX_KEYS } from '../breakdowns/poll-breakdown.ts';
import {
  areSumsEqual,
  NO_GAP,
  NO_SUMS,
  packSums,
  PAST_WINDOW_MS,
  WINDOW_MS,
  windowsOf,
} from './branch-day.ts';
import type { BranchDay, Sums } from './branch-day.ts';
import { NO_BRANCHES } from './branch-state.ts';
import type { BranchState } from './branch-state.ts';

/** A day of a customer's branches as it is stored. */
export interface StoredBranchDay {
  readonly dayStartMs: number;
  /** JSON. */
  readonly content: string;
}

/** Returns a day that is known at least in part. In place of sums, null stands for those of the window before. */
export function serializeDay(keys: readonly string[], branchDay: BranchDay): StoredBranchDay {
  const { day, stepMs, sums, gap } = branchDay;
  const ends = sums.map((ofEnd, i) =>
    areSumsEqual(ofEnd, sums[i - 1] ?? NO_SUMS) ? null : [...ofEnd],
  );
  const content = { end_ms: day.endMs, window_ms: stepMs, keys, gap, sums: ends };
  return { dayStartMs: day.startMs, content: JSON.stringify(content) };
}

/**
 * Returns the state of the days that were stored, newest first. Days whose keys are not the first ones of the
 * newest day's, or that are invalid, are read from the service again.
 */
export function restoreBranches(days: readonly StoredBranchDay[]): BranchState {
  let keys: readonly string[] | undefined;
  let today: BranchDay | undefined;
  const past: BranchDay[] = [];
  for (const { dayStartMs, content } of days) {
    const restored = restoreDay(dayStartMs, content);
    if (restored === undefined) {
      continue;
    }
    const { keys: ofDay, ...branchDay } = restored;
    keys ??= ofDay;
    if (!ofDay.every((key, i) => key === keys?.[i])) {
      continue;
    }
    if (branchDay.stepMs === PAST_WINDOW_MS) {
      past.push(branchDay);
    } else {
      today ??= branchDay;
    }
  }
  return { ...NO_BRANCHES, keys: keys ?? [], today, past };
}

function restoreDay(
  startMs: number,
  content: string,
): (BranchDay & { readonly keys: readonly string[] }) | undefined {
  const value = membersOf(parse(content));
  const { end_ms: endMs, window_ms: stepMs, keys, gap, sums } = value;
  if (
    !isCount(endMs) ||
    startMs >= endMs ||
    (stepMs !== WINDOW_MS && stepMs !== PAST_WINDOW_MS) ||
    !areKeys(keys) ||
    !isGap(gap) ||
    !Array.isArray(sums)
  ) {
    return undefined;
  }
  const maxLength = NO_SUMS.length * (keys.length + 1);
  const restored: Sums[] = [];
  for (const ofEnd of sums as readonly unknown[]) {
    if (ofEnd !== null && !areCounts(ofEnd, maxLength)) {
      return undefined;
    }
    restored.push(ofEnd === null ? (restored.at(-1) ?? NO_SUMS) : packSums(ofEnd));
  }
  const branchDay = { day: { startMs, endMs }, stepMs, sums: restored, gap, keys };
  return restored.length <= windowsOf(branchDay) ? branchDay : undefined;
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

function areCounts(value: unknown, maxLength: number): value is readonly number[] {
  return Array.isArray(value) && value.length <= maxLength && value.every(isCount);
}

function areKeys(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_KEYS &&
    value.every((key) => typeof key === 'string') &&
    new Set(value).size === value.length
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isGap(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.length === NO_GAP.length &&
    value.every((count) => Number.isSafeInteger(count))
  );
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value) as Readonly<Record<string, unknown>>;
}
