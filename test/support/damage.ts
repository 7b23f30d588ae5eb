/** Damage to a JSON file: truncated, other bytes, other numbers, other values in place of some. */
import fc from 'fast-check';

/** Numbers that no count and no time is, and some that are. */
const anyNumber = fc.oneof(
  fc.constantFrom(-1, 0, 0.5, 2 ** 31, 2 ** 53, 1e300, -1e300, 3_600_000),
  fc.nat(),
);
const anyValue = fc.oneof(anyNumber, fc.jsonValue({ maxDepth: 2 }));
/** Made once: it takes long. */
const anyText = fc.string({ maxLength: 4, unit: 'binary' });

/** Returns texts that a file of `text` may have become. */
export function damaged(text: string): fc.Arbitrary<string> {
  const place = fc.nat(text.length - 1);
  return fc.oneof(
    place.map((length) => text.slice(0, length)),
    fc
      .tuple(place, fc.nat(40), anyText)
      .map(([at, removed, added]) => text.slice(0, at) + added + text.slice(at + removed)),
    fc.tuple(fc.nat(), anyNumber).map(([nth, number]) => replaceNth(text, /-?\d+/g, nth, number)),
    fc
      .array(fc.tuple(fc.nat(), anyValue), { minLength: 1, maxLength: 3 })
      .map((changes) => JSON.stringify(replaceValues(JSON.parse(text), changes))),
  );
}

function replaceNth(text: string, pattern: RegExp, nth: number, by: unknown): string {
  const places = [...text.matchAll(pattern)];
  const { index, 0: found } = places[nth % places.length] ?? { index: 0, 0: '' };
  return `${text.slice(0, index)}${String(by)}${text.slice(index + found.length)}`;
}

/** Replaces values at any depth: the nth of all of them, for each change. */
function replaceValues(
  value: unknown,
  changes: readonly (readonly [nth: number, by: unknown])[],
): unknown {
  const values = countValues(value);
  const byPlace = new Map(changes.map(([nth, by]) => [nth % values, by]));
  let place = 0;
  return replace(value);

  function replace(one: unknown): unknown {
    const at = place;
    place += 1;
    const rest =
      one instanceof Array
        ? one.map(replace)
        : one instanceof Object
          ? Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, replace(inner)]))
          : one;
    return byPlace.has(at) ? byPlace.get(at) : rest;
  }
}

function countValues(value: unknown): number {
  return value instanceof Object
    ? Object.values(value).reduce<number>((count, inner) => count + countValues(inner), 1)
    : 1;
}
