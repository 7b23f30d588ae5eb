/** How far the service's clock is ahead by its Date headers, the warning while it differs, and the limit of polls. */
import { describe, expect, test, vi } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { Logger } from '../../src/base/log.ts';
import { silentLogger } from '../../src/base/log.ts';
import { askedByRightClock, ServerClock } from '../../src/service/server-clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { json, peopleBody, status, tokenBody } from '../support/scripted-server.ts';
import { ask, failureOf, start } from './support/harness.ts';

const NOW_MS = Date.UTC(2026, 10, 18, 10);

/** Writes a Date header in whole seconds, as servers do. */
function dateHeader(ms: number): string {
  return new Date(ms).toUTCString();
}

function startClock() {
  const clock = new VirtualClock(NOW_MS);
  const warn = vi.fn<Logger['warn']>();
  const serverClock = new ServerClock(clock, { ...silentLogger, warn });
  /** A response arrives from a service whose clock is ahead. */
  function arrive(aheadMs: number, durationMs = 0): void {
    serverClock.update(dateHeader(clock.nowMs() + aheadMs), durationMs);
  }
  return { clock, warn, serverClock, arrive };
}

describe('how far it is ahead', () => {
  test.for([
    [58_000, 0],
    [HOUR_MS, 1],
    [-10 * MINUTE_MS, 1],
  ] as const)('is known to half a second: %i ms, %i warnings', async ([aheadMs, warnings]) => {
    const { clock, arrive, serverClock, warn } = startClock();
    for (const ms of [0, 300, 999]) {
      await clock.advance(ms);
      arrive(aheadMs);
      expect(Math.abs((serverClock.aheadMs ?? NaN) - aheadMs)).toBeLessThanOrEqual(500);
    }
    expect(warn).toHaveBeenCalledTimes(warnings);
  });

  test('is not known after a response without a date', () => {
    const { serverClock, arrive } = startClock();
    for (const header of [undefined, '1763460000', 'Thu, 99 Foo 2026 GMT']) {
      arrive(HOUR_MS);
      serverClock.update(header, 0);
      expect(serverClock.aheadMs).toBeUndefined();
    }
  });

  test('is read from good responses of data only', async () => {
    const { server, harness } = await start();
    const date = dateHeader(Date.now() + HOUR_MS);
    server.token = json(200, tokenBody(), { date });
    server.data = status(404, { date });
    await failureOf(ask(harness.riverside));
    expect(harness.service.serverClock.aheadMs).toBeUndefined();
    server.data = json(200, peopleBody([]), { date });
    await ask(harness.riverside);
    expect(harness.service.serverClock.aheadMs).toBeGreaterThan(HOUR_MS - MINUTE_MS);
  });
});

describe('the warning', () => {
  test('assumes that the header was written in the middle of the request', () => {
    const { arrive, warn } = startClock();
    arrive(35_000, 40_000);
    expect(warn).not.toHaveBeenCalled();
    arrive(61_000, 40_000);
    expect(warn.mock.lastCall?.[1]).toEqual({ service_ahead_seconds: 82 });
  });

  test('is logged at most once an hour, while the clocks differ', async () => {
    const { clock, arrive, warn } = startClock();
    for (let minute = 0; minute < 300; minute++) {
      arrive(minute % 2 === 0 ? HOUR_MS : 0);
      await clock.advance(MINUTE_MS);
    }
    expect(warn).toHaveBeenCalledTimes(5);
  });
});

test.for([
  [0, 0, /^response$/],
  [0, 7 * HOUR_MS, /they differ by more than 6 h$/],
  [7 * HOUR_MS, 0, /they differ by more than 6 h$/],
  [-7 * HOUR_MS, -7 * HOUR_MS, /they differ by more than 6 h$/],
  [-2 * MINUTE_MS, 0, /a counter last rose at/],
  [-MINUTE_MS, 0, /^response$/],
] as const)('a clock %i, then %i ms ahead: %s', async ([askedMs, respondedMs, outcome]) => {
  const virtual = new VirtualClock(NOW_MS);
  const clock = virtual.process();
  const serverClock = new ServerClock(clock, silentLogger);
  async function ask(): Promise<string> {
    await virtual.advance(1_000);
    clock.aheadMs = respondedMs;
    serverClock.update(dateHeader(virtual.nowMs()), 1_000);
    return 'response';
  }
  clock.aheadMs = askedMs;
  const asked = askedByRightClock(ask, clock, serverClock, () => NOW_MS);
  expect(await asked.catch(String)).toMatch(outcome);
});
