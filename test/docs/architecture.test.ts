/** docs/architecture.md: rooms import what its table says, and nothing but the clock reads the time. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const SRC = new URL('src/', ROOT);
const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(new URL(file, SRC), 'utf8') }));

/** A folder of src, or a file beside them. */
function roomOf(file: string): string {
  return file.split('/')[0] ?? file;
}

/** Which other rooms each room imports, types included. */
function imports(): Readonly<Record<string, readonly string[]>> {
  const found = new Map<string, Set<string>>();
  for (const { file, text } of FILES) {
    const own = roomOf(file);
    const others = found.get(own) ?? new Set();
    for (const [, path = ''] of text.matchAll(/(?:\bfrom |\bimport\()'(\.[^']+\.ts)'/g)) {
      const room = roomOf(new URL(path, new URL(file, SRC)).href.slice(SRC.href.length));
      if (room !== own) {
        others.add(room);
      }
    }
    found.set(own, others);
  }
  return Object.fromEntries(Array.from(found, ([room, others]) => [room, [...others].toSorted()]));
}

/** The table of the page: the room, and in its last column what it imports. */
function told(): Readonly<Record<string, readonly string[]>> {
  const page = readFileSync(new URL('docs/architecture.md', ROOT), 'utf8');
  const rows = page.split('## The rooms')[1]?.split('\n## ')[0] ?? '';
  return Object.fromEntries(
    Array.from(rows.matchAll(/^\| `([\w.]+)` .*\| ([\w., ]+?) +\|$/gm), ([, room = '', list]) => [
      room,
      list === 'nothing' ? [] : (list?.split(', ') ?? []),
    ]),
  );
}

test('every room imports what the table of rooms says, and all of it', () => {
  expect(told()).toEqual(imports());
});

test('nothing reads the time or sets a timer but the places that are named', () => {
  const readers = FILES.filter(({ text }) =>
    /new Date\(\)|performance\.now|hrtime|AbortSignal\.timeout|\bTemporal\.Now\b/.test(text),
  );
  expect(readers.map(({ file }) => file).toSorted()).toEqual([
    'base/clock.ts',
    'cli/backfill/prometheus-api.ts',
    'cli/backfill/reader.ts',
    'cli/connect.ts',
  ]);
});
