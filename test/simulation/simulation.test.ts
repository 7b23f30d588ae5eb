/**
 * A few drawn worlds with the real exporter inside; `npm run simulate` plays as many as one likes.
 * And that each planted bug still has its place, for a bug without one proves nothing.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { play } from './play.ts';

const SEEDS = [1, 2, 3, 5, 11, 12];

describe('the simulation', () => {
  test.each(SEEDS)(
    'finds nothing wrong in the world of seed %d',
    { timeout: 120_000 },
    async (seed) => {
      const { violations, polls } = await play(seed);
      expect(violations).toEqual([]);
      expect(polls).toBeGreaterThan(100);
    },
  );

  test.each(PLANTED_BUGS)('$name has its place in src/$file', ({ file, find }) => {
    const source = readFileSync(join(import.meta.dirname, '..', '..', 'src', file), 'utf8');
    expect(source.split(find)).toHaveLength(2);
  });
});
