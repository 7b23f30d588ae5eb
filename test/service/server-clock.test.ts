import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { Secret } from '../../src/base/secret.ts';
import { createService } from '../../src/service/service.ts';
import { ServerClock } from '../../src/service/server-clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW_MS = Date.UTC(2026, 10, 18, 10);

const DIFFER = 'warn: service clock differs by more than a minute';
const AGREE = 'info: service clock in sync again';

let clock: VirtualClock;
let lines: { level: string; msg: string; service_ahead_seconds: number }[];
let serverClock: ServerClock;

function logOf() {
  return createLogger({
    level: 'info',
    format: 'json',
    write: (line) => lines.push(JSON.parse(line) as (typeof lines)[number]),
    nowMs: () => clock.nowMs(),
  });
}

function told(): string[] {
  return lines.map(({ level, msg }) => `${level}: ${msg}`);
}

beforeEach(() => {
  clock = new VirtualClock(NOW_MS);
  lines = [];
  serverClock = new ServerClock(clock, logOf());
});

/** As a server writes it: without what is less than a second. */
function dateHeader(ms: number): string {
  return new Date(ms).toUTCString();
}

function answered(aheadMs: number, durationMs = 0): void {
  serverClock.update(dateHeader(clock.nowMs() + aheadMs), durationMs);
}

describe("the service's clock", () => {
  test('is ours before the first answer, and as long as they differ by less than a minute', () => {
    expect(serverClock.nowMs()).toBe(NOW_MS);
    answered(58_000);
    expect(serverClock.nowMs()).toBe(NOW_MS);
    answered(-58_000);
    expect(serverClock.nowMs()).toBe(NOW_MS);
    expect(lines).toEqual([]);
  });

  test.each([HOUR_MS, -HOUR_MS, 10 * MINUTE_MS, -10 * MINUTE_MS])(
    'is known to half a second when it is %i ms ahead',
    async (aheadMs) => {
      for (const ms of [0, 300, 999]) {
        await clock.advance(ms);
        answered(aheadMs);
        expect(Math.abs(serverClock.nowMs() - clock.nowMs() - aheadMs)).toBeLessThanOrEqual(500);
      }
    },
  );

  test('goes on evenly when ours steps', async () => {
    answered(0);
    clock.step(HOUR_MS);
    await clock.advance(MINUTE_MS);
    expect(Math.abs(serverClock.nowMs() - NOW_MS - MINUTE_MS)).toBeLessThanOrEqual(500);
    clock.step(-HOUR_MS);
    expect(serverClock.nowMs()).toBe(clock.nowMs());
  });

  test('is measured at the middle of the request', () => {
    // Written at once, and 40 seconds on the way; the other way round.
    serverClock.update(dateHeader(NOW_MS - 40_000 + 75_000), 40_000);
    serverClock.update(dateHeader(NOW_MS - 75_000), 40_000);
    expect(lines).toEqual([]);
    serverClock.update(dateHeader(NOW_MS - 40_000 + 101_000), 40_000);
    expect(told()).toEqual([DIFFER]);
    expect(lines[0]?.service_ahead_seconds).toBe(82);
  });

  test('is told once when it is more than a minute off, and once when it is right again', () => {
    for (let i = 0; i < 300; i++) {
      answered(2 * MINUTE_MS);
      clock.freeze(MINUTE_MS);
    }
    expect(told()).toEqual([DIFFER]);
    expect(lines[0]?.service_ahead_seconds).toBeCloseTo(120, -1);
    for (let i = 0; i < 300; i++) {
      answered(0);
      clock.freeze(MINUTE_MS);
    }
    expect(told()).toEqual([DIFFER, AGREE]);
  });

  test.each([62_000, -62_000])('is off at %i ms, and not at a minute', (aheadMs) => {
    answered(Math.sign(aheadMs) * MINUTE_MS);
    expect(lines).toEqual([]);
    answered(aheadMs);
    expect(told()).toEqual([DIFFER]);
    // Within the resolution of the header nothing is told.
    answered(Math.sign(aheadMs) * MINUTE_MS);
    expect(lines).toHaveLength(1);
  });

  test('is not told at every turn where two servers behind one address differ', async () => {
    for (let i = 0; i < 300; i++) {
      answered(i % 2 === 0 ? HOUR_MS : 0);
      await clock.advance(MINUTE_MS);
    }
    const hours = 5;
    expect(lines.length).toBeLessThanOrEqual(2 * hours);
    expect(lines.length).toBeGreaterThan(2);
  });

  test.each([
    undefined,
    '',
    'now',
    '1763460000',
    '2026-11-18T10:00:00Z',
    'Thu, 99 Foo 2026 10:00:00 GMT',
    'x'.repeat(10_000),
  ])('is not known from a header %s', (header) => {
    serverClock.update(header, 0);
    expect(lines).toEqual([]);
    expect(serverClock.nowMs()).toBe(NOW_MS);
  });

  test('of another year is told, and not counted by', () => {
    serverClock.update('Thu, 01 Jan 1970 00:00:00 GMT', 0);
    expect(told()).toEqual([DIFFER]);
    expect(serverClock.nowMs()).toBe(NOW_MS);
    serverClock.update('Fri, 31 Dec 9999 23:59:59 GMT', 0);
    expect(serverClock.nowMs()).toBe(NOW_MS);
  });
});

describe('the service over HTTP', () => {
  let server: Server;
  /** By how much the clocks of the two servers are ahead. */
  let dataAheadMs = 0;
  let tokenAheadMs = 0;
  let status = 200;

  beforeEach(async () => {
    dataAheadMs = 0;
    tokenAheadMs = 0;
    status = 200;
    server = createServer((request, response) => {
      const token = request.url?.startsWith('/connect') === true;
      const aheadMs = token ? tokenAheadMs : dataAheadMs;
      response.writeHead(token ? 200 : status, {
        'content-type': 'application/json',
        date: dateHeader(clock.nowMs() + aheadMs),
      });
      const body = token
        ? { access_token: 't', expires_in: 3600, token_type: 'Bearer', scope: 'ServiceAPI' }
        : { metadata: { aggregation: 'minute', count: 0 }, result: [] };
      response.end(JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => server.close());

  async function asked(customers: number) {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const service = createService({
      config: {
        baseUrl: url,
        authUrl: url,
        scope: 'ServiceAPI',
        timeoutMs: 5000,
        maxConcurrency: 8,
        maxRequestsPerSecond: 1000,
        proxyUrl: undefined,
        ca: undefined,
      },
      clock,
      random: seededRandom(1),
      observer: { request() {}, credentials() {} },
      log: logOf(),
    });
    const clients = Array.from({ length: customers }, (_, i) =>
      service.clientFor({
        name: `c${i}`,
        clientId: `c${i}`,
        readSecret: () => Promise.resolve(new Secret('correct-horse')),
      }),
    );
    const question = {
      endpoint: 'peoplecount',
      aggregation: 'minute',
      from: '2026-11-18T10:00:00+01:00',
    } as const;
    const answers = clients.map((client) => client.query(question, AbortSignal.timeout(2000)));
    const settled = Promise.allSettled(answers);
    // The limits and the pauses between retries go by the virtual clock.
    for (let i = 0; i < 50; i++) {
      await clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await settled;
    const aheadMs = service.nowMs() - clock.nowMs();
    service.close();
    return aheadMs;
  }

  test('tells its time by its good answers, once for all customers', async () => {
    dataAheadMs = 600_000;
    const aheadMs = await asked(5);
    expect(Math.abs(aheadMs - dataAheadMs)).toBeLessThan(10_000);
    expect(told()).toEqual([DIFFER]);
  });

  test("is not judged by the identity server's clock, nor by refusals", async () => {
    tokenAheadMs = HOUR_MS;
    expect(await asked(1)).toBe(0);
    dataAheadMs = HOUR_MS;
    status = 403;
    expect(await asked(1)).toBe(0);
    expect(lines).toEqual([]);
  });
});
