/** The life of a token, and of refused credentials, under a virtual clock. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { ExchangeResponse } from '../../src/service/transport.ts';
import { settle } from '../support/virtual-clock.ts';
import { inTurn, tokenBody } from '../support/scripted-server.ts';
import { failureOf, never, QUERY, reply, ROWS, SECRET, startInMemory } from './support/harness.ts';
import type { Reply } from './support/harness.ts';

const MINUTE_MS = 60_000;
const REFUSAL = reply(400, { error: 'invalid_client' });

function granted(name: string, expiresIn: unknown): ExchangeResponse {
  return reply(200, tokenBody({ access_token: name, expires_in: expiresIn }))();
}

/** A client without retries, whose tokens are called token-1, token-2 … and live for an hour. */
function startTokens(expiresIn: unknown = 3600, secret = SECRET) {
  const { clock, server, harness } = startInMemory({ secret });
  const client = harness.clientFor('riverside', { maxAttempts: 1, maxWaitMs: 0 });
  let used: string | undefined;
  server.token = () => granted(`token-${requests().length + 1}`, expiresIn);
  server.data = ({ bearer }) => {
    used = bearer?.reveal();
    return ROWS();
  };
  /** Requests of the token endpoint. */
  function requests(): readonly string[] {
    return harness.requests.filter((request) => request.startsWith('token'));
  }
  /** Queries once a minute. Returns the minutes in which a token is requested; the background is settled. */
  async function minutesOfRequests(count: number): Promise<readonly number[]> {
    const minutes: number[] = [];
    for (let minute = 1; minute <= count; minute += 1) {
      const before = requests().length;
      await clock.advance(MINUTE_MS);
      await use().catch(() => undefined);
      await settle();
      minutes.push(...(requests().length > before ? [minute] : []));
    }
    return minutes;
  }
  /** The token that a query is sent with. */
  async function use(signal = never()): Promise<string | undefined> {
    await client.query(QUERY, signal);
    return used;
  }
  return { clock, server, harness, requests, minutesOfRequests, use };
}

describe('a token', () => {
  test('is requested once for all callers, and cached', async () => {
    const { requests, use } = startTokens();
    expect(await Promise.all([use(), use()])).toEqual(['token-1', 'token-1']);
    expect(await use()).toBe('token-1');
    expect(requests()).toHaveLength(1);
  });

  test.for([
    [3600, 2880],
    [0, 48],
    [undefined, 2880],
    [1e12, 8e11],
  ] as const)('with expires_in %s is renewed after %d s', async ([expiresIn, seconds]) => {
    const { clock, requests, use } = startTokens(expiresIn);
    await use();
    await clock.advance(seconds * 1_000 - 1);
    expect(await use()).toBe('token-1');
    expect(requests()).toHaveLength(1);
    await clock.advance(1);
    expect(await use()).toBe('token-1');
    await settle();
    expect(await use()).toBe('token-2');
    expect(requests()).toHaveLength(2);
  });

  test('serves to its end while renewals fail, with one attempt a minute', async () => {
    const { clock, server, requests, use } = startTokens();
    await use();
    server.token = reply(500, {});
    await clock.advance(50 * MINUTE_MS);
    for (let i = 0; i < 9 * 6; i += 1) {
      expect(await use()).toBe('token-1');
      await clock.advance(10_000);
    }
    expect(requests()).toHaveLength(1 + 9);
    // The wall clock does not matter.
    clock.step(-48 * 60 * MINUTE_MS);
    await clock.advance(MINUTE_MS);
    expect((await failureOf(use())).reason).toBe('server');
  });

  const PAGE = reply(200, 'sign in', { contentType: 'text/html' });

  test.for<[string, Reply, readonly number[]]>([
    ['403', reply(403, {}), [5, 15, 35, 75, 135]],
    ['500', reply(500, {}), [5, 15, 35, 75, 135]],
    ['200 and a page', PAGE, [5, 15, 35, 75, 135]],
    ['429', reply(429, {}), []],
    ['no response', () => Promise.reject(new ServiceError('unreachable', 'gone')), []],
  ])('is replaced ever more rarely while all fails with %s', async ([, failure, minutes]) => {
    const { server, minutesOfRequests, use } = startTokens(1e6);
    const good: Reply = server.data;
    await use();
    server.data = failure;
    expect(await minutesOfRequests(139)).toEqual(minutes);
    // The pauses start over, at the third failure in a row.
    server.data = good;
    expect(await use()).toBe(`token-${minutes.length + 1}`);
    server.data = failure;
    expect(await minutesOfRequests(14)).toEqual(minutes.length === 0 ? [] : [3, 13]);
  });

  test('still arrives for the other callers when one of them aborts', async () => {
    const { server, requests, use } = startTokens();
    const pending = Promise.withResolvers<ExchangeResponse>();
    server.token = () => pending.promise;
    const controller = new AbortController();
    const aborted = failureOf(use(controller.signal));
    const other = use();
    controller.abort();
    expect((await aborted).reason).toBe('timeout');
    pending.resolve(granted('token-7', 3600));
    expect(await other).toBe('token-7');
    expect(requests()).toHaveLength(1);
  });
});

describe('refused credentials', () => {
  test.for([
    [200, 'invalid_client'],
    [400, 'invalid_client'],
    [401, 'unauthorized_client'],
    [404, 'unsupported_grant_type'],
    [429, 'invalid_client'],
    [200, 'other', 'unknown client'],
    [401, 'other', `no client ${SECRET}`],
    [401, 'no reason given', 1],
  ] as const)('are those with status %i and %s', async ([status, code, error = code]) => {
    const { server, harness, requests, use } = startTokens();
    server.token = reply(status, { error });
    for (let poll = 0; poll < 2; poll += 1) {
      expect(await failureOf(use())).toMatchObject({
        reason: 'auth',
        status,
        message:
          `POST https://service/connect/token: the service refused the credentials (status ${status}, ${code}): ` +
          'check client_id and client secret against the API module',
      });
    }
    // They are not sent again.
    expect(requests()).toHaveLength(1);
    expect(harness.credentials).toEqual([false]);
  });

  test('are refused with what the secret ends with', async () => {
    const { server, use } = startTokens(3600, `${SECRET}\n`);
    server.token = REFUSAL;
    expect((await failureOf(use())).message).toMatch(/; the secret ends with a line end$/);
  });

  test.for([
    [400, { error: 'server_error' }, 'server', 'status 400, server_error'],
    [500, { error: 'invalid_client' }, 'server', 'status 500'],
    [404, { error: 'maintenance' }, 'rejected', 'status 404; check service.auth_url'],
    // Without an error object it may be a proxy that responds.
    [400, 'nothing', 'rejected', 'status 400'],
    [403, 'nothing', 'auth', 'status 403'],
  ] as const)('are not those with status %i and %j', async ([status, value, reason, words]) => {
    const { server, harness, requests, use } = startTokens();
    server.token = reply(status, value);
    for (const count of [1, 2]) {
      const error = await failureOf(use());
      expect(error).toMatchObject({ reason, status });
      expect(error.message).toContain(`POST https://service/connect/token: ${words}`);
      expect(requests()).toHaveLength(count);
    }
    expect(harness.credentials).toEqual([]);
  });

  test('are sent again after one minute, then two, four, eight, fifteen', async () => {
    const { clock, server, harness, minutesOfRequests, use } = startTokens();
    server.token = REFUSAL;
    expect((await failureOf(use())).reason).toBe('auth');
    expect(await minutesOfRequests(61)).toEqual([1, 3, 7, 15, 30, 45, 60]);
    // Accepted for a minute, they are sent again after one minute.
    server.token = inTurn(() => granted('token-9', 60), REFUSAL);
    await clock.advance(15 * MINUTE_MS);
    expect(await use()).toBe('token-9');
    expect(await minutesOfRequests(2)).toEqual([1, 2]);
    expect(harness.credentials).toEqual([false, true, false]);
  });

  test('at a renewal leave the old token valid to its end', async () => {
    const { clock, server, harness, use } = startTokens();
    await use();
    server.token = REFUSAL;
    await clock.advance(50 * MINUTE_MS);
    await use();
    await settle();
    expect(harness.credentials).toEqual([true, false]);
    expect(await use()).toBe('token-1');
    await clock.advance(10 * MINUTE_MS);
    expect((await failureOf(use())).reason).toBe('auth');
  });
});
