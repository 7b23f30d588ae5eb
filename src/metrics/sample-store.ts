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
    const byBlock = Map.groupBy(
      [...changed.keys()].toSorted((a, b) => a - b),
      (number) => Math.floor(number / CUSTOMERS_OF_A_BLOCK),
    );
    for (const [number, customers] of byBlock) {
      const block = this.#blocks[number];
      assert(block !== undefined);
      this.#busy.add(block);
      for (let family = 0; family < this.#families; family += 1) {
        this.#rebuild(block, family, customers, changed);
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

  #rebuild(
    block: Block,
    family: number,
    customers: readonly number[],
    changed: ReadonlyMap<number, ChangedLines>,
  ): void {
    const lines = customers.flatMap((number): [place: number, text: string][] => {
      const text = changed.get(number)?.[family];
      return text === undefined ? [] : [[number % CUSTOMERS_OF_A_BLOCK, text]];
    });
    if (lines.length > 0) {
      this.#makeRoom(block.mostBytesWith(family, lines));
      block.rebuild(family, lines, this.#scratch);
    }
  }

  #makeRoom(bytes: number): void {
    if (this.#scratch.length < bytes) {
      this.#scratch = Buffer.allocUnsafeSlow(2 * bytes);
    }
  }
}

/** By place in the block, ascending. */
type Lines = readonly (readonly [place: number, text: string])[];

/** After the last place: what is before it is copied, and nothing is added. */
const END: Lines[number] = [CUSTOMERS_OF_A_BLOCK, ''];

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
    // A unit of UTF-16 is at most three bytes of UTF-8.
    const added = lines.reduce((sum, [, text]) => sum + 3 * text.length, 0);
    return (this.pieces[family]?.plain.length ?? 0) + added;
  }

  /** The piece is the same object as before if its bytes are. */
  rebuild(family: number, lines: Lines, scratch: Buffer): void {
    const old = this.pieces[family]?.plain;
    const before = this.#bounds[family];
    assert(old !== undefined && before !== undefined);
    const bounds = new Uint32Array(before.length);
    let place = 0;
    let at = 0;
    for (const [changed, text] of [...lines, END]) {
      const from = before[place] ?? 0;
      scratch.set(old.subarray(from, before[changed]), at);
      const shift = at - from;
      for (; place < changed; place += 1) {
        bounds[place + 1] = (before[place + 1] ?? 0) + shift;
      }
      at = (bounds[place] ?? 0) + scratch.write(text, bounds[place] ?? 0);
      place += 1;
      bounds[place] = at;
    }
    this.#bounds[family] = bounds;
    const plain = scratch.subarray(0, at);
    if (!plain.equals(old)) {
      this.pieces[family] = new Piece(new Uint8Array(plain));
    }
  }
}
