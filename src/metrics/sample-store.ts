/**
 * The bytes of all customers' sample lines, family by family and in each family customer by
 * customer, in one Buffer. A change makes a new Buffer out of the old one: what did not change is
 * copied in long runs, so it costs a copy and not a rendering. It knows neither families nor figures.
 *
 * A customer costs its bytes and four more for each family, however often it changes.
 */
import { strict as assert } from 'node:assert';

export class SampleStore {
  readonly #families: number;
  #customers = 0;
  #bytes: Buffer = Buffer.alloc(0);
  /** End of customer c's lines of family f at [f * customers + c]; they start where the one before ends. */
  #ends = new Uint32Array(0);

  constructor(families: number) {
    this.#families = families;
  }

  /** The lines of one family, of all customers. Never written to again. */
  family(family: number): Uint8Array {
    const first = family * this.#customers;
    return this.#bytes.subarray(this.#startOf(first), this.#startOf(first + this.#customers));
  }

  /** Forgets all lines; `customers` are expected, and all of them at the next `update`. */
  reset(customers: number): void {
    this.#customers = customers;
    this.#bytes = Buffer.alloc(0);
    this.#ends = new Uint32Array(this.#families * customers);
  }

  /** Takes new lines of some customers: by number of the customer, one text for each family. */
  update(changed: ReadonlyMap<number, readonly string[]>): void {
    const order = [...changed.keys()].toSorted((a, b) => a - b);
    const bytes = Buffer.allocUnsafeSlow(this.#bytesWith(changed));
    const ends = new Uint32Array(this.#ends.length);
    let at = 0;
    for (let family = 0; family < this.#families; family += 1) {
      let next = 0;
      for (const customer of order) {
        at = this.#copy(family, next, customer, bytes, ends, at);
        at += bytes.write(changed.get(customer)?.[family] ?? '', at);
        ends[family * this.#customers + customer] = at;
        next = customer + 1;
      }
      at = this.#copy(family, next, this.#customers, bytes, ends, at);
    }
    assert.equal(at, bytes.length);
    this.#bytes = bytes;
    this.#ends = ends;
  }

  #bytesWith(changed: ReadonlyMap<number, readonly string[]>): number {
    let bytes = this.#bytes.length;
    for (const [customer, lines] of changed) {
      assert.equal(lines.length, this.#families);
      for (const [family, text] of lines.entries()) {
        const place = family * this.#customers + customer;
        bytes += Buffer.byteLength(text) - (this.#startOf(place + 1) - this.#startOf(place));
      }
    }
    return bytes;
  }

  /** Copies the lines of customers [from, to); returns where the next ones go. */
  #copy(
    family: number,
    from: number,
    to: number,
    bytes: Buffer,
    ends: Uint32Array,
    at: number,
  ): number {
    const first = family * this.#customers + from;
    const last = family * this.#customers + to;
    const start = this.#startOf(first);
    const end = this.#startOf(last);
    this.#bytes.copy(bytes, at, start, end);
    for (let place = first; place < last; place += 1) {
      ends[place] = this.#startOf(place + 1) - start + at;
    }
    return at + end - start;
  }

  #startOf(place: number): number {
    return place === 0 ? 0 : (this.#ends[place - 1] ?? 0);
  }
}
