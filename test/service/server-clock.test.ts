/** The service's time by its Date headers, and the warning while the clocks differ. */
import { describe, expect, test, vi } from 'vitest';
import type { Logger } from '../../src/base/log.ts';
import { silentLogger } from '../../src/base/log.ts';
import { ServerClock } from '../../src/service/server-clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { json, peopleBody, status, tokenBody } from '../support/scripted-server.ts';
import { ask, failureOf, start } from './support/harness.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
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
  /** Returns how far the time is ahead of ours. */
  function aheadMs(): number {
    return serverClock.nowMs() - clock.nowMs();
  }
  return { clock, warn, serverClock, arrive, aheadMs };
}

describe('the time', () => {
  test('is ours before the first response', () => {
    expect(startClock().aheadMs()).toBe(0);
  });

  test.for([
    [58_000, 0, 0],
    [-58_000, 0, 0],
    [HOUR_MS, HOUR_MS, 1],
    [-10 * MINUTE_MS, -10 * MINUTE_MS, 1],
    [25 * HOUR_MS, 0, 1],
    [-20_000 * HOUR_MS, 0, 1],
  ] as const)('of a service %i ms ahead of ours is %i ms ahead, with %i warnings', async (row) => {
    const [serviceAheadMs, expected, warnings] = row;
    const { clock, arrive, aheadMs, warn } = startClock();
    for (const ms of [0, 300, 999]) {
      await clock.advance(ms);
      arrive(serviceAheadMs);
      expect(Math.abs(aheadMs() - expected)).toBeLessThanOrEqual(500);
    }
    expect(warn).toHaveBeenCalledTimes(warnings);
  });

  test('goes on evenly when our clock steps', async () => {
    const { clock, arrive, aheadMs } = startClock();
    arrive(0);
    clock.step(HOUR_MS);
    await clock.advance(MINUTE_MS);
    expect(Math.abs(aheadMs() + HOUR_MS)).toBeLessThanOrEqual(500);
    clock.step(-HOUR_MS);
    expect(aheadMs()).toBe(0);
  });

  test.for([undefined, '', 'now', '1763460000', '2026-11-18T10:00:00Z', 'Thu, 99 Foo 2026 GMT'])(
    'is not read from the header %s',
    (header) => {
      const { serverClock } = startClock();
      serverClock.update(header, 0);
      expect(serverClock.reading()).toBeUndefined();
    },
  );

  test('is read from good responses of data only', async () => {
    const { server, harness } = await start();
    const date = dateHeader(Date.now() + HOUR_MS);
    server.token = json(200, tokenBody(), { date });
    server.data = status(404, { date });
    await failureOf(ask(harness.riverside));
    expect(harness.service.serverClock.reading()).toBeUndefined();
    server.data = json(200, peopleBody([]), { date });
    await ask(harness.riverside);
    expect(harness.service.serverClock.reading()).toMatchObject({ verdict: 'followed' });
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
