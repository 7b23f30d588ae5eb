import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { FAULT_KINDS, createFaults } from '../../src/simulator/faults.ts';
import type { FaultKind, Outcome } from '../../src/simulator/faults.ts';
import type { SimulatedRequest } from '../../src/simulator/responses.ts';
import { bearer, small } from './support.ts';

const { service } = small();
const data: SimulatedRequest = {
  method: 'GET',
  path: '/v1/peoplecount',
  query: { aggregation: 'day' },
  headers: { authorization: bearer(service) },
};
const token: SimulatedRequest = {
  method: 'POST',
  path: '/connect/token',
  body: 'client_id=lone-api',
};

function only(kind: FaultKind, request = data): Outcome {
  const faults = createFaults({ random: seededRandom(1), plan: { rate: 1, kinds: [kind] } });
  return faults.outcome(service, request);
}

function answered(outcome: Outcome) {
  if (outcome.kind !== 'answer') {
    throw new Error(`${outcome.kind} is no answer`);
  }
  return outcome.response;
}

describe('a fault', () => {
  test('has its own effect on the answer', () => {
    const good = service.handle(data);
    expect(only('timeout')).toEqual({ kind: 'silence' });
    expect(only('reset')).toEqual({ kind: 'reset' });
    expect(answered(only('unauthorized')).status).toBe(401);
    expect(answered(only('rate-limited'))).toMatchObject({ status: 429 });
    expect(answered(only('rate-limited')).headers).not.toHaveProperty('retry-after');
    expect(answered(only('rate-limited-retry-after')).headers).toHaveProperty('retry-after');
    expect(answered(only('unavailable')).status).toBe(503);
    expect(answered(only('unavailable')).headers).not.toHaveProperty('retry-after');
    expect(answered(only('unavailable-retry-after')).headers).toHaveProperty('retry-after');
    expect(answered(only('html'))).toMatchObject({
      status: 200,
      body: expect.stringContaining('<html>') as string,
    });
    const { body } = answered(only('truncated'));
    expect(good.body.startsWith(body) && body.length < good.body.length).toBe(true);
    expect(JSON.parse(answered(only('empty')).body)).toEqual({
      metadata: { count: 0, aggregation: 'day' },
      result: [],
    });
    const slow = only('slow');
    expect(slow).toMatchObject({ kind: 'answer', response: good });
    expect(slow.kind === 'answer' && slow.afterMs).toBeGreaterThan(0);
  });

  test('of the data endpoints does not affect the token endpoint', () => {
    const good = { kind: 'answer', response: service.handle(token), afterMs: 0 };
    expect(only('unauthorized', token)).toEqual(good);
    expect(only('empty', token)).toEqual(good);
    expect(only('reset', token)).toEqual({ kind: 'reset' });
  });
});

describe('a plan', () => {
  function kinds(seed: number, requests: number, rate: number): readonly string[] {
    const faults = createFaults({ random: seededRandom(seed), plan: { rate, kinds: FAULT_KINDS } });
    return Array.from({ length: requests }, () => JSON.stringify(faults.outcome(service, data)));
  }

  test('is the same for the same seed', () => {
    expect(kinds(3, 50, 0.5)).toEqual(kinds(3, 50, 0.5));
    expect(kinds(3, 50, 0.5)).not.toEqual(kinds(4, 50, 0.5));
  });

  test('affects its share of requests, with every kind', () => {
    const faults = createFaults({
      random: seededRandom(1),
      plan: { rate: 0.3, kinds: FAULT_KINDS },
    });
    for (let i = 0; i < 2_000; i++) {
      faults.outcome(service, data);
    }
    expect(faults.counts.size).toBe(FAULT_KINDS.length);
    const all = [...faults.counts.values()].reduce((total, count) => total + count, 0);
    expect(all).toBeGreaterThan(500);
    expect(all).toBeLessThan(700);
  });

  test('applies to one customer or all, until it is cleared', () => {
    const faults = createFaults({ random: seededRandom(1) });
    expect(faults.outcome(service, data).kind).toBe('answer');
    faults.set({ rate: 1, kinds: ['reset'] }, 'another');
    expect(faults.outcome(service, data).kind).toBe('answer');
    faults.set({ rate: 1, kinds: ['reset'] }, 'lone');
    expect(faults.outcome(service, data).kind).toBe('reset');
    faults.clear('lone');
    expect(faults.outcome(service, data).kind).toBe('answer');
    faults.set({ rate: 1, kinds: ['timeout'] });
    expect(faults.outcome(service, data).kind).toBe('silence');
    faults.clear();
    expect(faults.outcome(service, data).kind).toBe('answer');
  });
});
