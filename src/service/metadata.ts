/** Compares the metadata of a response with its rows and with the request. Polls do not: its meaning is not documented. */
import type { ResponseMetadata, Window } from '../base/model.ts';

/** A service may cut fractions of a minute, or add one for an edge that is not included. */
const TOLERANCE_MS = 60_000;

/** Returns what in the metadata says that rows are missing or added, undefined if nothing does. */
export function findContradiction(
  asked: Window,
  { rows, metadata = {} }: { rows: readonly unknown[]; metadata?: ResponseMetadata },
): string | undefined {
  const { from, to, count = rows.length } = metadata;
  if (count !== rows.length) {
    return `"metadata.count": expected ${rows.length}, the number of rows, got ${count}; rows may be missing`;
  }
  if (differenceMs(asked.from, from) > TOLERANCE_MS) {
    return '"metadata.from" is later than requested; rows may be missing';
  }
  if (differenceMs(asked.to, to) < -TOLERANCE_MS) {
    return '"metadata.to" is earlier than requested; rows may be missing';
  }
  return undefined;
}

/** Returns how much later a time is; 0 if one is absent or no time, or if only one has an offset. */
function differenceMs(asked = '', answered = ''): number {
  if (hasOffset(asked) !== hasOffset(answered)) {
    return 0;
  }
  // Without an offset, both are local times of one zone.
  const difference = Date.parse(answered) - Date.parse(asked);
  return Number.isNaN(difference) ? 0 : difference;
}

function hasOffset(time: string): boolean {
  return /T.*[Z+-]/i.test(time);
}
