/**
 * The windows of a customer's branches as text: a cache, which saves the requests for 28 days after a
 * restart and changes no value.
 */
import { MAX_KEYS } from '../breakdowns/poll-breakdown.ts';
import type { Span } from '../calendar/calendar.ts';
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

const FORMAT = 'library-stats-exporter branches';
const VERSION = 1;

/** Returns the keys and days of a state as JSON, a day on each line. `owner` is that of the counters. */
export function serializeBranches(owner: string, { keys, today, past }: BranchState): string {
  const days = [...(today === undefined ? [] : [today]), ...past].filter(
    ({ sums }) => sums.length > 0,
  );
  const head = JSON.stringify({ format: FORMAT, version: VERSION, owner, keys }).slice(0, -1);
  return `${head},"days":[\n${days.map(serializeDay).join(',\n')}\n]}\n`;
}

/** In place of sums, null stands for those of the window before. */
function serializeDay({ day, stepMs, sums, gap }: BranchDay): string {
  const ends = sums.map((ofEnd, i) =>
    areSumsEqual(ofEnd, sums[i - 1] ?? NO_SUMS) ? null : [...ofEnd],
  );
  const { startMs, endMs } = day;
  return JSON.stringify({ start_ms: startMs, end_ms: endMs, window_ms: stepMs, gap, sums: ends });
}

/** Returns the state of a text from {@link serializeBranches}. Throws an Error if it is not one of this owner. */
export function restoreBranches(owner: string, text: string): BranchState {
  const file = membersOf(JSON.parse(text));
  const { keys, days } = file;
  if (file['format'] !== FORMAT || file['version'] !== VERSION) {
    throw new Error(`not a ${FORMAT} file of version ${VERSION}`);
  }
  if (file['owner'] !== owner) {
    throw new Error('the file of another customer');
  }
  if (!areKeys(keys) || !Array.isArray(days)) {
    throw new Error('a key or a day is invalid');
  }
  const restored = days.map((day) => restoreDay(day, keys.length));
  const today = restored.find(({ stepMs }) => stepMs === WINDOW_MS);
  const past = restored.filter(({ stepMs }) => stepMs === PAST_WINDOW_MS);
  return { ...NO_BRANCHES, keys, today, past };
}

function restoreDay(value: unknown, keys: number): BranchDay {
  const { start_ms: startMs, end_ms: endMs, window_ms: stepMs, gap, sums } = membersOf(value);
  if (
    isCount(startMs) &&
    isCount(endMs) &&
    startMs < endMs &&
    (stepMs === WINDOW_MS || stepMs === PAST_WINDOW_MS) &&
    isGap(gap) &&
    Array.isArray(sums)
  ) {
    const day: Span = { startMs, endMs };
    const maxLength = NO_SUMS.length * (keys + 1);
    const restored: Sums[] = [];
    for (const ofEnd of sums as readonly unknown[]) {
      restored.push(ofEnd === null ? (restored.at(-1) ?? NO_SUMS) : restoreSums(ofEnd, maxLength));
    }
    const branchDay = { day, stepMs, sums: restored, gap };
    if (restored.length <= windowsOf(branchDay)) {
      return branchDay;
    }
  }
  throw new Error('a day is invalid');
}

function restoreSums(value: unknown, maxLength: number): Sums {
  if (!Array.isArray(value) || value.length > maxLength || !value.every(isCount)) {
    throw new Error('a sum is invalid');
  }
  return packSums(value);
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
