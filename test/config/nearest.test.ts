import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance } from '../../src/config/nearest.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 7 });

test('a distance with a limit is the distance, or Infinity where it is above the limit', () => {
  fc.assert(
    fc.property(word, word, fc.nat({ max: 5 }), (a, b, most) => {
      const distance = editDistance(a, b, Infinity);
      const limited = editDistance(a, b, most);
      expect(limited === Infinity ? distance > most : limited === distance).toBe(true);
      expect(distance <= most ? limited : distance).toBe(distance);
    }),
    { numRuns: 2_000 },
  );
});

test('a distance counts what is left out, put in, exchanged and swapped', () => {
  expect(editDistance('secret', 'secret', Infinity)).toBe(0);
  expect(editDistance('sercet', 'secret', Infinity)).toBe(1);
  expect(editDistance('sekret', 'secret', Infinity)).toBe(1);
  expect(editDistance('secrets', 'secret', Infinity)).toBe(1);
  expect(editDistance('', 'secret', Infinity)).toBe(6);
});
