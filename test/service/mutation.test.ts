import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { decodeReading } from '../../src/service/wire.ts';
import { peopleAnswer } from './support/fake-service.ts';

const GOOD = JSON.stringify(
  peopleAnswer([
    { key: '2026-11-01T10:00', in: 3, out: 1 },
    { key: 1_793_523_600, in: 12, out: 0 },
  ]),
);

/** A reading that keeps what it promises, or `malformed`; anything else is neither. */
function outcomeOf(body: Uint8Array): string {
  try {
    const answer = { contentType: 'application/json', body };
    const { aggregation, rows } = decodeReading('peoplecount', answer);
    const whole = rows.every(
      ({ key, counts }) =>
        (typeof key === 'string' || Number.isSafeInteger(key)) &&
        counts.length === 2 &&
        counts.every((count) => Number.isSafeInteger(count) && count >= 0),
    );
    return whole && typeof aggregation === 'string' ? 'reading' : 'broken reading';
  } catch (error) {
    return error instanceof ServiceError ? error.reason : String(error);
  }
}

describe('a good answer that was changed', () => {
  test('by a few bytes is a whole reading or malformed', () => {
    const change = fc.record({
      at: fc.nat(GOOD.length - 1),
      remove: fc.nat(3),
      insert: fc.uint8Array({ maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        let body = Buffer.from(GOOD);
        for (const { at, remove, insert } of changes) {
          body = Buffer.concat([body.subarray(0, at), insert, body.subarray(at + remove)]);
        }
        expect(outcomeOf(body)).toMatch(/^(reading|malformed)$/);
      }),
      { numRuns: 2_000 },
    );
  });

  test('in its structure is a whole reading or malformed', () => {
    const field = fc.constantFrom(
      'metadata',
      'result',
      'aggregation',
      'key',
      'in',
      'out',
      '__proto__',
    );
    fc.assert(
      fc.property(field, fc.jsonValue(), (name, value) => {
        const changed = GOOD.replaceAll(
          new RegExp(`"${name}":("[^"]*"|\\d+|\\[|\\{)`, 'g'),
          (whole, old: string) =>
            old === '[' || old === '{'
              ? `"${name}":${JSON.stringify(value)},"was":${old}`
              : whole.replace(old, JSON.stringify(value)),
        );
        expect(outcomeOf(Buffer.from(changed))).toMatch(/^(reading|malformed)$/);
      }),
      { numRuns: 2_000 },
    );
  });
});
