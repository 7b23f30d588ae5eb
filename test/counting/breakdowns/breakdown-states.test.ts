import { expect, test } from 'vitest';
import { BreakdownFixture } from './fixture.ts';

function devicesOf({ customer, nowMs }: BreakdownFixture) {
  const { startMs, month } = customer.periodAt(nowMs);
  const last = customer.calendar.periodStart(month - 1);
  return customer.breakdowns.devicesOf(startMs, last);
}

test('devices that counted anybody are known by when one of their counters last rose', async () => {
  const devices = new BreakdownFixture(
    { '301': [5, 3], '302': [0, 0] },
    { '301': [1, 1] },
    'device',
  );
  expect(devicesOf(devices)).toBeUndefined();
  await devices.poll();
  devices.totalRows = { '301': [5, 4], '302': [0, 0] };
  await devices.polls(1);
  const risenMs = devices.nowMs;
  await devices.polls(1);
  const device = { key: '301', people: 9, excess: 0, lastMs: risenMs, untilMs: devices.nowMs };
  expect(devicesOf(devices)).toEqual([device]);
});

test('a device without counts today counted before the day, whenever it was seen', async () => {
  const devices = new BreakdownFixture({ '301': [5, 3] }, {}, 'device');
  await devices.poll();
  const { startMs } = devices.customer.calendar.dayAt(devices.nowMs);
  expect(devicesOf(devices)).toMatchObject([{ key: '301', lastMs: startMs }]);
});
