/** What the two kinds of mappings have in common: their entries, each key once. */
import type { Entry, SourceNode } from './nodes.ts';
import type { Reader } from './shapes.ts';

export const MERGE_KEY = '<<';
export const MERGED = 'is a merge key, and those are not read: write the keys out';

/** A key with nothing after it is an empty mapping: all that was in it may be commented out. */
export function entriesOf(node: SourceNode): readonly Entry[] | undefined {
  if (node.kind === 'mapping') {
    return node.entries;
  }
  return node.kind === 'scalar' && node.type === 'nothing' ? [] : undefined;
}

/** The first entry of each key; the others are problems. */
export function withoutDuplicates(
  all: readonly Entry[],
  path: string,
  reader: Reader,
): readonly Entry[] {
  const first = new Map<string, Entry>();
  for (const entry of all) {
    const before = first.get(entry.key);
    if (before === undefined) {
      first.set(entry.key, entry);
    } else {
      const { source, start } = before.keyPlace;
      const message = `is given twice, first in line ${source.lineAt(start)}: remove one of them`;
      reader.problems.add({ place: entry.keyPlace, path: joinPath(path, entry.key), message });
    }
  }
  return [...first.values()];
}

/** The path of a key; a key that is no plain word is quoted, and cut. */
export function joinPath(path: string, key: string): string {
  const shown = /^[\w-]+$/.test(key) ? key : JSON.stringify(key.slice(0, 64));
  return path === '' ? shown : `${path}.${shown}`;
}
