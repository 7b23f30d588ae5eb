/**
 * The bytes of all customers' sample lines, family by family and in each family customer by
 * customer, in pieces of some hundred customers each. A change makes new pieces out of old ones: what
 * did not change in them is copied in long runs. It knows neither families nor figures.
 *
 * Polls go round in the customers' order, so that from one scrape to the next few blocks change.
 */
import { strict as assert } from 'node:assert';
import { Piece } from './gzip.ts';

/** Less, and the pieces compress badly; more, and more is compressed than has changed. */
export const CUSTOMERS_OF_A_BLOCK = 256;

/** New lines of one customer, one text for each family; undefined where they are as they were. */
export type ChangedLines = readonly (string | undefined)[];

const NOTHING = new Piece(new Uint8Array(0));

export class SampleStore {
  readonly #families: number;
  readonly #blocks: readonly Block[];
  /** Blocks that were changed since the last call of {@link quiet}, and those before that. */
  #busy = new Set<Block>();
  #busyBefore = new Set<Block>();
  /** Where pieces are written before their length is known. */
  #scratch = Buffer.alloc(0);

  /** For so many customers, none of which has a line yet. */
  constructor(families: number, customers: number) {
    this.#families = families;
    const blocks = Math.ceil(customers / CUSTOMERS_OF_A_BLOCK);
    this.#blocks = Array.from({ length: blocks }, () => new Block(families));
  }

  /** The lines of one family, of all customers; none is empty. */
  family(family: number): readonly Piece[] {
    return this.#blocks
      .map((block) => block.pieces[family] ?? NOTHING)
      .filter(({ plain }) => plain.length > 0);
  }

  /** Takes new lines of some customers, by number of the customer. */
  update(changed: ReadonlyMap<number, ChangedLines>): void {
    const byBlock = Map.groupBy(changed, ([number]) => Math.floor(number / CUSTOMERS_OF_A_BLOCK));
    for (const [number, customers] of byBlock) {
      const block = this.#blocks[number];
      assert(block !== undefined);
      this.#busy.add(block);
      const lines = customers
        .map(([customer, texts]) => ({ place: customer % CUSTOMERS_OF_A_BLOCK, texts }))
        .toSorted((a, b) => a.place - b.place);
      for (let family = 0; family < this.#families; family += 1) {
        this.#makeRoom(block.mostBytesWith(family, lines));
        block.rebuild(family, lines, this.#scratch);
      }
    }
  }

  /** The pieces of the blocks that were changed, but not since the last call: they may stay for long. */
  quiet(): readonly Piece[] {
    const quiet = [...this.#busyBefore].filter((block) => !this.#busy.has(block));
    this.#busyBefore = this.#busy;
    this.#busy = new Set();
    return quiet.flatMap(({ pieces }) => pieces);
  }

  #makeRoom(bytes: number): void {
    if (this.#scratch.length < bytes) {
      this.#scratch = Buffer.allocUnsafeSlow(2 * bytes);
    }
  }
}

/** Of some customers of a block, in the order of their places. */
type Lines = readonly { readonly place: number; readonly texts: ChangedLines }[];

/** Some hundred customers one after the other: of each family one piece. */
class Block {
  /** By number of the family. Those that are here are replaced, never written to. */
  readonly pieces: Piece[];
  /** By number of the family: the lines of place p go from [p] to [p + 1]. */
  readonly #bounds: Uint32Array[];

  constructor(families: number) {
    this.pieces = Array.from({ length: families }, () => NOTHING);
    this.#bounds = this.pieces.map(() => new Uint32Array(CUSTOMERS_OF_A_BLOCK + 1));
  }

  mostBytesWith(family: number, lines: Lines): number {
    let bytes = this.#pieceOf(family).plain.length;
    for (const { texts } of lines) {
      // A unit of UTF-16 is at most three bytes of UTF-8.
      bytes += 3 * (texts[family]?.length ?? 0);
    }
    return bytes;
  }

  /** The piece is the same object as before if its bytes are. */
  rebuild(family: number, lines: Lines, scratch: Buffer): void {
    const old = this.#pieceOf(family).plain;
    const before = this.#boundsOf(family);
    const bounds = new Uint32Array(before.length);
    let next = 0;
    let at = 0;
    /** The customers from `next` on up to `end` keep their lines. */
    function keepUpTo(end: number): void {
      const from = before[next] ?? 0;
      const shift = at - from;
      if (next < end) {
        scratch.set(old.subarray(from, before[end]), at);
      }
      for (; next < end; next += 1) {
        at = (before[next + 1] ?? 0) + shift;
        bounds[next + 1] = at;
      }
    }
    for (const { place, texts } of lines) {
      const text = texts[family];
      if (text !== undefined) {
        keepUpTo(place);
        at += scratch.write(text, at);
        next += 1;
        bounds[next] = at;
      }
    }
    if (next === 0) {
      return;
    }
    keepUpTo(CUSTOMERS_OF_A_BLOCK);
    this.#bounds[family] = bounds;
    const plain = scratch.subarray(0, at);
    if (!plain.equals(old)) {
      this.pieces[family] = new Piece(Buffer.from(plain));
    }
  }

  #pieceOf(family: number): Piece {
    const piece = this.pieces[family];
    assert(piece !== undefined);
    return piece;
  }

  #boundsOf(family: number): Uint32Array {
    const bounds = this.#bounds[family];
    assert(bounds !== undefined);
    return bounds;
  }
}
