/** Lists in the configuration, and the limit on how much may be read in all. */
import type { SourceNode } from './nodes.ts';
import { find, oneOf, wordFor } from './shapes.ts';
import type { Found, Reader, Shape } from './shapes.ts';

/** Every good entry; entries that are not good are problems. */
export function listOf<Value>(
  shape: Shape<Value>,
  rules: { readonly expects: string },
): Shape<readonly Found<Value>[]> {
  const { expects } = rules;
  return {
    expects,
    schema: { type: 'array', items: shape.schema },
    read(node, path, reader) {
      if (node.kind !== 'list') {
        const message = `is ${wordFor(node)}: give ${expects}`;
        reader.problems.add({ place: node.place, path, message });
        return undefined;
      }
      return spend(reader, node, path, node.items.length)
        ? node.items
            .map((item, i) => find(shape, item, `${path}[${i}]`, reader))
            .filter((found) => found !== undefined)
        : undefined;
    },
  };
}

/** Any of some words, each at most once. */
export function setOf<Word extends string>(
  words: readonly Word[],
  rules: { readonly mayBeEmpty: boolean },
): Shape<readonly Word[]> {
  const expects = `a list of ${rules.mayBeEmpty ? 'any' : 'one or more'} of ${words.join(', ')}`;
  const list = listOf(oneOf(words), { expects });
  return {
    expects,
    schema: { ...list.schema, uniqueItems: true, minItems: rules.mayBeEmpty ? 0 : 1 },
    read(node, path, reader) {
      const found = list.read(node, path, reader);
      if (found === undefined) {
        return undefined;
      }
      for (const [i, { value, place, path: itemPath }] of found.entries()) {
        if (found.findIndex((other) => other.value === value) < i) {
          const message = 'is in the list twice: remove one of them';
          reader.problems.add({ place, path: itemPath, message });
        }
      }
      if (node.kind === 'list' && node.items.length === 0 && !rules.mayBeEmpty) {
        const message = `is empty: give ${expects}, or remove the key`;
        reader.problems.add({ place: node.place, path, message });
        return undefined;
      }
      return words.filter((candidate) => found.some(({ value }) => value === candidate));
    },
  };
}

/** False when the entries that may be read are used up; the first time that is a problem. */
export function spend(reader: Reader, node: SourceNode, path: string, entries: number): boolean {
  const before = reader.budget.entries;
  reader.budget.entries = before - entries;
  if (before >= 0 && reader.budget.entries < 0) {
    const message = 'has too many entries in all: write fewer aliases';
    reader.problems.add({ place: node.place, path, message });
  }
  return reader.budget.entries >= 0;
}
