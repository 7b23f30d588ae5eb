/** How many lines a minute the log gets when polls fail, one customer's or all of them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { FailureReason } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';
import type { Question, AggregatedResponse } from '../../src/base/model.ts';
import { Calendar } from '../../src/counting/calendar.ts';
import { Customer } from '../../src/counting/customer.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { Zone } from '../../src/counting/zone.ts';
import { Poller } from '../../src/polling/poller.ts';
import type { PolledCustomer } from '../../src/polling/spread.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly minute: number;
  readonly customer?: string;
  readonly reason?: string;
  readonly lines?: number;
  readonly failures_in_a_row?: number;
}

let clock: VirtualClock;
let poller: Poller;
let lines: Line[];

beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2026, 10, 18, 10));
  lines = [];
  poller = new Poller({
    clock,
    log: createLogger({
      level: 'info',
      format: 'json',
      nowMs: () => clock.nowMs(),
      write(line) {
        const minute = Math.floor(clock.monotonicMs() / MINUTE_MS);
        lines.push({ ...(JSON.parse(line) as Line), minute });
      },
    }),
    observer: { pollEnded() {}, changed() {} },
    intervalMs: MINUTE_MS,
    reconcileIntervalMs: 60 * MINUTE_MS,
    breakdownIntervalMs: 5 * MINUTE_MS,
    maxConcurrency: 1_000,
    maxRequestsPerSecond: 1_000_000,
  });
});
afterEach(async () => {
  await poller.stop();
});

const zone = new Zone('Europe/Copenhagen');

function polled(
  name: string,
  answer: (question: Question) => Promise<AggregatedResponse>,
): PolledCustomer {
  const customer = new Customer({
    name,
    timezone: zone.name,
    description: { labels: {}, capacity: undefined, openingHours: undefined },
    calendar: new Calendar(zone, { hour: 4, minute: 0 }),
    streams: ['people'],
    owner: { service: 's', clientId: name, customer: name },
    marks: new HighWaterMarks(),
  });
  return { customer, client: { query: (question) => answer(question) } };
}

function good(): Promise<AggregatedResponse> {
  return Promise.resolve({ aggregation: 'minute', rows: [{ key: 600, counts: [3, 1] }] });
}

function bad(reason: FailureReason = 'server'): Promise<AggregatedResponse> {
  return Promise.reject(new ServiceError(reason, `this poll failed by ${reason}`));
}

/** Whether the poll that asks now is good, by the number of the minute. */
function goodAt(isGood: (minute: number) => boolean): () => Promise<AggregatedResponse> {
  return () => (isGood(Math.floor(clock.monotonicMs() / MINUTE_MS)) ? good() : bad());
}

function poll(...customers: readonly PolledCustomer[]): void {
  poller.start();
  poller.setCustomers(customers);
}

/** The largest number of lines in any minute. */
function mostInAMinute(): number {
  const byMinute = Map.groupBy(lines, ({ minute }) => minute);
  return Math.max(...[...byMinute.values()].map(({ length }) => length));
}

describe('one customer', () => {
  test('that fails for a day is told at its failures 1, 10, 100 and 1,000, and at the end', async () => {
    poll(
      polled(
        'riverside',
        goodAt((minute) => minute >= 1_440),
      ),
    );
    await clock.advance(DAY_MS + 5 * MINUTE_MS);
    expect(lines.map(({ level, msg, failures_in_a_row: row }) => [level, msg, row])).toEqual([
      ['warn', 'poll failed', 1],
      ['warn', 'poll failed', 10],
      ['warn', 'poll failed', 100],
      ['warn', 'poll failed', 1_000],
      ['info', 'polls are good again', 1_440],
    ]);
  });

  test('whose polls are good and bad in turn for a day is told three times, each with its end', async () => {
    poll(
      polled(
        'riverside',
        goodAt((minute) => minute % 2 === 0),
      ),
    );
    await clock.advance(DAY_MS);
    const told = lines.map(({ msg }) => msg).filter((msg) => msg.startsWith('poll'));
    expect(told).toEqual([
      'poll failed',
      'polls are good again',
      'poll failed',
      'polls are good again',
      'poll failed',
      'polls are good again',
    ]);
  });

  test('that fails again after ten good polls is news', async () => {
    poll(
      polled(
        'riverside',
        goodAt((minute) => minute % 20 !== 0),
      ),
    );
    await clock.advance(59 * MINUTE_MS);
    expect(lines.filter(({ msg }) => msg === 'poll failed')).toHaveLength(3);
  });

  test('that begins to fail in another way is told once for each way', async () => {
    const reasons = ['server', 'timeout'] as const;
    let polls = 0;
    poll(polled('riverside', () => bad(reasons[polls++ % 2])));
    await clock.advance(7 * MINUTE_MS);
    expect(lines.map(({ reason }) => reason)).toEqual(['server', 'timeout']);
  });

  test('whose answers are not believed at every second poll does not fill the log', async () => {
    let polls = 0;
    // Nobody, and then many more than ever: neither is believed before it has come again.
    poll(
      polled('riverside', () => {
        polls += 1;
        const counts = [polls % 2 === 0 ? 5_000_000 * polls : 0, 0];
        return Promise.resolve({ aggregation: 'minute', rows: [{ key: 600, counts }] });
      }),
    );
    await clock.advance(300 * MINUTE_MS);
    const told = Map.groupBy(lines, ({ msg }) => msg);
    expect(told.size).toBeGreaterThan(0);
    for (const [msg, times] of told) {
      expect([msg, times.length <= 3]).toEqual([msg, true]);
    }
  });
});

describe('a thousand customers', () => {
  function thousand(answer: () => Promise<AggregatedResponse>): readonly PolledCustomer[] {
    return Array.from({ length: 1_000 }, (_, i) => polled(`library-${i}`, answer));
  }

  test('that fail at once get 40 lines a minute at most, and the rest is counted', async () => {
    poll(...thousand(() => bad()));
    await clock.advance(12 * MINUTE_MS);
    expect(mostInAMinute()).toBeLessThanOrEqual(41);
    const told = lines.filter(({ msg }) => msg === 'poll failed').length;
    expect(told).toBeGreaterThan(20);
    const leftOut = lines.filter(({ msg }) => msg.includes('left out'));
    const sum = leftOut.reduce((total, { lines: count = 0 }) => total + count, 0);
    // Each customer's first and tenth failure, told or left out.
    expect(told + sum).toBe(2_000);
  });

  test('that come back at once are told of where their failure was told', async () => {
    poll(...thousand(goodAt((minute) => minute >= 5)));
    await clock.advance(15 * MINUTE_MS);
    const failed = lines.filter(({ msg }) => msg === 'poll failed');
    const back = lines.filter(({ msg }) => msg === 'polls are good again');
    expect(failed.length).toBeGreaterThan(10);
    expect(new Set(back.map(({ customer }) => customer))).toEqual(
      new Set(failed.map(({ customer }) => customer)),
    );
    expect(mostInAMinute()).toBeLessThanOrEqual(60);
  });

  test('whose polls are good and bad in turn stay within the same bound', async () => {
    poll(...thousand(goodAt((minute) => minute % 2 === 0)));
    await clock.advance(15 * MINUTE_MS);
    expect(lines.length).toBeGreaterThan(20);
    expect(mostInAMinute()).toBeLessThanOrEqual(60);
    expect(lines.length).toBeLessThanOrEqual(2 * (20 + 15 * 20) + 15);
  });
});

test('a customer that is not polled any more is forgotten, and is news when it comes back', async () => {
  poll(polled('riverside', () => bad()));
  await clock.advance(5 * MINUTE_MS);
  poller.setCustomers([]);
  await clock.advance(MINUTE_MS);
  poller.setCustomers([polled('riverside', () => bad())]);
  await clock.advance(MINUTE_MS);
  expect(lines.map(({ failures_in_a_row: row }) => row)).toEqual([1, 1]);
});
