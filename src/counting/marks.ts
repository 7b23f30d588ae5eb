/**
 * High-water marks: the highest value that was shown of each counter in its epoch. They keep a
 * counter from falling when the service's total does, over restarts too. A cache, not the truth:
 * without them every counter is the service's total. Text in and out; files are not known here.
 */
import type { Kind } from '../base/nouns.ts';
import type { Epoch } from './calendar.ts';

/** Whose counter it is. Another service or client id under the same name is another counter. */
export interface MarkOwner {
  readonly service: string;
  readonly clientId: string;
  readonly customer: string;
}

export interface Mark {
  readonly epochStartMs: number;
  /** The epoch's calendar month, as in {@link Epoch.month}. */
  readonly month: number;
  readonly value: number;
  /** When the value was shown first. */
  readonly atMs: number;
}

const FORMAT = 'library-stats-exporter marks';
const VERSION = 1;
/** Marks of epochs that ended long ago are not carried on. */
const KEPT_MS = 70 * 86_400_000;

export class Marks {
  readonly #marks = new Map<string, Mark>();
  #changes = 0;

  /** Grows with every change. */
  get changes(): number {
    return this.#changes;
  }

  /** The mark of the newest epoch that this counter was shown in. */
  get(owner: MarkOwner, kind: Kind): Mark | undefined {
    return this.#marks.get(keyOf(owner, kind));
  }

  /** What to show for `value`: itself, or the epoch's mark if that is higher. The mark remembers it. */
  raise(owner: MarkOwner, kind: Kind, epoch: Epoch, value: number, atMs: number): number {
    const key = keyOf(owner, kind);
    const known = this.#marks.get(key);
    const held = known?.epochStartMs === epoch.startMs ? known.value : undefined;
    if (held !== undefined && held >= value) {
      return held;
    }
    this.#marks.set(key, { epochStartMs: epoch.startMs, month: epoch.month, value, atMs });
    this.#changes += 1;
    return value;
  }

  /** All marks as text, one a line, so that a person can read them too. */
  serialize(nowMs: number): string {
    const lines: string[] = [];
    for (const [key, mark] of this.#marks) {
      if (nowMs - mark.epochStartMs <= KEPT_MS) {
        lines.push(JSON.stringify([...(JSON.parse(key) as string[]), ...tupleOf(mark)]));
      }
    }
    return `{"format":"${FORMAT}","version":${VERSION},"marks":[\n${lines.join(',\n')}\n]}\n`;
  }

  /**
   * Takes marks over from text of {@link serialize}. Throws an Error that says what is wrong with
   * the whole; single marks that make no sense are left out, and their number is returned.
   */
  restore(text: string, nowMs: number): number {
    const entries = entriesOf(text);
    let foreign = 0;
    for (const entry of entries) {
      const restored = markOf(entry, nowMs);
      if (restored === undefined) {
        foreign += 1;
      } else {
        this.#marks.set(restored.key, restored.mark);
      }
    }
    return foreign;
  }
}

function keyOf(owner: MarkOwner, kind: Kind): string {
  return JSON.stringify([owner.service, owner.clientId, owner.customer, kind]);
}

function tupleOf({ epochStartMs, month, value, atMs }: Mark): number[] {
  return [epochStartMs, month, value, atMs];
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

function markOf(entry: unknown, nowMs: number): { key: string; mark: Mark } | undefined {
  if (!Array.isArray(entry) || entry.length !== 8) {
    return undefined;
  }
  const names: unknown[] = entry.slice(0, 4);
  const numbers: unknown[] = entry.slice(4);
  if (!names.every((name) => typeof name === 'string') || !numbers.every(isCount)) {
    return undefined;
  }
  const [epochStartMs = 0, month = 0, value = 0, atMs = 0] = numbers;
  const plausible = epochStartMs <= nowMs + KEPT_MS && nowMs - epochStartMs <= KEPT_MS;
  return plausible
    ? { key: JSON.stringify(names), mark: { epochStartMs, month, value, atMs } }
    : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
