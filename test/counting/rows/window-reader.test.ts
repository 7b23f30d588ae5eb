import { expect, test } from 'vitest';
import { ServiceError } from '../../../src/base/errors.ts';
import { WindowReader } from '../../../src/counting/rows/window-reader.ts';
import { COPENHAGEN, NOW_MS } from '../../support/owner.ts';
import { responseOf } from '../../support/responses.ts';

test.each([
  ['are all sent', undefined, 2],
  ['end with the first one that fails', 'timeout', 1],
] as const)('optional requests %s', async (_, reason, count) => {
  const necessities: unknown[] = [];
  const reader = new WindowReader({
    query(_question, necessity) {
      necessities.push(necessity);
      return reason === undefined
        ? Promise.resolve(responseOf({}, 'minute'))
        : Promise.reject(new ServiceError(reason, 'no response'));
    },
    stream: 'people',
    zone: COPENHAGEN,
    nowMs: () => NOW_MS,
  });
  for (let i = 0; i < 2; i++) {
    const response = await reader.readOptional('minute', NOW_MS - 60_000);
    expect(response !== undefined).toBe(count === 2);
  }
  expect(necessities).toEqual(Array(count).fill('optional'));
});
