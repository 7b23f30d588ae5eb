/** Responses whose metadata contradicts their rows or the request, which may be incomplete. */
import { describe, expect, test } from 'vitest';
import { findContradiction, isWider } from '../../src/service/metadata.ts';
import { inTurn, json } from '../support/scripted-server.ts';
import { ask, failureOf, QUERY, start } from './support/harness.ts';

const ASKED = { from: '2026-11-01T04:00:00+01:00', to: '2026-11-01T05:00:00+01:00' };
const COUNT = '"metadata.count": expected 3, the number of rows, got';
const LATER = '"metadata.from" is later than requested';
const EARLIER = '"metadata.to" is earlier than requested';

test.each([
  [{}, undefined, false],
  [{ count: 3 }, undefined, false],
  [{ count: 4 }, `${COUNT} 4`, false],
  [{ count: 0 }, `${COUNT} 0`, false],
  [ASKED, undefined, false],
  // The same instants, and fractions that an edge may add or cut.
  [{ from: '2026-11-01T03:00:00.001Z', to: '2026-11-01T03:59:59.999Z' }, undefined, false],
  [{ from: '2026-11-01T03:30:00Z' }, LATER, false],
  [{ to: '2026-11-01T03:30:00Z' }, EARLIER, false],
  [{ from: '2026-11-01T00:00:00+01:00' }, undefined, true],
  [{ to: '2026-11-02T00:00:00+01:00' }, undefined, true],
  // Without an offset, it may be the same instant in any zone.
  [{ from: '2026-11-01T12:00:00', to: '2026-11-01' }, undefined, false],
  [{ from: 'yesterday', to: '1793505600' }, undefined, false],
  [{ from: '12-01-2026' }, undefined, false],
  // A whole minute is tolerated, and no more.
  [{ from: '2026-11-01T03:01:00Z', to: '2026-11-01T03:59:00Z' }, undefined, false],
  [{ from: '2026-11-01T02:59:00Z', to: '2026-11-01T04:01:00Z' }, undefined, false],
  [{ from: '2026-11-01T03:01:00.001Z' }, LATER, false],
  [{ to: '2026-11-01T03:58:59.999Z' }, EARLIER, false],
  [{ from: '2026-11-01T02:58:59.999Z' }, undefined, true],
  [{ to: '2026-11-01T04:01:00.001Z' }, undefined, true],
  // Offsets as services write them.
  [{ from: '2026-11-01t03:30:00z' }, LATER, false],
  [{ from: '2026-11-01T04:30:00+0100' }, LATER, false],
  [{ from: '2026-10-31T23:30:00-04:00' }, LATER, false],
])('metadata %j of three rows: %j, wider: %j', (metadata, problem, wider) => {
  expect(findContradiction(ASKED, 3, metadata)).toBe(problem);
  expect(isWider(ASKED, metadata)).toBe(wider);
});

test('local times are compared with local times', () => {
  const asked = { from: '2026-11-01T04:00:00' };
  expect(findContradiction(asked, 0, { from: '2026-11-01T05:00:00' })).toBe(LATER);
  expect(findContradiction(asked, 0, { from: '2026-11-01T05:00:00Z' })).toBeUndefined();
  expect(findContradiction({}, 0, { from: '2026-11-01T05:00:00' })).toBeUndefined();
});

function responding(count: number, rows: number) {
  const result = Array.from({ length: rows }, (_, key) => ({ key, in: 1, out: 0 }));
  return json(200, { metadata: { aggregation: 'minute', count }, result });
}

describe('a contradicting response', () => {
  test('is read again, and the second one is used if it is consistent', async () => {
    const { server, harness } = await start();
    server.data = inTurn(responding(3, 2), responding(3, 3), responding(2, 1), responding(2, 2));
    expect((await ask(harness.riverside)).rows).toHaveLength(3);
    expect((await ask(harness.riverside)).rows).toHaveLength(2);
    expect(harness.requests.filter((request) => request === 'peoplecount:200')).toHaveLength(4);
  });

  test('may be repeated once by a fault', async () => {
    const { server, harness } = await start();
    server.data = inTurn(responding(3, 2), responding(3, 2), responding(3, 3));
    expect((await ask(harness.riverside)).rows).toHaveLength(3);
    expect(harness.reported.filter((line) => line.includes('metadata ignored'))).toEqual([]);
  });

  test('that is followed by another one is malformed', async () => {
    const { server, harness } = await start();
    server.data = inTurn(responding(3, 2), responding(3, 1));
    const { reason, message } = await failureOf(ask(harness.riverside));
    expect([reason, message]).toEqual([
      'malformed',
      '/v1/peoplecount: "metadata.count": expected 1, the number of rows, got 3',
    ]);
  });

  test('that is repeated twice means that the service counts something else', async () => {
    const { server, harness } = await start();
    server.data = inTurn(responding(9, 2), responding(9, 2), responding(9, 2), responding(7, 1));
    expect((await ask(harness.riverside)).rows).toHaveLength(2);
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
    expect(harness.requests.filter((request) => request === 'peoplecount:200')).toHaveLength(4);
    const logged = harness.reported.filter((line) => line.includes('response metadata ignored'));
    expect(logged.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'warn', customer: 'riverside', problem: expect.stringContaining('got 9') as string },
    ]);
  });

  test('may also be one that starts too late', async () => {
    const { server, harness } = await start();
    const metadata = { aggregation: 'minute', from: '2026-11-01T06:00:00+01:00' };
    const late = json(200, { metadata, result: [] });
    server.data = inTurn(late, responding(1, 1));
    expect((await ask(harness.riverside, QUERY)).rows).toHaveLength(1);
  });
});
