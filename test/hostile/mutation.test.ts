/** Good answers with something changed, drawn by fast-check, in polls of one question. */
import { expect, test } from 'vitest';
import { itsCounts, itsStructure, someBytes } from './support/changes.ts';
import { survives } from './support/survival.ts';

test.for([
  ['some bytes', someBytes, 300],
  ['its structure', itsStructure, 200],
  ['its counts', itsCounts, 250],
] as const)(
  'a changed answer in an ordinary poll counts for no more than it says: %s',
  { timeout: 90_000 },
  async ([, changes, numRuns]) => {
    expect(await survives(24 * 3_600_000, 1, changes, numRuns)).toEqual([]);
  },
);
