import { beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { ServerClock } from '../../src/service/server-clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { json, peopleAnswer, status, tokenAnswer } from './support/fake-service.ts';
import { ask, failureOf, start } from './support/harness.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW_MS = Date.UTC(2026, 10, 18, 10);

const DIFFERS = 'service clock differs by more than a minute';

let clock: VirtualClock;
let lines: { msg: string; service_ahead_seconds: number }[];
let serverClock: ServerClock;

beforeEach(() => {
  clock = new VirtualClock(NOW_MS);
  lines = [];
  const log = createLogger({
    level: 'info',
    format: 'json',
    write: (line) => lines.push(JSON.parse(line) as (typeof lines)[number]),
    nowMs: () => clock.nowMs(),
  });
  serverClock = new ServerClock(clock, log);
});

/** As a server writes it: in whole seconds. */
function dateHeader(ms: number): string {
  return new Date(ms).toUTCString();
}

function answered(aheadMs: number, durationMs = 0): void {
  serverClock.update(dateHeader(clock.nowMs() + aheadMs), durationMs);
}

describe('the time', () => {
  test('is ours before the first answer, and while the clocks differ by less than a minute', () => {
    expect(serverClock.nowMs()).toBe(NOW_MS);
    for (const aheadMs of [58_000, -58_000]) {
      answered(aheadMs);
      expect(serverClock.nowMs()).toBe(NOW_MS);
    }
    expect(lines).toEqual([]);
  });

  test.for([HOUR_MS, -10 * MINUTE_MS])(
    'is the service’s within half a second when that is %i ms ahead',
    async (aheadMs) => {
      for (const ms of [0, 300, 999]) {
        await clock.advance(ms);
        answered(aheadMs);
        expect(Math.abs(serverClock.nowMs() - clock.nowMs() - aheadMs)).toBeLessThanOrEqual(500);
      }
    },
  );

  test('goes on evenly when our clock steps', async () => {
    answered(0);
    clock.step(HOUR_MS);
    await clock.advance(MINUTE_MS);
    expect(Math.abs(serverClock.nowMs() - NOW_MS - MINUTE_MS)).toBeLessThanOrEqual(500);
    clock.step(-HOUR_MS);
    expect(serverClock.nowMs()).toBe(clock.nowMs());
  });

  test('is ours when the service is more than a day off, with a warning', () => {
    serverClock.update('Thu, 01 Jan 1970 00:00:00 GMT', 0);
    expect(serverClock.nowMs()).toBe(NOW_MS);
    expect(lines).toMatchObject([{ msg: DIFFERS }]);
  });

  test.for([undefined, '', 'now', '1763460000', '2026-11-18T10:00:00Z', 'Thu, 99 Foo 2026 GMT'])(
    'is not read from the header %s',
    (header) => {
      serverClock.update(header, 0);
      expect(serverClock.reading()).toBeUndefined();
    },
  );
});

describe('the log', () => {
  test('assumes that the header was written in the middle of the request', () => {
    serverClock.update(dateHeader(NOW_MS - 40_000 + 75_000), 40_000);
    expect(lines).toEqual([]);
    serverClock.update(dateHeader(NOW_MS - 40_000 + 101_000), 40_000);
    expect(lines).toMatchObject([{ msg: DIFFERS, service_ahead_seconds: 82 }]);
  });

  test('warns at most once an hour, while the clocks differ', async () => {
    for (let minute = 0; minute < 300; minute++) {
      answered(minute % 2 === 0 ? HOUR_MS : 0);
      await clock.advance(MINUTE_MS);
    }
    expect(lines.map(({ msg }) => msg)).toEqual(Array(5).fill(DIFFERS));
  });
});

test('a service is read by its good answers of data only', async () => {
  const { fake, harness } = await start();
  const date = dateHeader(Date.now() + HOUR_MS);
  fake.token = json(200, tokenAnswer(), { date });
  fake.data = status(404, { date });
  await failureOf(ask(harness.riverside));
  expect(harness.service.clockReading()).toBeUndefined();
  fake.data = json(200, peopleAnswer([]), { date });
  await ask(harness.clientFor('hillside'));
  expect(harness.service.clockReading()).toMatchObject({ verdict: 'followed' });
});
