/** Good answers with something changed, drawn by fast-check, in polls of five questions or more. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { itsCounts, itsStructure, someBytes } from './support/changes.ts';
import { expectSurvival, Subject } from './support/survival.ts';

test.for([
  ['some bytes', someBytes, 120],
  ['its structure', itsStructure, 100],
  ['its counts', itsCounts, 120],
] as const)(
  'a changed answer in an anchor counts for no more than it says: %s',
  { timeout: 90_000 },
  async ([, changes, numRuns]) => {
    const subject = new Subject(60_000);
    const property = fc.asyncProperty(changes, fc.nat(5), (change, at) =>
      expectSurvival(subject, change, at),
    );
    await expect(fc.assert(property, { numRuns })).resolves.toBeUndefined();
    expect(await subject.leave()).toEqual([]);
  },
);
