import { afterEach, beforeEach, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { AggregatedResponse } from '../../src/base/model.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { Poller } from '../../src/polling/poller.ts';
import { statusOf } from '../../src/polling/status.ts';
import type { CustomerStatus } from '../../src/polling/status.ts';
import { customerNamed, pollerOn } from '../support/polled.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE_MS = 60_000;
/** Three minutes of one day in Copenhagen, which began at 03:00 UTC. */
const ROWS: AggregatedResponse['rows'] = [
  { key: '2026-11-18T08:01:00+01:00', counts: [5, 0] },
  { key: '2026-11-18T09:15:00+01:00', counts: [4, 2] },
  { key: '2026-11-18T10:59:00+01:00', counts: [0, 1] },
];

let clock: VirtualClock;
let poller: Poller;
let customer: Customer;
let answer: (from: string) => Promise<AggregatedResponse>;

beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2026, 10, 18, 10));
  answer = (from) => {
    const rows = ROWS.filter(({ key }) => Date.parse(String(key)) >= Date.parse(from));
    return Promise.resolve({ aggregation: 'minute', rows });
  };
  customer = customerNamed('riverside');
  poller = pollerOn(clock);
  poller.start();
});
afterEach(() => poller.stop());

function poll(): void {
  poller.setCustomers([{ customer, client: { query: ({ from }) => answer(from) } }]);
}

function statusNow(): CustomerStatus | undefined {
  return statusOf({ customers: [customer], poller, clock }).customers[0];
}

test('before its first poll a customer is known by name, and is being polled', () => {
  poll();
  expect(statusNow()).toMatchObject({
    customer: 'riverside',
    credentialsValid: undefined,
    streams: { people: { up: undefined, polls: 0 } },
  });
  expect(statusNow()?.detail()).toMatchObject({ path: undefined, nextPollInMs: { people: 0 } });
});

test('after it, who is inside is known by quarters of an hour, and when the next poll is due', async () => {
  poll();
  await clock.advance(20_000);
  const status = statusNow();
  expect(status?.streams).toMatchObject({ people: { up: true, polls: 1 } });
  const detail = status?.detail();
  expect(detail?.nextPollInMs).toEqual({ people: 40_000 });
  expect(detail?.figures.occupancy).toBe(6);
  expect(detail?.path).toMatchObject({
    day: { startMs: Date.UTC(2026, 10, 18, 3), endMs: Date.UTC(2026, 10, 19, 3) },
    stepMs: 15 * MINUTE_MS,
    atMs: Date.UTC(2026, 10, 18, 10),
  });
  function quarters(count: number, inside: number): readonly number[] {
    return Array.from({ length: count }, () => inside);
  }
  // From 04:00 to 08:00, 09:15, 10:45 and 11:00.
  expect(detail?.path?.inside.slice(0, 28)).toEqual([
    ...quarters(16, 0),
    ...quarters(5, 5),
    ...quarters(6, 7),
    ...quarters(1, 6),
  ]);
});

test('the path stays while polls fail, longer than the occupancy does, and ends with the day', async () => {
  poll();
  await clock.advance(0);
  answer = () => Promise.reject(new ServiceError('server', 'status 500'));
  await clock.advance(20 * MINUTE_MS);
  expect(statusNow()?.streams.people?.lastError?.message).toBe('status 500');
  expect(statusNow()?.detail().figures.occupancy).toBeUndefined();
  expect(statusNow()?.detail().path?.inside.at(-1)).toBe(6);
  await clock.advance(17 * 60 * MINUTE_MS);
  expect(statusNow()?.detail().path).toBeUndefined();
});

test('what the service said of the credentials is told', () => {
  customer.credentialsJudged(false);
  expect(statusNow()?.credentialsValid).toBe(false);
});

test('somebody whom nothing polls has no next poll', () => {
  expect(statusNow()?.detail().nextPollInMs).toEqual({ people: undefined });
});
