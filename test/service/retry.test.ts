/** Retries, Retry-After and the deadline of a query, under a virtual clock. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { parseRetryAfter, POLL_RETRIES, withRetries } from '../../src/service/retry.ts';
import { inTurn } from '../support/scripted-server.ts';
import {
  ask,
  failureOf,
  never,
  reply,
  ROWS,
  startInMemory,
  virtualClock,
} from './support/harness.ts';

const FAILURE = new ServiceError('server', 'no');

function afterMs(retryAfterMs: number): ServiceError {
  return new ServiceError('rate_limited', 'no', { retryAfterMs });
}

describe('a query that fails', () => {
  test.for<[string, Error, { draw?: number; maxAttempts?: number }, readonly number[]]>([
    ['after at most 1, 2 and 4 s', FAILURE, {}, [0, 1, 3, 7]],
    ['after 30 s at most', FAILURE, { maxAttempts: 8 }, [0, 1, 3, 7, 15, 31, 61, 91]],
    ['after Retry-After and its jitter', afterMs(20_000), { draw: 0.5 }, [0, 20.5, 41, 61.5]],
    ['not after a longer Retry-After', afterMs(30_001), {}, [0]],
    ['not after a mistake of ours', new RangeError('no'), {}, [0]],
  ])('is repeated %s', async ([, error, { draw = 1, maxAttempts = 4 }, seconds]) => {
    const clock = virtualClock();
    const startedMs: number[] = [];
    const outcome = withRetries(
      () => {
        startedMs.push(clock.monotonicMs());
        return Promise.reject(error);
      },
      { ...POLL_RETRIES, maxAttempts },
      { clock, random: { next: () => draw } },
      never(),
    ).catch((reason: unknown) => reason);
    await clock.advance(600_000);
    expect(await outcome).toBe(error);
    expect(startedMs).toEqual(seconds.map((each) => each * 1_000));
  });

  test('ends its wait when the signal aborts', async () => {
    const clock = virtualClock();
    const stop = new AbortController();
    const gone = new ServiceError('unreachable', 'gone');
    const sources = { clock, random: { next: () => 1 } };
    const query = withRetries(() => Promise.reject(FAILURE), POLL_RETRIES, sources, stop.signal);
    const outcome = failureOf(query);
    await clock.advance(10);
    stop.abort(gone);
    expect(await outcome).toBe(gone);
    expect(clock.sleepers).toBe(0);
  });
});

describe('Retry-After', () => {
  const DATE = 'Sun, 06 Nov 1994 08:49:00 GMT';
  const LIMITED = reply(429, {}, { retryAfter: '20' });
  const DENIED = 'peoplecount:429';
  const GRANTED = 'peoplecount:200';

  test.for([
    ['120', 120_000],
    ['9'.repeat(400), 3_600_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['Sun, 06 Nov 1994 08:48:00 GMT', 0],
    ['', undefined],
    ['Sun, 99 Foo 1994 08:49:37 GMT', undefined],
    [undefined, undefined],
  ] as const)('"%s" is %s ms, by the date of the response', ([value, expected]) => {
    expect(parseRetryAfter(value, DATE)).toBe(expected);
  });

  test.for([
    [429, 'rate_limited'],
    [503, 'server'],
  ] as const)('with %i fails this query and the next ones if it is long', async (row) => {
    const [status, reason] = row;
    const { clock, server, harness } = startInMemory();
    server.data = inTurn(reply(status, {}, { retryAfter: '120' }), ROWS);
    const error = await failureOf(ask(harness.riverside));
    expect(error).toMatchObject({ reason, status, retryAfterMs: 120_000 });
    await clock.advance(89_000);
    expect(await failureOf(ask(harness.riverside))).toMatchObject({
      reason,
      retryAfterMs: 31_000,
      message:
        'GET https://service/v1/peoplecount: not sent for another 31s: the service sent Retry-After',
    });
    // Of the last 30 s a query waits for the rest.
    await clock.advance(2_000);
    const waiting = ask(harness.riverside);
    await clock.advance(28_999);
    expect(harness.requests).toEqual(['token:200', `peoplecount:${status}`]);
    await clock.advance(1);
    await waiting;
    expect(harness.requests.slice(2)).toEqual([GRANTED]);
  });

  test.for([{ maxConcurrency: 1 }, { maxRequestsPerSecond: 1 }])(
    'holds back a request that waits for its place with %j',
    async (config) => {
      const { clock, server, harness } = startInMemory({ config });
      server.data = inTurn(LIMITED, ROWS);
      const queries = Promise.all([ask(harness.riverside), ask(harness.riverside)]);
      // The token takes the first second of one request per second.
      await clock.advance(19_000);
      expect(harness.requests).toEqual(['token:200', DENIED]);
      await clock.advance(3_000);
      await queries;
      expect(harness.requests.slice(2)).toEqual([GRANTED, GRANTED]);
    },
  );

  test('concerns the customer who received it, and nobody else', async () => {
    const { server, harness } = startInMemory();
    server.data = inTurn(LIMITED, ROWS);
    void ask(harness.riverside);
    await ask(harness.clientFor('hillside'));
    expect(harness.requests.slice(2)).toEqual([DENIED, GRANTED]);
  });

  test('of the token endpoint is observed, too', async () => {
    const { server, harness } = startInMemory();
    server.token = reply(429, {}, { retryAfter: '600' });
    expect((await failureOf(ask(harness.riverside))).reason).toBe('rate_limited');
    expect((await failureOf(ask(harness.riverside))).reason).toBe('rate_limited');
    expect(harness.requests).toEqual(['token:429']);
  });
});
