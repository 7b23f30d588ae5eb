/** What a day's records add up to once nothing of them changes any more. */
import type { Library } from './libraries.ts';
import type { Records } from './records.ts';
import type { Zone } from './zone.ts';

/** `first` is people in, or logins; `second` is people out. */
export interface Counts {
  first: number;
  second: number;
}

export interface Summary {
  readonly rows: number;
  /** From here on every record has arrived, and every correction. */
  readonly settledMs: number;
  readonly firstEventMs: number;
  readonly lastEventMs: number;
  readonly firstWindowMs: number;
  readonly lastWindowMs: number;
  readonly lastKeyMs: number;
  readonly total: Readonly<Counts>;
  /** By the date of the key. */
  readonly byDay: ReadonlyMap<number, Readonly<Counts>>;
  /** By place in the library's devices. */
  readonly byDevice: readonly Readonly<Counts>[];
}

export function summarize(records: Records, library: Library, dayZone: Zone): Summary {
  const total = { first: 0, second: 0 };
  const byDay = new Map<number, Counts>();
  const byDevice = library.devices.map(() => ({ first: 0, second: 0 }));
  let settledMs = -Infinity;
  let lastKeyMs = -Infinity;
  let firstEventMs = Infinity;
  let lastEventMs = -Infinity;
  const rows = records.amount.length;
  for (let i = 0; i < rows; i++) {
    const goneMs = records.goneMs?.[i] ?? Infinity;
    const keyMs = records.keyMs[i] ?? 0;
    const eventMs = records.eventMs[i] ?? 0;
    settledMs = Math.max(settledMs, records.knownFromMs[i] ?? 0);
    lastKeyMs = Math.max(lastKeyMs, keyMs);
    firstEventMs = Math.min(firstEventMs, eventMs);
    lastEventMs = Math.max(lastEventMs, eventMs);
    if (goneMs !== Infinity) {
      settledMs = Math.max(settledMs, goneMs);
      continue;
    }
    const amount = records.amount[i] ?? 0;
    const day = dayZone.dayOf(keyMs);
    const ofDay = byDay.get(day) ?? { first: 0, second: 0 };
    byDay.set(day, ofDay);
    addAmount(ofDay, amount);
    addAmount(total, amount);
    addAmount(byDevice[records.device[i] ?? 0] ?? { first: 0, second: 0 }, amount);
  }
  return {
    rows,
    settledMs,
    firstEventMs,
    lastEventMs,
    firstWindowMs: records.windowMs[0] ?? Infinity,
    lastWindowMs: records.windowMs[rows - 1] ?? -Infinity,
    lastKeyMs,
    total,
    byDay,
    byDevice,
  };
}

export function addAmount(counts: Counts, amount: number): void {
  if (amount > 0) {
    counts.first += amount;
  } else {
    counts.second -= amount;
  }
}

export function addCounts(counts: Counts, more: Readonly<Counts>): void {
  counts.first += more.first;
  counts.second += more.second;
}
