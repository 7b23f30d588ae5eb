/** Problems and the places of devices over restarts: what is stored of them, and when. */
import { describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { KnownPlaces } from '../../src/counting/devices.ts';
import type { StoredDay } from '../../src/storage/database.ts';
import { DailyRows } from '../../src/storage/daily-rows.ts';
import { DEVICE_PLACES } from '../../src/storage/device-places.ts';
import { LASTING_PROBLEMS } from '../../src/storage/lasting-problems.ts';
import { CALENDAR } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';

const START_MS = Date.UTC(2026, 10, 18, 7, 30);
const { startMs: DAY_START_MS } = CALENDAR.dayAt(START_MS);
const KINDS = { problems: LASTING_PROBLEMS, devices: DEVICE_PLACES };

/** A process with a customer, of which this is stored. */
class StoredRiverside {
  readonly customer: Customer = customerNamed('riverside');
  readonly #stream: keyof typeof KINDS;
  disk: readonly StoredDay[];
  nowMs = START_MS;
  readonly #rows: DailyRows;

  constructor(stream: keyof typeof KINDS, disk: readonly StoredDay[] = []) {
    this.#stream = stream;
    this.disk = disk;
    this.#rows = new DailyRows(
      KINDS[stream],
      { daysOf: () => this.disk },
      () => [this.customer],
      () => this.nowMs,
    );
    this.#rows.restore(this.customer);
  }

  static of(stream: keyof typeof KINDS, content: string): StoredRiverside {
    const { owner } = customerNamed('riverside');
    return new StoredRiverside(stream, [{ owner, stream, dayStartMs: DAY_START_MS, content }]);
  }

  /** Returns the content of what is written, and the start of its day. */
  write(all = false): readonly (readonly [number, string])[] {
    const rows = [...this.#rows.changedDays(all)];
    this.disk = rows.length > 0 ? rows : this.disk;
    return rows.map(({ dayStartMs, content }) => [dayStartMs, content]);
  }

  restarted(): StoredRiverside {
    return new StoredRiverside(this.#stream, this.disk);
  }

  fail(nowMs: number) {
    this.nowMs = nowMs;
    this.customer.pollFailed('people', 'HTTP 503', nowMs);
    return this.customer.metricsAt(nowMs).problems;
  }
}

describe('a problem', () => {
  test('that lasts is written once a day until it ends, and has its start after a restart', () => {
    const stored = new StoredRiverside('problems');
    expect(stored.fail(START_MS)).toEqual([]);
    expect(stored.write()).toEqual([]);
    const failing = { kind: 'polls_failing', sinceMs: START_MS };
    expect(stored.fail(START_MS + 5 * MINUTE_MS)).toEqual([failing]);
    const content = JSON.stringify([[null, [failing]]]);
    expect(stored.write()).toEqual([[DAY_START_MS, content]]);
    expect(stored.write()).toEqual([]);
    expect(stored.write(true)).toEqual([[DAY_START_MS, content]]);
    const restarted = stored.restarted();
    expect(restarted.write()).toEqual([]);
    expect(restarted.fail(START_MS + DAY_MS)).toEqual([failing]);
    expect(restarted.write()).toEqual([[DAY_START_MS + DAY_MS, content]]);
    const { state } = restarted.customer.streamOf('people');
    restarted.customer.pollSucceeded('people', { state, result: 'accepted' }, restarted.nowMs);
    expect(restarted.customer.metricsAt(restarted.nowMs).problems).toEqual([]);
    expect(restarted.write()).toEqual([[DAY_START_MS + DAY_MS, '[]']]);
    expect(restarted.write(true)).toEqual([]);
  });

  test('is restored with its number missed', () => {
    const missed = { kind: 'nobody_counted', sinceMs: START_MS, missed: 7 } as const;
    const problems = new Map([[null, [missed]]]);
    const stored = new StoredRiverside('problems');
    stored.customer.restoreProblems(problems);
    stored.write();
    expect(stored.restarted().customer.rememberedProblems).toEqual(problems);
  });

  test.each([
    'no JSON',
    '7',
    `[[null, [{ "kind": "constructor", "sinceMs": 7 }]]]`,
    `[[null, [{ "kind": "nobody_counted", "sinceMs": "7" }]]]`,
    `[[null, [{ "kind": "nobody_counted", "sinceMs": 7, "missed": -1 }]]]`,
  ])('that is damaged is ignored: %s', (content) => {
    const { customer } = StoredRiverside.of('problems', content);
    expect(customer.rememberedProblems.size).toBe(0);
  });
});

describe('places of devices', () => {
  test('are written when they are known, and restored', () => {
    const known: KnownPlaces = {
      requestedMs: START_MS,
      places: new Map([
        ['301', { branch: '101', client: '201' }],
        ['302', { branch: undefined, client: undefined }],
      ]),
    };
    const stored = new StoredRiverside('devices');
    expect(stored.write(true)).toEqual([]);
    stored.customer.devices.restore(known);
    const content = `[${START_MS},[["301","101","201"],["302",null,null]]]`;
    expect(stored.write()).toEqual([[DAY_START_MS, content]]);
    expect(stored.disk).toMatchObject([{ stream: 'devices', replaces: 'all days' }]);
    expect(stored.write()).toEqual([]);
    const restarted = stored.restarted();
    expect(restarted.customer.devices.known).toEqual(known);
    expect(restarted.write()).toEqual([]);
  });

  test.each(['no JSON', '["7",[]]', '[7]', '[7,[7,[],[7,"101","201"]]]'])(
    'that are damaged are ignored: %s',
    (content) => {
      const { customer } = StoredRiverside.of('devices', content);
      expect(customer.devices.known.places.size).toBe(0);
    },
  );
});
