/** Where devices are, over restarts. */
import { expect, test } from 'vitest';
import type { KnownPlaces } from '../../src/counting/devices.ts';
import type { StoredDay } from '../../src/storage/database.ts';
import { DailyRows } from '../../src/storage/daily-rows.ts';
import { DEVICE_PLACES } from '../../src/storage/device-places.ts';
import { CALENDAR, NOW_MS } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';

const { startMs: DAY_START_MS } = CALENDAR.dayAt(NOW_MS);
const KNOWN: KnownPlaces = {
  requestedMs: NOW_MS,
  places: new Map([
    ['301', { branch: '101', client: '201' }],
    ['302', { branch: undefined, client: undefined }],
  ]),
};

function stored(disk: readonly StoredDay[]) {
  const customer = customerNamed('riverside');
  const rows = new DailyRows(
    DEVICE_PLACES,
    { daysOf: () => disk },
    () => [customer],
    () => NOW_MS,
  );
  rows.restore(customer);
  return { customer, rows };
}

function rowWith(content: string): StoredDay {
  const { owner } = customerNamed('riverside');
  return { owner, stream: 'devices', replaces: 'all days', dayStartMs: DAY_START_MS, content };
}

test('are written when they are known, and restored', () => {
  const { customer, rows } = stored([]);
  expect([...rows.changedDays(true)]).toEqual([]);
  customer.devices.restore(KNOWN);
  const written = [...rows.changedDays(false)];
  expect(written).toEqual([rowWith(`[${NOW_MS},[["301","101","201"],["302",null,null]]]`)]);
  expect([...rows.changedDays(false)]).toEqual([]);
  const restarted = stored(written);
  expect(restarted.customer.devices.known).toEqual(KNOWN);
  expect([...restarted.rows.changedDays(false)]).toEqual([]);
});

test.each(['no JSON', '7', '[]', '["7",[]]', '[7]', '[7,[7,[],[7,"101","201"]]]'])(
  'what is damaged is ignored: %s',
  (content) => {
    const { customer } = stored([rowWith(content)]);
    expect(customer.devices.known.places.size).toBe(0);
  },
);
