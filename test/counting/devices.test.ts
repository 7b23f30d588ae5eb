/** Where people counters are: when records are requested, of which window, and what they show. */
import { beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { ServiceError } from '../../src/base/errors.ts';
import type { Page, PageQuery } from '../../src/base/model.ts';
import { INITIAL_BREAKDOWN } from '../../src/counting/breakdowns/poll-breakdown.ts';
import { createPast, daysBefore } from '../../src/counting/past/past.ts';
import { DayCounter } from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { CALENDAR, NOVEMBER, NOW_MS } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';
import { pageOf } from '../support/responses.ts';

const TODAY = CALENDAR.dayAt(NOW_MS);

type Id = number | null;

/** A record of a device, with the ids of its branch and client. */
function record(device: Id, branch: Id, client: Id = 201, serverTime: string | null = null) {
  return ['p-1', 1, 'Door', null, serverTime, null, 'in', 'Staffed', 7, branch, client, device];
}

/** A customer whose devices and people are polled, and whose records are read, as a test says. */
class PolledDevices {
  readonly customer = customerNamed('riverside');
  readonly requests: PageQuery[] = [];
  nowMs: number;
  page: Page | ServiceError = pageOf();

  constructor(nowMs = NOW_MS) {
    this.nowMs = nowMs;
    this.customer.breakdowns.configure(['branch', 'device']);
  }

  get devices() {
    return this.customer.devices;
  }

  /** Polls a breakdown: totals of the month by key. */
  poll(totals: Readonly<Record<string, number>>, breakdown: 'branch' | 'device' = 'device'): void {
    const counts = new Map(Object.entries(totals).map(([key, total]) => [key, [total, 0]]));
    const [period, day] = [CALENDAR.periodAt(this.nowMs), CALENDAR.dayAt(this.nowMs)];
    const at = { period, day, atMs: this.nowMs };
    const snapshot = { ...at, totals: counts, today: counts, droppedKeys: 0 };
    const state = { ...INITIAL_BREAKDOWN, snapshot };
    this.customer.breakdownSucceeded(breakdown, { state, result: 'accepted' }, this.nowMs);
  }

  /** Takes people of the customer: how many entered so many minutes ago. Today or the past may be unknown. */
  count(entered: Readonly<Record<number, number>>, unknown?: 'today' | 'past'): void {
    const counter = new DayCounter(CALENDAR, [...daysBefore(CALENDAR, TODAY), TODAY], 'people');
    for (const [minutesAgo, people] of Object.entries(entered)) {
      counter.add(NOW_MS - Number(minutesAgo) * MINUTE_MS, [people, 0]);
    }
    const past = [...counter.days()];
    const [counts] = past.splice(-1) as [DayCounts];
    const { days } = this.customer.streamOf('people');
    const [atMs, endMs] = [this.nowMs, this.nowMs];
    const minutes = { counts, atMs, endMs, lastSeenMs: undefined };
    days.counted({ day: TODAY, atMs, minutes: unknown === 'today' ? undefined : minutes });
    if (unknown !== 'past') {
      days.pastRead(createPast(CALENDAR, TODAY, past));
    }
  }

  /** Requests records if they are due. */
  async read(page = this.page): Promise<void> {
    this.page = page;
    await this.devices.readPlaces(
      (query) => {
        this.requests.push(query);
        return page instanceof ServiceError ? Promise.reject(page) : Promise.resolve(page);
      },
      NOVEMBER,
      this.nowMs,
    );
  }

  /** Requests records after so many days. Returns the window of the request; undefined if there is none. */
  async readAfter(days: number): Promise<readonly (string | undefined)[] | undefined> {
    this.nowMs = NOW_MS + days * DAY_MS;
    this.requests.length = 0;
    await this.read();
    return this.requests.map(({ from, to }) => [from, to].map((time) => time?.slice(5, 16)))[0];
  }

  get places() {
    const places = [...this.devices.known.places];
    return Object.fromEntries(
      places.map(([device, { branch, client }]) => [device, [branch, client]]),
    );
  }
}

let polled: PolledDevices;
beforeEach(() => {
  polled = new PolledDevices();
});

describe('records', () => {
  test('show the ids of branch and client of exported devices, as far as they have them', async () => {
    polled.poll({ 301: 1, 302: 1, 303: 1 });
    const known = [record(301, 101, 201), record(302, null, 202), record(303, 102, null)];
    await polled.read(pageOf(...known, record(999, 101), record(null, 101)));
    expect(polled.places).toEqual({
      301: ['101', '201'],
      302: [undefined, '202'],
      303: ['102', undefined],
    });
  });

  test.each([
    ['the newest of a device wins', ['2026-11-18T09:00:00Z', '2026-11-18T08:00:00Z'], '101'],
    ['also if times are the same', ['2026-11-18T09:00:00Z', '2026-11-18T09:00:00Z'], '102'],
    ['or the first one is', [null, '2026-11-18T08:00:00Z'], '102'],
  ])('%s', async (_, [first, second], branch) => {
    polled.poll({ 301: 1 });
    await polled.read(pageOf(record(301, 101, 201, first), record(301, 102, 201, second)));
    expect(polled.places[301]?.[0]).toBe(branch);
  });

  test('that are newer show that a device was moved, older ones do not', async () => {
    polled.poll({ 301: 1, 302: 1 });
    await polled.read(pageOf(record(301, 101)));
    polled.page = pageOf(record(301, 102));
    await polled.readAfter(1);
    expect(polled.places).toEqual({ 301: ['101', '201'] });
    polled.nowMs = NOW_MS + 3 * DAY_MS;
    polled.poll({ 301: 1, 302: 4 });
    await polled.readAfter(3);
    expect(polled.places).toEqual({ 301: ['102', '201'] });
  });
});

describe('a request', () => {
  beforeEach(() => {
    polled.poll({ 301: 1 });
  });

  test('is for a page of ids, and none is sent before a device has counted', async () => {
    const quiet = new PolledDevices();
    await quiet.read();
    quiet.poll({ 301: 0 });
    await quiet.read();
    expect(quiet.requests).toEqual([]);
    await polled.read();
    const question = { endpoint: 'peoplecount', limit: 1000, includePatronFields: false };
    expect(polled.requests).toEqual([{ ...question, from: '2026-11-17T11:01:00+01:00' }]);
  });

  test('is sent once a day while a device is unknown', async () => {
    polled.poll({ 301: 1, 302: 1 });
    await polled.read(pageOf(record(301, 101)));
    expect(await polled.readAfter(0.999)).toBeUndefined();
    expect(polled.devices.isDue(NOVEMBER, NOW_MS + 0.999 * DAY_MS)).toBe(false);
    expect(polled.devices.isDue(NOVEMBER, NOW_MS + DAY_MS)).toBe(true);
    polled.page = pageOf(record(302, 101));
    expect(await polled.readAfter(1)).toBeDefined();
    expect(await polled.readAfter(2)).toBeUndefined();
    polled.poll({ 301: 1, 302: 1, 303: 1 });
    expect(await polled.readAfter(3)).toBeDefined();
  });

  test('is not sent after a restart on the same day, but if the clock was set back by more than a day', async () => {
    await polled.read();
    const restarted = new PolledDevices();
    restarted.devices.restore(polled.devices.known);
    restarted.poll({ 301: 1 });
    expect(await restarted.readAfter(0.5)).toBeUndefined();
    expect(await restarted.readAfter(1)).toBeDefined();
    expect(await restarted.readAfter(-1)).toBeDefined();
  });

  test('has a window in which not more people were counted than a page has records', async () => {
    polled.count({ 10: 400, 60: 600, [26 * 60]: 1 });
    expect(await polled.readAfter(0)).toEqual(['11-17T09:15', undefined]);
  });

  test('is not shorter for people who came after its end', async () => {
    const earlier = new PolledDevices(NOW_MS - 12 * HOUR_MS);
    earlier.poll({ 301: 1 });
    earlier.count({ 10: 4_000, [11.5 * 60]: 600, [14 * 60]: 600, [16 * 60]: 600 });
    expect(await earlier.readAfter(0)).toEqual(['11-17T19:15', '11-17T23:01']);
  });

  test.each(['today', 'past'] as const)('is for a day while %s is unknown', async (unknown) => {
    polled.count({}, unknown);
    expect(await polled.readAfter(0)).toEqual(['11-17T11:01', undefined]);
  });

  test('has a quarter-hour at least, and four weeks at most', async () => {
    polled.count({});
    expect(await polled.readAfter(0)).toEqual(['10-21T04:00', undefined]);
    const busy = new PolledDevices(NOW_MS - MINUTE_MS);
    busy.poll({ 301: 1 });
    busy.count({ 10: 4_000 });
    expect(await busy.readAfter(0)).toEqual(['11-18T10:45', undefined]);
  });

  test('ends when an unknown device counted last, with each day a day earlier, for two weeks', async () => {
    const ends: (string | undefined)[] = [];
    for (let days = 0; days < 20; days += 1) {
      ends.push((await polled.readAfter(days))?.[1]);
    }
    expect(ends.slice(0, 4)).toEqual([undefined, '11-17T11:01', '11-16T11:01', '11-15T11:01']);
    expect(ends.slice(13)).toEqual(['11-05T11:01', ...Array<undefined>(6).fill(undefined)]);
  });

  test.each([
    ['fewer records once the service has refused so many', 'rejected', [100, '10:15']],
    ['as many records after another failure', 'server', [1000, '04:00']],
  ] as const)('is for %s', async (_, reason, second) => {
    polled.count({ 10: 40, 60: 80 });
    await expect(polled.read(new ServiceError(reason, 'refused'))).rejects.toThrow('refused');
    await polled.read(pageOf(record(301, 101)));
    const requests = polled.requests.map(({ limit, from }) => [limit, from?.slice(11, 16)]);
    expect(requests).toEqual([[1000, '04:00'], second]);
    expect(polled.places).toEqual({ 301: ['101', '201'] });
  });

  test('that is answered with sums shows nothing', async () => {
    await polled.read({ aggregation: 'day' });
    expect(polled.places).toEqual({});
    expect(await polled.readAfter(0.5)).toBeUndefined();
  });
});

describe('the devices of a building', () => {
  function sharesOf(buildings: 'one' | 'branches') {
    const devices = polled.devices.countedIn(NOVEMBER) ?? [];
    const bySite = polled.devices.bySite(devices, NOVEMBER, buildings);
    return [...bySite].map(([site, ofSite]) => [site, ofSite.map(({ share }) => share)]);
  }
  function missed() {
    const { device } = polled.customer.metricsAt(NOW_MS).breakdowns;
    return device?.keys.map((key) => key.device?.missed);
  }

  test('have shares of the people of their branch, and those of an unknown one are left out', async () => {
    polled.poll({ 301: 30, 302: 10, 303: 80, 304: 7, 305: 7, 306: 7 });
    polled.poll({ 101: 40, 102: 70 }, 'branch');
    const known = [record(301, 101), record(302, 101), record(303, 102), record(304, 103)];
    await polled.read(pageOf(...known, record(305, null)));
    expect(sharesOf('branches')).toStrictEqual([
      ['101', [0.75, 0.25]],
      // The branch was polled earlier.
      ['102', [1]],
      ['103', [0]],
    ]);
    expect(missed()).toEqual(Array(6).fill(undefined));
  });

  test('have shares of the people of all, and miss these since they counted, where that is one', () => {
    polled.nowMs -= HOUR_MS;
    polled.poll({ 301: 30, 302: 10 });
    expect(sharesOf('one')).toEqual([[null, [0.75, 0.25]]]);
    polled.nowMs = NOW_MS;
    polled.poll({ 301: 30, 302: 20 });
    for (const unknown of ['past', 'today'] as const) {
      polled.count({ 10: 20 }, unknown);
      expect(missed()).toEqual([undefined, undefined]);
    }
    polled.count({ 10: 20 });
    expect(missed()).toEqual([12, 0]);
  });

  test('counted in this month or in the last one; there are none where they are not polled', () => {
    polled.nowMs = NOVEMBER.startMs - DAY_MS;
    polled.poll({ 301: 1 });
    expect(polled.devices.countedIn(NOVEMBER)).toBeUndefined();
    polled.nowMs = NOW_MS;
    polled.poll({ 301: 0, 302: 0, 303: 1 });
    expect(polled.devices.countedIn(NOVEMBER)?.map(({ key }) => key)).toEqual(['301', '303']);
    polled.customer.breakdowns.configure(['branch']);
    expect(polled.devices.countedIn(NOVEMBER)).toEqual([]);
  });
});
