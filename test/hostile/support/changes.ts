/** What fast-check does to a good answer: to its bytes, or to its structure. */
import fc from 'fast-check';

export type Change = (good: Buffer) => Buffer;

export const someBytes: fc.Arbitrary<Change> = fc
  .array(
    fc.record({
      at: fc.nat(100_000),
      remove: fc.nat(3),
      insert: fc.oneof(
        fc.uint8Array({ maxLength: 3 }),
        fc.stringMatching(/^[0-9{}[\]",:.eE-]{1,3}$/).map((text) => Buffer.from(text)),
      ),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((edits) => (good) => edits.reduce<Buffer>(edited, good));

function edited(
  body: Buffer,
  { at, remove, insert }: { at: number; remove: number; insert: Uint8Array },
): Buffer {
  const place = at % (body.length + 1);
  return Buffer.concat([body.subarray(0, place), insert, body.subarray(place + remove)]);
}

const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(0, 1, 40, 900, 5000, -1, 0.5, 2 ** 53 - 1, 2 ** 53, 1e308),
  fc.constantFrom('', '3', 'minute', 'day', '2026-11-14T11:00:00.000Z'),
  fc.constantFrom(null, true, [], {}),
  fc.jsonValue(),
);

/** Other numbers in some rows: good answers, most of them, that say something else. */
export const itsCounts: fc.Arbitrary<Change> = fc
  .array(
    fc.record({
      at: fc.nat(100),
      count: fc.oneof(
        fc.integer({ min: -20, max: 100 }),
        fc.nat(5000),
        fc.constantFrom(2 ** 53 - 1, 2 ** 53, 1e21, 0.5),
      ),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((edits) => (good) => Buffer.from(edits.reduce(withCount, good.toString())));

function withCount(text: string, { at, count }: { at: number; count: number }): string {
  const places = [...text.matchAll(/"(in|out|value)":\d+/g)];
  const place = places[at % Math.max(1, places.length)];
  return place === undefined
    ? text
    : text.slice(0, place.index) +
        `"${place[1]}":${count}` +
        text.slice(place.index + place[0].length);
}

/** Walks from the top along `path`, each step the index of a child, and does something to what is there. */
export const itsStructure: fc.Arbitrary<Change> = fc
  .array(
    fc.record({
      path: fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }),
      what: fc.constantFrom('replace', 'remove', 'twice', 'wrap', 'rename'),
      name: fc.constantFrom('in', 'out', 'value', 'key', 'result', '__proto__', 'aggregation', 'x'),
      value,
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((edits) => (good) => {
    const answer: unknown = JSON.parse(good.toString());
    return Buffer.from(JSON.stringify(edits.reduce(changedAt, answer)) ?? '');
  });

interface Edit {
  readonly path: readonly number[];
  readonly what: string;
  readonly name: string;
  readonly value: unknown;
}

function changedAt(node: unknown, { path: [step = 0, ...path], ...edit }: Edit): unknown {
  const isList = Array.isArray(node);
  if (typeof node !== 'object' || node === null) {
    return edit.value;
  }
  const entries: [string, unknown][] = Object.entries(node);
  const place = step % Math.max(1, entries.length);
  const [name, child] = entries[place] ?? [edit.name, edit.value];
  const changed = path.length > 0 ? [changedAt(child, { path, ...edit })] : changesOf(child, edit);
  const newName = edit.what === 'rename' && path.length === 0 ? edit.name : name;
  const names = [newName, `${newName}2`];
  const replacements = changed.map((item, i): [string, unknown] => [names[i] ?? newName, item]);
  entries.splice(place, 1, ...replacements);
  return isList ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

function changesOf(child: unknown, { what, value: instead }: Omit<Edit, 'path'>): unknown[] {
  switch (what) {
    case 'remove':
      return [];
    case 'twice':
      return [child, child];
    case 'wrap':
      return [[child]];
    case 'rename':
      return [child];
    default:
      return [instead];
  }
}
