import { describe, expect, test } from 'vitest';
import { readHistory } from '../../../src/counting/occupancy/read-history.ts';
import { learnDoors } from '../../../src/counting/occupancy/door-model.ts';
import type { DoorModel } from '../../../src/counting/occupancy/door-model.ts';
import { pastDays } from '../../../src/counting/occupancy/history.ts';
import { ANY_KEY_FORMAT } from '../../../src/counting/rows/key-format.ts';
import type { KeyFormat, KeyFormatState } from '../../../src/counting/rows/key-format.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { queryFrom } from '../../support/responses.ts';
import type { Requested } from '../../support/responses.ts';
import { CALENDAR } from '../../support/owner.ts';
import { forcedAbove, MINUTE_KEYS, SimulatedPeople } from '../../support/simulated-people.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Clocks are set back within the four weeks before. */
const NOW_MS = Date.UTC(2026, 10, 18, 12);
const TODAY = CALENDAR.dayAt(NOW_MS);

/** 100 visits a day; every 25th exit is missed. Today and the 29th day before count differently. */
function libraryOf(conventions: Partial<Conventions>): SimulatedPeople {
  const service = new SimulatedPeople(conventions);
  for (let day = -29; day <= 0; day++) {
    for (let visit = 0; visit < 100; visit++) {
      const inMs = TODAY.startMs + day * DAY_MS + (5 + (visit % 50) / 10) * HOUR_MS;
      const outMs = inMs + (20 + visit) * 60_000;
      const counted = day === 0 || day === -29 ? 0 : Number(visit % 25 > 0);
      service.record(inMs, [1, 0]);
      service.record(outMs, [0, counted]);
    }
  }
  return service;
}

async function read(
  conventions: Partial<Conventions>,
  ofKeys: Partial<KeyFormat> = {},
): Promise<{ model: DoorModel | undefined; requests: Requested[] }> {
  const service = libraryOf(conventions);
  const formats: KeyFormat[] = [{ form: 'iso', zone: 'written', ...ofKeys }];
  const requests: Requested[] = [];
  const query = queryFrom((question) => service.respond(question, NOW_MS), requests);
  const keyFormat = { status: 'detected', formats } as const;
  const history = await readHistory(query, 'people', CALENDAR, TODAY, keyFormat);
  return { model: history && learnDoors(pastDays(history), history.weekday), requests };
}

describe('the doors are learned from the 28 days before today', () => {
  test.each<[string, Partial<Conventions>, Partial<KeyFormat>]>([
    ['by quarter', {}, {}],
    ['with local keys', { minuteKey: MINUTE_KEYS['local time'] }, { zone: 'local' }],
    ['with numbers as keys', { minuteKey: MINUTE_KEYS.seconds }, { form: 'epoch_seconds' }],
    ['if quarters lag', { quarterFreshness: 'nightly' }, {}],
  ])('%s', async (_, conventions, ofKeys) => {
    const { model, requests } = await read(conventions, ofKeys);
    expect(model?.usableDays).toBe(28);
    expect(model?.rejectedDays).toBe(0);
    expect(Math.exp(model?.learnedLogRatio ?? NaN)).toBeCloseTo(100 / 96, 3);
    expect(model?.emptiesAtNight).toBe(true);
    expect(requests.map(({ aggregation }) => aggregation)).toEqual(['quarter', 'minute']);
  });

  test('day by day if keys name the time of day only', async () => {
    const { model, requests } = await read(
      { minuteKey: MINUTE_KEYS['local time of day'] },
      { form: 'time_of_day', zone: 'local' },
    );
    expect(model).toEqual((await read({})).model);
    expect(requests.map(({ aggregation }) => aggregation)).toEqual(Array(28).fill('minute'));
  });

  test('in shorter windows if the service forces another aggregation', async () => {
    const { model, requests } = await read(forcedAbove(600));
    expect(model).toEqual((await read({})).model);
    expect(requests.length).toBeLessThan(40);
  });

  test('not at all if the service never answers by the minute', async () => {
    expect((await read(forcedAbove(2))).model).toBeUndefined();
  });
});

describe('a library that counted nobody for days', () => {
  const ENTRY_MS = TODAY.startMs - 5 * DAY_MS + 6 * HOUR_MS + 7 * 60_000;
  const EXIT_MS = ENTRY_MS - HOUR_MS;

  async function readQuiet(
    keyFormat: KeyFormatState,
    conventions: Partial<Conventions> = {},
    daysWithCounts = 9,
  ) {
    const service = new SimulatedPeople(conventions);
    for (let day = 0; day < daysWithCounts; day += 1) {
      service.record(ENTRY_MS - day * DAY_MS, [1, 0]);
      service.record(EXIT_MS - day * DAY_MS, [0, 1]);
    }
    const query = queryFrom((question) => service.respond(question, NOW_MS));
    return readHistory(query, 'people', CALENDAR, TODAY, keyFormat);
  }

  test('has the minute in which it last counted anybody, and the quarter-hour of the other direction', async () => {
    const history = await readQuiet({
      status: 'detected',
      formats: [{ form: 'iso', zone: 'written' }],
    });
    expect(history?.lastSeenMs).toEqual([ENTRY_MS, EXIT_MS - 7 * 60_000]);
  });

  test.each(['UTC with Z', 'local time', 'UTC without Z', 'seconds'] as const)(
    'shows the format of its keys: %s',
    async (keys) => {
      const history = await readQuiet(ANY_KEY_FORMAT, { minuteKey: MINUTE_KEYS[keys] });
      expect(history?.lastSeenMs[0]).toBe(ENTRY_MS);
    },
  );

  test('has an empty history if it never counted anybody', async () => {
    const history = await readQuiet(ANY_KEY_FORMAT, {}, 0);
    expect(history).toMatchObject({ days: 28, sums: [0, 0], lastSeenMs: [undefined, undefined] });
  });

  test('has no history if its keys cannot be read', async () => {
    const conventions = { minuteKey: MINUTE_KEYS['local time of day'] };
    expect(await readQuiet(ANY_KEY_FORMAT, conventions)).toBeUndefined();
  });
});
