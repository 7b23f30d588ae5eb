import { expect, test } from 'vitest';
import { ServiceError } from '../../../src/base/errors.ts';
import { WindowReader } from '../../../src/counting/rows/window-reader.ts';
import { COPENHAGEN, NOW_MS } from '../../support/owner.ts';
import { queryFrom, responseOf } from '../../support/responses.ts';
import type { Requested } from '../../support/responses.ts';

test.each([
  ['are all sent', true, undefined, 2],
  ['are not sent if the time is short', false, undefined, 0],
  ['end with the first one that fails', true, 'timeout', 1],
] as const)('optional requests %s', async (_, hasTime, reason, count) => {
  const requests: Requested[] = [];
  const query = queryFrom(() => {
    if (reason !== undefined) {
      throw new ServiceError(reason, 'no response');
    }
    return responseOf({}, 'minute');
  }, requests);
  const reader = new WindowReader({
    query,
    stream: 'people',
    zone: COPENHAGEN,
    nowMs: () => NOW_MS,
    hasTime: () => hasTime,
  });
  for (let i = 0; i < 2; i++) {
    const response = await reader.readOptional('minute', NOW_MS - 60_000);
    expect(response !== undefined).toBe(count === 2);
  }
  expect(requests).toHaveLength(count);
});
