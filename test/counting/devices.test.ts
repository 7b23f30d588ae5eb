/** Where people counters are: when records are requested, of which window, and what they show. */
import { beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { ServiceError } from '../../src/base/errors.ts';
import type { Page, PageQuery, RawRecord } from '../../src/base/model.ts';
import { INITIAL_BREAKDOWN } from '../../src/counting/breakdowns/poll-breakdown.ts';
import { createPast, daysBefore } from '../../src/counting/past/past.ts';
import { DayCounter } from '../../src/counting/rows/day-counts.ts';
import { CALENDAR, NOVEMBER, NOW_MS } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';

const TODAY = CALENDAR.dayAt(NOW_MS);

/** A record of a device at an instant, with the ids of its branch and client. */
function record(
  device: number | null,
  branch: number | null,
  client: number | null = 201,
  serverTime: string | null = '2026-11-18T10:00:00Z',
): RawRecord {
  return ['p-1', 1, 'Door', null, serverTime, null, 'in', 'Staffed', 7, branch, client, device];
}

function pageOf(...records: readonly RawRecord[]): Page {
  return { aggregation: undefined, records, metadata: {}, startToken: undefined };
}

/** A customer whose devices and people are polled, and whose records are read, as a test says. */
class PolledDevices {
  readonly customer = customerNamed('riverside');
  readonly requests: PageQuery[] = [];
  nowMs = NOW_MS;
  page: Page | ServiceError = pageOf();

  constructor() {
    this.customer.breakdowns.configure(['branch', 'device']);
  }

  get devices() {
    return this.customer.devices;
  }

  /** Polls a breakdown: totals of the month by key. */
  poll(totals: Readonly<Record<string, number>>, breakdown: 'branch' | 'device' = 'device'): this {
    const day = CALENDAR.dayAt(this.nowMs);
    const counts = new Map(Object.entries(totals).map(([key, total]) => [key, [total, 0]]));
    const period = CALENDAR.periodAt(this.nowMs);
    const snapshot = { period, day, atMs: this.nowMs, totals: counts, today: counts };
    const state = { ...INITIAL_BREAKDOWN, snapshot: { ...snapshot, droppedKeys: 0 } };
    this.customer.breakdownSucceeded(breakdown, { state, result: 'accepted' }, this.nowMs);
    return this;
  }

  /** Takes people of the customer: how many entered at each instant. Today or the past may be unknown. */
  count(
    entered: readonly (readonly [atMs: number, people: number])[],
    unknown?: 'today' | 'past',
  ): void {
    const past = daysBefore(CALENDAR, TODAY);
    const counter = new DayCounter(CALENDAR, [...past, TODAY], 'people');
    entered.forEach(([atMs, people]) => counter.add(atMs, [people, 0]));
    const days = counter.days();
    const [counts] = days.slice(-1);
    if (counts === undefined) {
      throw new Error('no day');
    }
    const { days: people } = this.customer.streamOf('people');
    const [atMs, endMs] = [this.nowMs, this.nowMs];
    const minutes = { counts, atMs, endMs, lastSeenMs: undefined };
    people.counted({ day: TODAY, atMs, minutes: unknown === 'today' ? undefined : minutes });
    if (unknown !== 'past') {
      people.pastRead(createPast(CALENDAR, TODAY, days.slice(0, -1)));
    }
  }

  /** Requests records if they are due. */
  async read(): Promise<void> {
    await this.devices.readPlaces(
      (query) => {
        this.requests.push(query);
        const { page } = this;
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
    return Object.fromEntries(
      Array.from(this.devices.known.places, ([device, { branch, client }]) => [
        device,
        [branch, client],
      ]),
    );
  }
}

let polled: PolledDevices;
beforeEach(() => {
  polled = new PolledDevices();
});

describe('records', () => {
  test('show the ids of branch and client, as far as they have them', async () => {
    polled.poll({ 301: 1, 302: 1, 303: 1 });
    polled.page = pageOf(record(301, 101, 201), record(302, null, 202), record(303, 102, null));
    await polled.read();
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
  ])('%s', async (_, [first = null, second = null], branch) => {
    polled.poll({ 301: 1 });
    polled.page = pageOf(record(301, 101, 201, first), record(301, 102, 201, second));
    await polled.read();
    expect(polled.places[301]?.[0]).toBe(branch);
  });

  test('of devices that are not exported are forgotten', async () => {
    polled.poll({ 301: 1 });
    polled.page = pageOf(record(301, 101), record(999, 101), record(null, 101));
    await polled.read();
    expect(polled.places).toEqual({ 301: ['101', '201'] });
  });

  test('that are newer show that a device was moved, older ones do not', async () => {
    polled.poll({ 301: 1, 302: 1 });
    polled.page = pageOf(record(301, 101));
    await polled.read();
    polled.page = pageOf(record(301, 102));
    await polled.readAfter(1);
    expect(polled.places).toEqual({ 301: ['101', '201'] });
    polled.poll({ 301: 1, 302: 2 });
    await polled.readAfter(2);
    polled.poll({ 301: 1, 302: 3 });
    expect(await polled.readAfter(2)).toBeUndefined();
    polled.nowMs = NOW_MS + 3 * DAY_MS;
    polled.poll({ 301: 1, 302: 4 });
    await polled.readAfter(3);
    expect(polled.places).toEqual({ 301: ['102', '201'] });
  });
});

describe('a request', () => {
  test('is for a page of ids, and none is sent before a device has counted', async () => {
    await polled.read();
    polled.poll({ 301: 0 });
    await polled.read();
    expect(polled.requests).toEqual([]);
    polled.poll({ 301: 1 });
    await polled.read();
    expect(polled.requests).toEqual([
      {
        endpoint: 'peoplecount',
        limit: 1000,
        from: '2026-11-17T11:01:00+01:00',
        includePatronFields: false,
      },
    ]);
  });

  test('is sent once a day while a device is unknown', async () => {
    polled.poll({ 301: 1, 302: 1 });
    polled.page = pageOf(record(301, 101));
    await polled.read();
    expect(await polled.readAfter(0.999)).toBeUndefined();
    expect(polled.devices.isDue(NOVEMBER, NOW_MS + 0.999 * DAY_MS)).toBe(false);
    expect(polled.devices.isDue(NOVEMBER, NOW_MS + DAY_MS)).toBe(true);
    polled.page = pageOf(record(302, 101));
    expect(await polled.readAfter(1)).toBeDefined();
    expect(await polled.readAfter(2)).toBeUndefined();
    polled.poll({ 301: 1, 302: 1, 303: 1 });
    expect(await polled.readAfter(3)).toBeDefined();
  });

  test('is sent when the clock was set back by more than a day', async () => {
    polled.poll({ 301: 1 });
    await polled.read();
    expect(await polled.readAfter(-2)).toBeDefined();
  });

  test('is not sent after a restart on the same day', async () => {
    polled.poll({ 301: 1 });
    await polled.read();
    const restarted = new PolledDevices();
    restarted.devices.restore(polled.devices.known);
    restarted.poll({ 301: 1 });
    expect(await restarted.readAfter(0.5)).toBeUndefined();
    expect(await restarted.readAfter(1)).toBeDefined();
  });

  test('has a window in which not more people were counted than a page has records', async () => {
    polled.poll({ 301: 1 });
    polled.count([
      [NOW_MS - 10 * MINUTE_MS, 400],
      [NOW_MS - HOUR_MS, 600],
      [NOW_MS - 26 * HOUR_MS, 1],
    ]);
    expect(await polled.readAfter(0)).toEqual(['11-17T09:15', undefined]);
  });

  test('is not shorter for people who came after its end', async () => {
    polled.nowMs -= 12 * HOUR_MS;
    polled.poll({ 301: 1 });
    polled.count([
      [NOW_MS - 10 * MINUTE_MS, 4_000],
      [NOW_MS - 11.5 * HOUR_MS, 600],
      [NOW_MS - 14 * HOUR_MS, 600],
      [NOW_MS - 16 * HOUR_MS, 600],
    ]);
    expect(await polled.readAfter(0)).toEqual(['11-17T19:15', '11-17T23:01']);
  });

  test.each(['today', 'past'] as const)('is for a day while %s is unknown', async (unknown) => {
    polled.poll({ 301: 1 });
    polled.count([], unknown);
    expect(await polled.readAfter(0)).toEqual(['11-17T11:01', undefined]);
  });

  test('has a quarter-hour at least, and four weeks at most', async () => {
    polled.nowMs -= MINUTE_MS;
    polled.poll({ 301: 1 });
    polled.count([[NOW_MS - 10 * MINUTE_MS, 4_000]]);
    expect(await polled.readAfter(0)).toEqual(['11-18T10:45', undefined]);
    const quiet = new PolledDevices().poll({ 301: 1 });
    quiet.count([]);
    expect(await quiet.readAfter(0)).toEqual(['10-21T04:00', undefined]);
  });

  test('ends when an unknown device counted last, with each day a day earlier, for two weeks', async () => {
    polled.poll({ 301: 1 });
    const ends: (string | undefined)[] = [];
    for (let days = 0; days < 20; days += 1) {
      ends.push((await polled.readAfter(days))?.[1]);
    }
    expect(ends.slice(0, 4)).toEqual([undefined, '11-17T11:01', '11-16T11:01', '11-15T11:01']);
    expect(ends.slice(13)).toEqual(['11-05T11:01', ...Array<undefined>(6).fill(undefined)]);
  });

  test('is for fewer records once the service has refused so many', async () => {
    polled.poll({ 301: 1 });
    polled.count([
      [NOW_MS - 10 * MINUTE_MS, 40],
      [NOW_MS - HOUR_MS, 80],
    ]);
    polled.page = new ServiceError('rejected', 'status 400', { status: 400 });
    await expect(polled.read()).rejects.toThrow('status 400');
    polled.page = pageOf(record(301, 101));
    await polled.read();
    expect(polled.requests.map(({ limit, from }) => [limit, from?.slice(11, 16)])).toEqual([
      [1000, '04:00'],
      [100, '10:15'],
    ]);
    expect(polled.places).toEqual({ 301: ['101', '201'] });
  });

  test('is for as many records after another failure', async () => {
    polled.poll({ 301: 1 });
    polled.page = new ServiceError('server', 'status 503', { status: 503 });
    await expect(polled.read()).rejects.toThrow('status 503');
    await polled.read().catch(() => undefined);
    expect(polled.requests.map(({ limit }) => limit)).toEqual([1000, 1000]);
  });

  test('ends when the last of the unknown devices counted', async () => {
    polled.poll({ 301: 1, 302: 1 });
    polled.nowMs += 2 * HOUR_MS;
    polled.poll({ 301: 1, 302: 2 });
    expect(await polled.readAfter(1.5)).toEqual(['11-16T13:01', '11-17T13:01']);
  });

  test('that is answered with sums shows nothing', async () => {
    polled.poll({ 301: 1 });
    polled.page = { aggregation: 'day' };
    await polled.read();
    expect(polled.places).toEqual({});
    expect(await polled.readAfter(0.5)).toBeUndefined();
  });
});

describe('the devices of a building', () => {
  function sharesOf(buildings: 'one' | 'branches') {
    const devices = polled.devices.countedIn(NOVEMBER) ?? [];
    const bySite = polled.devices.bySite(devices, NOVEMBER, buildings);
    return [...bySite].map(([site, ofSite]) => [
      site,
      Object.fromEntries(ofSite.map(({ key, share }) => [key, share])),
    ]);
  }

  test('have shares of the people of all, where that is one', () => {
    polled.poll({ 301: 30, 302: 10 });
    expect(sharesOf('one')).toEqual([[null, { 301: 0.75, 302: 0.25 }]]);
  });

  test('have shares of the people of their branch, and those of an unknown one are left out', async () => {
    polled.poll({ 301: 30, 302: 10, 303: 80, 304: 7, 305: 7, 306: 7 });
    polled.poll({ 101: 40, 102: 70 }, 'branch');
    const known = [record(301, 101), record(302, 101), record(303, 102), record(304, 103)];
    polled.page = pageOf(...known, record(305, null));
    await polled.read();
    expect(sharesOf('branches')).toStrictEqual([
      ['101', { 301: 0.75, 302: 0.25 }],
      // The branch was polled earlier.
      ['102', { 303: 1 }],
      ['103', { 304: 0 }],
    ]);
    const { device } = polled.customer.metricsAt(polled.nowMs).breakdowns;
    expect(device?.keys.map((key) => key.device?.missed)).toEqual(Array(6).fill(undefined));
  });

  test('miss their share of the people who were counted since, where that is one', () => {
    polled.nowMs -= HOUR_MS;
    polled.poll({ 301: 30, 302: 10 });
    polled.nowMs = NOW_MS;
    polled.poll({ 301: 30, 302: 20 });
    polled.count([[NOW_MS - 10 * MINUTE_MS, 20]]);
    const { device } = polled.customer.metricsAt(NOW_MS).breakdowns;
    expect(device?.keys.map((key) => key.device?.missed)).toEqual([12, 0]);
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
