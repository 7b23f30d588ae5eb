/** Metadata that contradict the rows or the request: the response may be incomplete. */
import { expect, test } from 'vitest';
import type { ResponseMetadata, Window } from '../../src/base/model.ts';
import { findContradiction } from '../../src/service/metadata.ts';

const ASKED = { from: '2026-11-01T04:00:00+01:00', to: '2026-11-01T05:00:00+01:00' };
const COUNT = '"metadata.count": expected 3, the number of rows, got';
const LATER = '"metadata.from" is later than requested; rows may be missing';
const EARLIER = '"metadata.to" is earlier than requested; rows may be missing';

test.each<[ResponseMetadata, string | undefined, Window?]>([
  [{}, undefined],
  [{ count: 4 }, `${COUNT} 4; rows may be missing`],
  [ASKED, undefined],
  // The same instants, and fractions that an edge may add or cut.
  [{ from: '2026-11-01T03:00:00.001Z', to: '2026-11-01T03:59:59.999Z' }, undefined],
  [{ from: '2026-11-01T00:00:00+01:00' }, undefined],
  [{ to: '2026-11-02T00:00:00+01:00' }, undefined],
  // Without an offset, it may be the same instant in any zone.
  [{ from: '2026-11-01T12:00:00', to: '2026-11-01' }, undefined],
  [{ from: 'yesterday', to: '1793505600' }, undefined],
  // A whole minute is tolerated, and no more.
  [{ from: '2026-11-01T03:01:00Z', to: '2026-11-01T03:59:00Z' }, undefined],
  [{ from: '2026-11-01T03:01:00.001Z' }, LATER],
  [{ to: '2026-11-01T03:58:59.999Z' }, EARLIER],
  // Offsets as services write them.
  [{ from: '2026-11-01t03:30:00z' }, LATER],
  [{ from: '2026-10-31T23:30:00-04:00' }, LATER],
  // Local times are compared with local times.
  [{ from: '2026-11-01T05:00:00' }, LATER, { from: '2026-11-01T04:00:00' }],
  [{ from: '2026-11-01T05:00:00Z' }, undefined, { from: '2026-11-01T04:00:00' }],
  [{ from: '2026-11-01T05:00:00' }, undefined, {}],
])('metadata %j of three rows: %j', (metadata, problem, asked = ASKED) => {
  expect(findContradiction(asked, { rows: [1, 2, 3], metadata })).toBe(problem);
});
