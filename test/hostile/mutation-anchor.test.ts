/** Good answers with something changed, drawn by fast-check, in polls of five questions or more. */
import { expect, test } from 'vitest';
import { itsCounts, itsStructure, someBytes } from './support/changes.ts';
import { survives } from './support/survival.ts';

test.for([
  ['some bytes', someBytes, 120],
  ['its structure', itsStructure, 100],
  ['its counts', itsCounts, 120],
] as const)(
  'a changed answer in an anchor counts for no more than it says: %s',
  { timeout: 90_000 },
  async ([, changes, numRuns]) => {
    expect(await survives(60_000, 6, changes, numRuns)).toEqual([]);
  },
);
