import { expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { ServiceError } from '../../src/base/errors.ts';
import { Secret } from '../../src/base/secret.ts';
import { createService } from '../../src/service/client.ts';
import type { ExchangeAnswer, ExchangeRequest } from '../../src/service/transport.ts';
import { customerNamed, schedulerOn } from '../support/polled.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const CUSTOMERS = 300;
const CONCURRENCY = 16;
const ROWS = '{"metadata":{"aggregation":"minute"},"result":[{"key":1,"in":3,"out":1}]}';
const TOKEN = '{"access_token":"token-1","token_type":"Bearer","expires_in":3600}';

function readSecret(): Promise<Secret> {
  return Promise.resolve(new Secret('secret-1'));
}

test('first polls complete although ordinary polls need nearly all of the capacity', async () => {
  const clock = new VirtualClock(Date.UTC(2026, 10, 18, 10));
  /** 16 at once, each 3 s, are 5.3 requests per second. 300 customers need 5, and more for first polls. */
  async function exchange(
    { form }: ExchangeRequest,
    signal?: AbortSignal,
  ): Promise<ExchangeAnswer> {
    await clock.sleep(3_000, signal).catch(() => {
      throw new ServiceError('timeout', 'no answer came');
    });
    const body = Buffer.from(form === undefined ? ROWS : TOKEN);
    const contentType = 'application/json';
    return { status: 200, contentType, retryAfter: undefined, date: undefined, body };
  }
  const limits = { maxConcurrency: CONCURRENCY, maxRequestsPerSecond: 1_000 };
  const service = createService({
    config: {
      baseUrl: 'https://data',
      authUrl: 'https://identity',
      scope: 'ServiceAPI',
      timeoutMs: 10_000,
      proxyUrl: undefined,
      ca: undefined,
      ...limits,
    },
    clock,
    random: { next: () => 0.5 },
    log: silentLogger,
    observer: { request() {}, credentials() {} },
    transport: { exchange, close() {} },
  });
  const polled = Array.from({ length: CUSTOMERS }, (_, i) => {
    const name = `c${i}`;
    return {
      customer: customerNamed(name),
      client: service.clientFor({ name, clientId: name, readSecret }),
    };
  });
  const scheduler = schedulerOn(clock, limits);
  scheduler.start();
  scheduler.setCustomers(polled);
  await clock.advance(20 * 60_000);
  const never = polled.filter(
    ({ customer }) => customer.health.people?.lastSuccessMs === undefined,
  );
  expect(never.length).toBe(0);
  const stopped = scheduler.stop();
  await clock.advance(60_000);
  await stopped;
});
