import { expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import type { FaultKind } from '../../src/simulator/faults.ts';
import { bearer, small } from './support.ts';

const { service } = small();
const headers = { authorization: bearer(service) };
const data = { method: 'GET', path: '/v1/peoplecount', query: { aggregation: 'day' }, headers };
const good = service.handle(data);
/** Three seconds later, which the seed has chosen to be a date. */
const RETRY = 'Wed, 18 Mar 2026 15:00:03 GMT';

test.each<[FaultKind, object]>([
  ['timeout', { kind: 'silence' }],
  ['reset', { kind: 'reset' }],
  ['rate-limited-retry-after', { response: { status: 429, headers: { 'retry-after': RETRY } } }],
  ['unauthorized', { response: { status: 401 } }],
  ['html', { response: { status: 200, body: expect.stringContaining('<html>') as string } }],
  ['empty', { response: { body: '{"metadata":{"count":0,"aggregation":"day"},"result":[]}' } }],
  ['slow', { response: good, afterMs: 10_549 }],
  ['truncated', { response: { body: good.body.slice(0, 1 + 0.52742 * (good.body.length - 1)) } }],
  ['oversized', { response: { body: good.body + ' '.repeat(9 * 2 ** 20) } }],
])('the fault %s has its own effect on the response', (kind, expected) => {
  const faults = createFaults({ random: seededRandom(1) });
  faults.set({ rate: 1, kinds: [kind] });
  expect(faults.outcome(service, data)).toMatchObject(expected);
});

test('a plan applies to its share of requests of one customer or of all', () => {
  const faults = createFaults({ random: seededRandom(1) });
  function kind(): string {
    return faults.outcome(service, data).kind;
  }
  faults.set({ rate: 1, kinds: ['reset'] }, 'another');
  expect(kind()).toBe('response');
  faults.set({ rate: 0.3, kinds: ['reset'] });
  const resets = Array.from({ length: 200 }, kind).filter((one) => one === 'reset');
  expect(resets.length / 200).toBeCloseTo(0.3, 1);
});
