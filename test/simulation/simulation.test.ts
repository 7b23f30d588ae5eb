/**
 * Drawn worlds with the real exporter inside: always the same ones here; `npm run simulate` plays as
 * many as one likes. And the worlds in which something was found, and that each planted bug still has
 * its place, for a bug without one proves nothing.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FOUND_WORLDS } from './found-worlds.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { play, playWorld } from './play.ts';

const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);

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

const ROOT = join(import.meta.dirname, '..', '..');

test.each(PLANTED_BUGS)('the planted bug "$name" has its place in src/$file', ({ file, find }) => {
  const source = readFileSync(join(ROOT, 'src', file), 'utf8');
  expect(source.split(find)).toHaveLength(2);
});

test('the table of planted bugs has all of them, each found in some world', () => {
  const page = readFileSync(join(ROOT, 'docs', 'planted-bugs.md'), 'utf8');
  const rows = Array.from(
    page.matchAll(/^\| (.+?) +\| +[1-9]\d* \| +[1-9]\d* \| \S/gm),
    ([, name]) => name,
  );
  expect(rows).toEqual(PLANTED_BUGS.map(({ name }) => name));
});
