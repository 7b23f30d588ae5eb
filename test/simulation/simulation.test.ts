/**
 * Drawn worlds with the real exporter inside: always the same ones here; `npm run simulate` plays as
 * many as one likes. And the worlds in which something was found, and that each planted bug still has
 * its place and its row in the docs, for a bug without a place proves nothing.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FOUND_WORLDS } from './found-worlds.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { play, playWorld } from './play.ts';

const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);
const ROOT = join(import.meta.dirname, '..', '..');

describe('the simulation', () => {
  test.each(SEEDS)(
    'finds nothing wrong in the world of seed %d',
    { timeout: 120_000 },
    async (seed) => {
      const { violations, polls } = await play(seed);
      expect(violations).toEqual([]);
      expect(polls).toBeGreaterThan(20);
    },
  );

  test.each(Object.entries(FOUND_WORLDS))(
    'finds nothing wrong any more with %s',
    { timeout: 120_000 },
    async (_name, world) => {
      const { violations } = await playWorld(world);
      expect(violations).toEqual([]);
    },
  );

  test('says the same of a world each time', { timeout: 120_000 }, async () => {
    const [first, second] = [await play(3), await play(3)];
    expect(second).toEqual(first);
  });
});

describe('the planted bugs', () => {
  const table = readFileSync(join(ROOT, 'docs', 'planted-bugs.md'), 'utf8');

  test.each(PLANTED_BUGS)('$name has its place in src/$file', ({ file, find }) => {
    const source = readFileSync(join(ROOT, 'src', file), 'utf8');
    expect(source.split(find)).toHaveLength(2);
  });

  test('have all been found, by the table in the docs', () => {
    const rows = table.split('\n').filter((line) => /^\| .* \| +\d+ \| /.test(line));
    const names = rows.map((row) => row.split('|')[1]?.trim());
    expect(new Set(names)).toEqual(new Set(PLANTED_BUGS.map(({ name }) => name)));
  });
});
