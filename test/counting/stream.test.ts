import { describe, expect, test } from 'vitest';
import type { Question, Reading } from '../../src/base/nouns.ts';
import { Zone } from '../../src/counting/zone.ts';
import { CountedStream, RECONCILE_MS } from '../support/counted-stream.ts';
import { SmallService, SMALL_KEYS } from '../support/small-service.ts';
import type { SmallConventions } from '../support/small-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const COPENHAGEN = new Zone('Europe/Copenhagen');
/** A Wednesday, 11:00 in Copenhagen. */
const START_MS = Date.UTC(2026, 10, 18, 10);
const EPOCH_MS = Date.UTC(2026, 10, 1, 3);

function worldOf(conventions: Partial<SmallConventions> = {}) {
  const service = new SmallService(COPENHAGEN, 2, conventions);
  let distort: Distortion = asItIs;
  const counted = new CountedStream(COPENHAGEN, START_MS, (question, nowMs) =>
    distort(service.answer(question, nowMs), question),
  );
  function record(eventMs: number, counts: readonly number[], arrivalMs = eventMs): void {
    service.records.push({ eventMs, arrivalMs, counts });
  }
  record(START_MS - 5 * 24 * HOUR_MS, [40, 38]);
  record(START_MS - 2 * HOUR_MS, [5, 0]);
  record(START_MS - 7 * MINUTE_MS, [2, 1]);
  return {
    counted,
    service,
    record,
    distort: (by: Distortion) => {
      distort = by;
    },
    truth: () => service.total(EPOCH_MS, counted.nowMs),
    minutes: (count: number) => {
      for (let i = 0; i < count; i++) {
        counted.nowMs += MINUTE_MS;
        counted.poll();
      }
    },
  };
}

type Distortion = (reading: Reading, question: Question) => Reading;

function asItIs(reading: Reading): Reading {
  return reading;
}

const EMPTY: Reading = { aggregation: 'minute', rows: [] };

describe('a stream', () => {
  test('shows the total since the epoch after the first poll, with five requests', () => {
    const { counted, truth } = worldOf();
    expect(counted.totals()).toEqual([undefined, undefined]);
    counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.totals()).toEqual([47, 39]);
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.asked).toHaveLength(5);
  });

  test('asks once at an ordinary poll, never with an end', () => {
    const { counted, minutes, record, truth } = worldOf();
    counted.poll();
    expect(counted.asked.every(({ to }) => to === undefined)).toBe(true);
    record(counted.nowMs + 10_000, [3, 1]);
    minutes(1);
    expect(counted.asked).toHaveLength(1);
    expect(counted.asked[0]).toMatchObject({ aggregation: 'minute' });
    expect(counted.totals()).toEqual(truth());
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS);
  });

  test('counts late records of the last minutes at once, and older ones at the next anchor', () => {
    const { counted, minutes, record, truth } = worldOf();
    counted.poll();
    record(counted.nowMs - 3 * MINUTE_MS, [4, 0], counted.nowMs + 1000);
    minutes(1);
    expect(counted.totals()).toEqual(truth());
    record(counted.nowMs - 30 * HOUR_MS, [9, 9], counted.nowMs + 1000);
    minutes(RECONCILE_MS / MINUTE_MS);
    expect(counted.totals()).toEqual(truth());
  });

  test('holds the counter when the service takes records back, and says by how much', () => {
    const { counted, minutes, record, truth } = worldOf();
    counted.poll();
    record(counted.nowMs - 5 * MINUTE_MS, [-3, 0], counted.nowMs + 1);
    minutes(1);
    expect(truth()).toEqual([44, 39]);
    expect(counted.totals()).toEqual([47, 39]);
    expect(counted.held()).toEqual([3, 0]);
    expect(counted.today()).toEqual([4, 1]);
    record(counted.nowMs + 1, [5, 0]);
    minutes(1);
    expect(counted.totals()).toEqual([49, 39]);
    expect(counted.held()).toEqual([0, 0]);
  });

  test('does not fall below its mark over a restart', () => {
    const { counted, record } = worldOf();
    counted.poll();
    record(counted.nowMs - 5 * MINUTE_MS, [-3, 0], counted.nowMs + 1);
    counted.nowMs += MINUTE_MS;
    counted.restart();
    expect(counted.totals()).toEqual([undefined, undefined]);
    counted.poll();
    expect(counted.totals()).toEqual([47, 39]);
    expect(counted.held()).toEqual([3, 0]);
  });

  test('asks an answer again that is lower than before, and believes the larger', () => {
    const { counted, minutes, distort, truth } = worldOf();
    counted.poll();
    let glitches = 1;
    distort((reading) => (glitches-- > 0 ? EMPTY : reading));
    minutes(1);
    expect(counted.asked).toHaveLength(2);
    expect(counted.totals()).toEqual(truth());
    expect(counted.today()).toEqual([7, 1]);
  });

  test('believes an answer without counts only at the third poll in a row', () => {
    const { counted, minutes, distort } = worldOf();
    counted.poll();
    distort(() => EMPTY);
    minutes(2);
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.notes.filter((note) => note === 'empty_not_believed')).toHaveLength(2);
    minutes(1);
    expect(counted.today()).toEqual([5, 0]);
    expect(counted.totals()).toEqual([47, 39]);
  });

  test('shows a first total of 0 only after three polls that found nothing', () => {
    const { counted, minutes, service } = worldOf();
    service.records.length = 0;
    counted.poll();
    minutes(1);
    expect(counted.totals()).toEqual([undefined, undefined]);
    minutes(1);
    expect(counted.totals()).toEqual([0, 0]);
    expect(counted.figures().occupancy).toBe(0);
  });

  test('does not believe a rise out of all proportion before it has come again', () => {
    const { counted, minutes, distort, record, truth } = worldOf();
    counted.poll();
    let glitches = 1;
    distort((reading) =>
      glitches-- > 0
        ? { ...reading, rows: reading.rows.map((row) => ({ ...row, counts: [90_000, 0] })) }
        : reading,
    );
    minutes(1);
    expect(counted.totals()).toEqual([47, 39]);
    minutes(1);
    expect(counted.totals()).toEqual(truth());
    record(counted.nowMs + 1, [5000, 0]);
    minutes(1);
    expect(counted.totals()).toEqual([47, 39]);
    minutes(1);
    expect(counted.totals()).toEqual(truth());
  });

  test('changes nothing when a poll fails, wherever it fails', () => {
    for (let failing = 1; failing <= 5; failing++) {
      const { counted, distort, minutes, truth } = worldOf();
      let asked = 0;
      distort((reading) => {
        asked += 1;
        if (asked === failing) {
          throw new Error('the service is away');
        }
        return reading;
      });
      counted.poll();
      expect(counted.totals()).toEqual([undefined, undefined]);
      minutes(1);
      expect(counted.totals()).toEqual(truth());
    }
  });

  test('keeps an anchor only if the window stood still while it was taken', () => {
    const { counted, record, minutes, truth } = worldOf();
    for (let ms = 0; ms < 60_000; ms += 1000) {
      record(counted.nowMs + ms, [1, 0]);
    }
    counted.poll(true, 2000);
    expect(counted.customer.stateOf('people').anchor).toBeUndefined();
    minutes(2);
    expect(counted.totals()).toEqual(truth());
    minutes(1);
    expect(counted.asked).toHaveLength(1);
  });

  test('switches the day by the time of the asking', () => {
    const { counted, truth } = worldOf();
    counted.poll();
    counted.nowMs = Date.UTC(2026, 10, 19, 3) - 1;
    expect(counted.today()).toEqual([7, 1]);
    counted.nowMs += 1;
    expect(counted.today()).toEqual([undefined, undefined]);
    expect(counted.totals()).toEqual(truth());
    counted.poll();
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('knows after a restart when the day before was last seen anybody', () => {
    const { counted, minutes } = worldOf();
    counted.nowMs = Date.UTC(2026, 10, 19, 3, 10);
    counted.poll();
    minutes(1);
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('switches the epoch by the time of the asking, and starts the new one at what came in it', () => {
    const { counted, record, minutes } = worldOf();
    counted.poll();
    const december = Date.UTC(2026, 11, 1, 3);
    counted.nowMs = december;
    expect(counted.totals()).toEqual([undefined, undefined]);
    expect(counted.figures().epochStartMs).toBe(december);
    record(december + 90_000, [2, 0]);
    minutes(3);
    expect(counted.totals()).toEqual([2, 0]);
  });

  test('leaves minutes that have not come yet out of occupancy and last seen, not out of the counters', () => {
    const { counted, record, truth } = worldOf();
    record(counted.nowMs + 20 * MINUTE_MS, [8, 0], counted.nowMs - 1);
    counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('hides the occupancy when the newest good poll is older than 15 minutes', () => {
    const { counted } = worldOf();
    counted.poll();
    counted.nowMs += 15 * MINUTE_MS;
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().validUntilMs).toBe(counted.nowMs + 1);
    counted.nowMs += 1;
    expect(counted.figures().occupancy).toBeUndefined();
    expect(counted.totals()).toEqual([47, 39]);
  });

  test.each<Partial<SmallConventions>>([
    { dayLagMs: 20 * HOUR_MS },
    { dayLagMs: 20 * HOUR_MS, quarterLagMs: 2 * HOUR_MS },
    { daySnaps: true },
    { mostRows: 20 },
    { fromMeans: 'arrival' },
    { designator: 'ignored' },
    { fromInclusive: false, resolutionMs: MINUTE_MS },
    { listZeros: true },
  ])('is exact where the service is %j', (conventions) => {
    const { counted, record, minutes, truth } = worldOf(conventions);
    record(START_MS - 9 * HOUR_MS, [11, 2]);
    counted.poll();
    for (let i = 0; i < 70; i++) {
      record(counted.nowMs + 5000, [i % 3, i % 2]);
      minutes(1);
      expect(counted.totals()).toEqual(truth());
    }
  });
});

describe('the keys of the minutes', () => {
  test.each(SMALL_KEYS)('are recognised as %s from the last minutes', (key) => {
    const { counted } = worldOf({ key });
    counted.poll();
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test.each(SMALL_KEYS)(
    'are recognised as %s in the evening, long after the last visitor',
    (key) => {
      const { counted } = worldOf({ key });
      counted.nowMs += 8 * HOUR_MS;
      counted.poll();
      expect(counted.figures().occupancy).toBe(6);
      expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
    },
  );

  test.each(SMALL_KEYS)('are summed as %s in the hour that occurs twice', (key) => {
    const night = Date.UTC(2026, 9, 25, 0);
    const service = new SmallService(COPENHAGEN, 2, { key });
    const counted = new CountedStream(COPENHAGEN, night + 2 * HOUR_MS, (question, nowMs) =>
      service.answer(question, nowMs),
    );
    service.records.push({ eventMs: night + 30 * MINUTE_MS, arrivalMs: 0, counts: [3, 0] });
    service.records.push({ eventMs: night + 90 * MINUTE_MS, arrivalMs: 0, counts: [2, 0] });
    counted.poll();
    expect(counted.totals()).toEqual([5, 0]);
    expect(counted.today()).toEqual([5, 0]);
  });

  test('of no known form cost occupancy and last seen, and no counter', () => {
    const { counted, distort, truth } = worldOf();
    distort((reading) => ({
      ...reading,
      rows: reading.rows.map((row, i) => ({ ...row, key: `bucket ${i}` })),
    }));
    counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.figures().occupancy).toBeUndefined();
    expect(counted.figures().streams.people?.lastSeenMs).toBeUndefined();
    expect(counted.notes).toContain('keys_unknown');
  });
});
