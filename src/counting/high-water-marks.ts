/**
 * High-water marks: the highest value that was shown of each counter in its epoch. They keep a
 * counter from falling when the service's total does, over restarts too. A cache, not the truth:
 * without them every counter is the service's total. Text in and out; files are not known here.
 */
import type { Breakdown, CounterName } from '../base/model.ts';
import { DAY_MS } from './calendar.ts';
import type { CountingPeriod } from './calendar.ts';

/** Whose counter it is. Another service or client id under the same name is another counter. */
export interface CounterOwner {
  readonly service: string;
  readonly clientId: string;
  readonly customer: string;
}

/**
 * What a mark is of: a counter of the customer, or that of one key of a breakdown. A key may be any
 * text: no other kind has a colon, and everything after the first one is the key.
 */
export type MarkedKind = CounterName | `${Breakdown}_${CounterName}:${string}`;

/** One counter, as the file names it: another program's counterCount are carried on as they are. */
interface CounterKey {
  readonly owner: string;
  readonly kind: string;
}

export interface Mark {
  readonly periodStartMs: number;
  /** The epoch's calendar month, as in {@link CountingPeriod.month}. */
  readonly month: number;
  readonly value: number;
  /** When the value was shown first. */
  readonly atMs: number;
}

/** Some thousand marks. */
const PIECE_CHARACTERS = 128 * 1024;
const FORMAT = 'library-stats-exporter marks';
const VERSION = 1;
/** HighWaterMarks of epochs that ended long ago are not carried on. */
const KEPT_MS = 70 * DAY_MS;
/** Of one counter. More than one, because a clock that was wrong for a while comes back to an older one. */
const MOST_EPOCHS = 3;

export class HighWaterMarks {
  /** By owner and kind; of each, the marks of several epochs, the one that was raised last first. */
  readonly #marks = new Map<string, Map<string, readonly Mark[]>>();
  /** An owner as the key of the map, which every poll asks for several times. */
  readonly #ownerTexts = new WeakMap<CounterOwner, string>();
  #changes = 0;

  /** Grows with every change. */
  get changes(): number {
    return this.#changes;
  }

  /** The mark of the newest epoch that this counter was shown in. */
  get(owner: CounterOwner, kind: MarkedKind): Mark | undefined {
    return this.#of(owner, kind).toSorted((a, b) => b.periodStartMs - a.periodStartMs)[0];
  }

  /** The mark of one epoch. */
  ofPeriod(owner: CounterOwner, kind: MarkedKind, periodStartMs: number): Mark | undefined {
    return this.#of(owner, kind).find((mark) => mark.periodStartMs === periodStartMs);
  }

  /** The marks of one epoch for every key of a breakdown that was shown in it, by key. */
  ofKeys(
    owner: CounterOwner,
    breakdown: Breakdown,
    kind: CounterName,
    periodStartMs: number,
  ): ReadonlyMap<string, Mark> {
    const prefix = kindOfKey(breakdown, kind, '');
    const found = new Map<string, Mark>();
    for (const [marked, marks] of this.#marks.get(this.#textOf(owner)) ?? []) {
      const mark = marks.find((one) => one.periodStartMs === periodStartMs);
      if (mark !== undefined && marked.startsWith(prefix)) {
        found.set(marked.slice(prefix.length), mark);
      }
    }
    return found;
  }

  /** What to show for `value`: itself, or the epoch's mark if that is higher. The mark remembers it. */
  update(
    owner: CounterOwner,
    kind: MarkedKind,
    epoch: CountingPeriod,
    value: number,
    atMs: number,
  ): number {
    const held = this.ofPeriod(owner, kind, epoch.startMs)?.value;
    if (held !== undefined && held >= value) {
      return held;
    }
    const { startMs: periodStartMs, month } = epoch;
    const key = { owner: this.#textOf(owner), kind };
    this.#put(key, { periodStartMs, month, value, atMs });
    this.#changes += 1;
    return value;
  }

  /**
   * All marks as text, one a line, so that a person can read them and take one out: a counter that
   * is held far too high by a mark that should not be there goes back to the service's total once
   * its line is deleted while the exporter is stopped. HighWaterMarks of others are written as they came.
   */
  serialize(nowMs: number): string {
    return [...this.serializeInPieces(nowMs)].join('');
  }

  /**
   * The same piece by piece, each so small that nobody waits for it: marks may be raised in between,
   * and each is written as it is when its piece is.
   */
  *serializeInPieces(nowMs: number): Generator<string> {
    yield `{"format":"${FORMAT}","version":${VERSION},"marks":[`;
    let piece = '';
    let lines = 0;
    for (const [owner, counterCount] of this.#marks) {
      const counter = owner.slice(0, -1);
      for (const [kind, marks] of counterCount) {
        for (const mark of marks) {
          if (nowMs - mark.periodStartMs <= KEPT_MS) {
            const { periodStartMs, month, value, atMs } = mark;
            const numbers = `${periodStartMs},${month},${value},${atMs}`;
            piece += `${lines === 0 ? '' : ','}\n${counter},${JSON.stringify(kind)},${numbers}]`;
            lines += 1;
          }
        }
      }
      if (piece.length >= PIECE_CHARACTERS) {
        yield piece;
        piece = '';
      }
    }
    // Without marks there is an empty line, as there always was.
    yield `${piece}${lines === 0 ? '\n' : ''}\n]}\n`;
  }

  /**
   * Takes marks over from text of {@link serialize}. Throws an Error that says what is wrong with
   * the whole; single marks that make no sense or are too old are left out, and their number is
   * returned. HighWaterMarks of the future are kept: it may be our clock that is behind.
   */
  restore(text: string, nowMs: number): number {
    let leftOut = 0;
    // The last line was raised longest ago.
    for (const entry of entriesOf(text).toReversed()) {
      const restored = markOf(entry, nowMs);
      if (restored === undefined) {
        leftOut += 1;
      } else {
        this.#put(restored.key, restored.mark);
      }
    }
    return leftOut;
  }

  #of(owner: CounterOwner, kind: MarkedKind): readonly Mark[] {
    return this.#marks.get(this.#textOf(owner))?.get(kind) ?? [];
  }

  #textOf(owner: CounterOwner): string {
    const known = this.#ownerTexts.get(owner);
    const text = known ?? textOf(owner);
    if (known === undefined) {
      this.#ownerTexts.set(owner, text);
    }
    return text;
  }

  /** Puts a mark first, in place of a lower one of its epoch. */
  #put({ owner, kind }: CounterKey, mark: Mark): void {
    const counterCount = this.#marks.get(owner) ?? new Map<string, readonly Mark[]>();
    const known = counterCount.get(kind) ?? [];
    const same = known.find(({ periodStartMs }) => periodStartMs === mark.periodStartMs);
    const highest = same !== undefined && same.value > mark.value ? same : mark;
    const others = known.filter((other) => other !== same);
    counterCount.set(kind, [highest, ...others].slice(0, MOST_EPOCHS));
    this.#marks.set(owner, counterCount);
  }
}

/** How a counter of one key is called among the marks. */
export function kindOfKey(breakdown: Breakdown, kind: CounterName, key: string): MarkedKind {
  return `${breakdown}_${kind}:${key}`;
}

function textOf({ service, clientId, customer }: CounterOwner): string {
  return JSON.stringify([service, clientId, customer]);
}

function entriesOf(text: string): readonly unknown[] {
  const file: unknown = JSON.parse(text);
  if (typeof file !== 'object' || file === null || !('format' in file) || file.format !== FORMAT) {
    throw new Error('it is not a file of marks');
  }
  if (!('version' in file) || file.version !== VERSION) {
    throw new Error(`it is not of version ${VERSION}, the one that this program writes`);
  }
  if (!('marks' in file) || !Array.isArray(file.marks)) {
    throw new Error('it has no list of marks');
  }
  return file.marks as readonly unknown[];
}

function markOf(entry: unknown, nowMs: number): { key: CounterKey; mark: Mark } | undefined {
  if (!Array.isArray(entry) || entry.length !== 8) {
    return undefined;
  }
  const owner: unknown[] = entry.slice(0, 3);
  const kind: unknown = entry[3];
  const numbers: unknown[] = entry.slice(4);
  const isNamed = owner.every((name) => typeof name === 'string');
  if (!isNamed || typeof kind !== 'string' || !numbers.every(isCount)) {
    return undefined;
  }
  const [periodStartMs = 0, month = 0, value = 0, atMs = 0] = numbers;
  return nowMs - periodStartMs <= KEPT_MS && beginsIn(month, periodStartMs)
    ? {
        key: { owner: JSON.stringify(owner), kind },
        mark: { periodStartMs, month, value, atMs },
      }
    : undefined;
}

/**
 * Whether an epoch can begin so far from its month's midnight in UTC: the local day starts up to a
 * day later, and zones lie up to 14 hours before and 12 hours behind. Without this, a mistyped month
 * would be an epoch that does not end.
 */
function beginsIn(month: number, periodStartMs: number): boolean {
  const hours = (periodStartMs - Date.UTC(Math.floor(month / 12), month % 12, 1)) / 3_600_000;
  return hours >= -15 && hours <= 37;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
