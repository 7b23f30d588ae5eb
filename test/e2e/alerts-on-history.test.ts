/**
 * The rules asked of a real Prometheus with five weeks of simulated libraries, as backfill brings them:
 * each recording gives something, and no alert would have fired while all was well. Nothing is recorded
 * of the past, and so what is recorded is written out where it is asked for.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readAlerts, readRecordings } from '../prometheus/rules.ts';
import type { Alert } from '../prometheus/rules.ts';
import { historyPrometheus } from './support/history-prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STEP_MS = HOUR_MS / 2;
/** The history has nothing about polls: they are taken for fresh. */
const FRESH = '0 * max by (customer) (library_utc_offset_seconds)';
const AGE = 'customer:library_people_poll_age:seconds';
/** What the history cannot have, and why. */
const NOT_IN_HISTORY: Readonly<Record<string, string>> = {
  'shards:library_exporter_shard_info:count': 'it is about the exporter, not about libraries',
};
const MATRIX = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});

let prometheus: Prometheus;
const nowMs = Date.now();

beforeAll(async () => {
  prometheus = await historyPrometheus({ days: 35, step: '5m' });
}, 900_000);

afterAll(() => prometheus?.stop());

describe('recordings', () => {
  test.each(readRecordings().filter(({ record }) => NOT_IN_HISTORY[record] === undefined))(
    '$record gives something',
    async ({ record }) => {
      const found = await prometheus.query(inline(record), nowMs - 10 * 60_000);
      expect(found).not.toEqual([]);
    },
  );
});

describe('alerts', () => {
  // Without an exporter there are the alerts about it, and without polls those about them.
  // The simulated libraries do get fuller than they may be, by a class or two: that is no false alarm.
  const ofLibraries = readAlerts().filter(
    ({ alert, expr }) =>
      alert !== 'LibraryOverCapacity' && /customer:|library_occupancy/.test(expr),
  );

  test.each(readAlerts())('$alert can be asked for', async ({ expr }) => {
    expect(await prometheus.query(inline(expr), nowMs - 10 * 60_000)).toBeInstanceOf(Array);
  });

  test.each(ofLibraries)(
    '$alert would not have fired in the weeks in which all was well',
    async (alert) => {
      // The door of old-town dies on the day before.
      const fired = await firedBetween(alert, nowMs - 34 * DAY_MS, nowMs - 2.5 * DAY_MS);
      expect(fired).toEqual([]);
    },
  );

  test('the dead door of one library is found, and no other', async () => {
    const alert = readAlerts().find((one) => one.alert === 'LibraryZeroTraffic');
    const fired = await firedBetween(alert, nowMs - 2 * DAY_MS, nowMs - 10 * 60_000);
    expect(new Set(fired)).toEqual(new Set(['old-town']));
  });
});

/** The customers for which it was true for as long as it has to be, once for each time. */
async function firedBetween(
  alert: Alert | undefined,
  fromMs: number,
  toMs: number,
): Promise<readonly string[]> {
  const parameters = new URLSearchParams({
    query: inline(alert?.expr ?? ''),
    start: String(fromMs / 1000),
    end: String(toMs / 1000),
    step: String(STEP_MS / 1000),
  });
  const answer = await fetch(`${prometheus.url}/api/v1/query_range`, {
    method: 'POST',
    body: parameters,
  });
  const { data } = MATRIX.parse(await answer.json());
  const neededMs = millisecondsOf(alert?.for ?? '');
  return data.result.flatMap(({ metric, values }) => {
    let sinceMs = NaN;
    let beforeMs = NaN;
    return values.flatMap(([seconds]) => {
      const atMs = seconds * 1000;
      sinceMs = atMs - beforeMs === STEP_MS ? sinceMs : atMs;
      beforeMs = atMs;
      // Between two evaluations half an hour apart it may have been true from the first to the last.
      return atMs - sinceMs >= Math.max(0, neededMs - STEP_MS) ? [metric['customer'] ?? ''] : [];
    });
  });
}

/** With what is recorded written out, as subqueries where a range of it is asked for. */
function inline(expression: string, within: readonly string[] = []): string {
  return readRecordings()
    .filter(({ record }) => !within.includes(record))
    .reduce((text, { record, expr }) => {
      const selector = new RegExp(`(?<![\\w:])${record}(?![\\w:])(?:\\[(\\w+)\\])?`, 'g');
      return text.replaceAll(selector, (_, range: string | undefined) => {
        const inner = record === AGE ? FRESH : inline(expr, [...within, record]);
        return range === undefined ? `(${inner})` : `(${inner})[${range}:10m]`;
      });
    }, expression);
}

function millisecondsOf(duration: string): number {
  const [, count = '', unit = ''] = /^(\d+)([mhd])$/.exec(duration) ?? [];
  return Number(count) * (unit === 'd' ? DAY_MS : unit === 'h' ? HOUR_MS : 60_000);
}
