/** Customers whose requests pass the client of the service and its limits, on a virtual clock. */
import { silentLogger } from '../../src/base/log.ts';
import { ServiceError } from '../../src/base/errors.ts';
import { Secret } from '../../src/base/secret.ts';
import type { PolledCustomer } from '../../src/polling/scheduler.ts';
import { createService } from '../../src/service/client.ts';
import type { ExchangeResponse, ExchangeRequest } from '../../src/service/transport.ts';
import { customerNamed } from '../support/polled.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

const ROWS = '{"metadata":{"aggregation":"minute"},"result":[{"key":1,"in":3,"out":1}]}';
const TOKEN = '{"access_token":"token-1","token_type":"Bearer","expires_in":3600}';

interface Limits {
  readonly maxConcurrency: number;
  readonly maxRequestsPerSecond: number;
}

/** So many customers, `c0` and so on. Each request takes `answerMs`; `startedMs` gets its start. */
export function servedCustomers(
  clock: VirtualClock,
  count: number,
  limits: Limits,
  answerMs: number,
  startedMs: number[] = [],
): readonly PolledCustomer[] {
  async function exchange(
    { form }: ExchangeRequest,
    signal?: AbortSignal,
  ): Promise<ExchangeResponse> {
    startedMs.push(clock.monotonicMs());
    await clock.sleep(answerMs, signal).catch(() => {
      throw new ServiceError('timeout', 'no answer came');
    });
    const body = Buffer.from(form === undefined ? ROWS : TOKEN);
    const contentType = 'application/json';
    return { status: 200, contentType, retryAfter: undefined, date: undefined, body };
  }
  const service = createService({
    config: {
      baseUrl: 'https://data',
      authUrl: 'https://identity',
      scope: 'ServiceAPI',
      timeoutMs: 10_000,
      requestTimes: 'offset',
      keyTimes: 'local',
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
  function readSecret(): Promise<Secret> {
    return Promise.resolve(new Secret('secret-1'));
  }
  return Array.from({ length: count }, (_, i) => {
    const name = `c${i}`;
    return {
      customer: customerNamed(name),
      client: service.clientFor({ name, clientId: name, readSecret }),
    };
  });
}
