/**
 * Opening hours over time. Whether a customer is open is a function of the clock on its wall alone:
 * where clocks are set back, the repeated hour is open twice.
 */
import type Library from 'opening_hours';
import { DAY_MS, MINUTE_MS } from './calendar.ts';
import { underWallDate } from './wall-date.ts';
import { Zone } from './zone.ts';

/** Changes that are looked up at once: more are wasted at a reload, fewer cost more look-ups. */
const CHANGES_AHEAD = 6;
/** Where nothing ever changes, it is asked again after this. */
const UNCHANGED_MS = 366 * DAY_MS;
/** Where the library cannot say what comes next, every minute of this long is asked for. */
const BY_THE_MINUTE_MS = 60 * MINUTE_MS;

/**
 * Runs a calculation of the library: with the wall clock for `Date`, and without what it tells the
 * console of its own bugs.
 */
export function quietly<Result>(calculate: () => Result): Result {
  const { error, warn } = console;
  Object.assign(console, { error: ignore, warn: ignore });
  try {
    return underWallDate(calculate);
  } finally {
    Object.assign(console, { error, warn });
  }
}

function ignore(): void {}

interface Change {
  readonly atMs: number;
  readonly open: boolean;
}

/** Changes in ascending order, the first one being the state at the beginning. */
interface Schedule {
  readonly changes: readonly Change[];
  readonly untilMs: number;
  /** Nothing changes after the last change, as far as was looked. */
  readonly endless: boolean;
}

/**
 * In wall clock times, from `fromMs` on, known up to `untilMs` and there. To be called under the
 * wall date. A state that the text leaves unknown counts as closed.
 */
export function changesFrom(library: Library, fromMs: number): Schedule {
  const horizonMs = fromMs + 2 * UNCHANGED_MS;
  const iterator = library.getIterator(new Date(fromMs));
  const changes: Change[] = [{ atMs: fromMs, open: iterator.getState() }];
  while (iterator.advance(new Date(horizonMs))) {
    const change = { atMs: iterator.getDate().getTime(), open: iterator.getState() };
    if (change.open !== changes.at(-1)?.open) {
      changes.push(change);
    }
    if (changes.length > CHANGES_AHEAD) {
      return { changes, untilMs: change.atMs, endless: false };
    }
  }
  return { changes, untilMs: horizonMs, endless: true };
}

/**
 * The library gets lost in the weeks before a holiday that is shifted into the year before, as New
 * Year's Day of 2028 in the United States. Its answers for one instant are right even then.
 */
function changesByTheMinute(library: Library, wallMs: number): Schedule {
  const fromMs = Math.floor(wallMs / MINUTE_MS) * MINUTE_MS;
  const untilMs = fromMs + 2 * BY_THE_MINUTE_MS;
  const changes: Change[] = [];
  for (let atMs = fromMs; atMs <= untilMs; atMs += MINUTE_MS) {
    const open = library.getState(new Date(atMs));
    if (open !== changes.at(-1)?.open) {
      changes.push({ atMs, open });
    }
  }
  return { changes, untilMs, endless: false };
}

function stateAt(schedule: Schedule, atMs: number): boolean {
  return schedule.changes.findLast((change) => change.atMs <= atMs)?.open ?? false;
}

/** The same in instants, from `fromMs` on: clocks that are set leave times out, or show them again. */
function toInstants(wall: Schedule, zone: Zone, fromMs: number): Schedule {
  const changes: Change[] = [];
  let atMs = fromMs;
  for (;;) {
    const offsetMs = zone.offsetMsAt(atMs);
    const endMs = zone.nextTransitionAfter(atMs);
    const startMs = atMs;
    const later = wall.changes
      .map((change) => ({ ...change, atMs: change.atMs - offsetMs }))
      .filter((change) => change.atMs > startMs && change.atMs < endMs);
    for (const change of [{ atMs, open: stateAt(wall, atMs + offsetMs) }, ...later]) {
      if (change.open !== changes.at(-1)?.open) {
        changes.push(change);
      }
    }
    if (wall.untilMs - offsetMs < endMs) {
      return { changes, untilMs: wall.untilMs - offsetMs, endless: wall.endless };
    }
    if (wall.untilMs <= endMs + zone.offsetMsAt(endMs)) {
      return { changes, untilMs: endMs, endless: wall.endless };
    }
    atMs = endMs;
  }
}

/** What is known of one zone, from an instant on. */
interface Outlook extends Schedule {
  readonly zone: Zone;
  readonly fromMs: number;
}

/**
 * When one text is open, in any zone. What was found is kept for as long as it holds, so that asking
 * again costs next to nothing.
 */
export class OpeningSchedule {
  readonly #library: Library;
  readonly #outlooks = new Map<string, Outlook>();

  constructor(library: Library) {
    this.#library = library;
  }

  isOpenAt(instantMs: number, timezone: string): boolean {
    return stateAt(this.#outlookAt(instantMs, timezone), instantMs);
  }

  nextChangeAfter(instantMs: number, timezone: string): number | undefined {
    const outlook = this.#outlookAt(instantMs, timezone);
    const next = outlook.changes.find((change) => change.atMs > instantMs);
    return next?.atMs ?? (outlook.endless ? undefined : outlook.untilMs);
  }

  #outlookAt(instantMs: number, timezone: string): Outlook {
    const known = this.#outlooks.get(timezone);
    if (known !== undefined && instantMs >= known.fromMs && instantMs < known.untilMs) {
      return known;
    }
    const zone = known?.zone ?? new Zone(timezone);
    const outlook = { zone, fromMs: instantMs, ...this.#lookAhead(instantMs, zone) };
    this.#outlooks.set(timezone, outlook);
    return outlook;
  }

  #lookAhead(instantMs: number, zone: Zone): Schedule {
    // Clocks that are set back show times before this one again.
    const wallMs = instantMs + zone.offsetMsAt(instantMs);
    const wall = quietly(() => {
      try {
        return changesFrom(this.#library, wallMs - DAY_MS);
      } catch {
        return changesByTheMinute(this.#library, wallMs - BY_THE_MINUTE_MS);
      }
    });
    const ahead = toInstants(wall, zone, instantMs);
    return ahead.endless ? { ...ahead, untilMs: instantMs + UNCHANGED_MS } : ahead;
  }
}
