/** When values were last accepted, and since when values wait for confirmation. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../src/base/errors.ts';
import type { AggregatedResponse, WindowQuery, Stream } from '../../../src/base/model.ts';
import type { CustomerMetrics } from '../../../src/counting/customer-metrics.ts';
import { SimulatedPeople } from '../../support/simulated-people.ts';
import {
  CountedBreakdown,
  CountedStream,
  countedLogins,
  countedPeople,
  HOUR_MS,
  MINUTE_MS,
  RECONCILE_MS,
  START_MS,
} from '../counted.ts';

/** When the last poll succeeded, when values were last accepted, and since when they wait. */
function timesOf(
  counted: { figures(): CustomerMetrics },
  stream: Stream = 'people',
): readonly (number | undefined)[] {
  const { up, lastSuccessMs, acceptedMs, waitingSinceMs } = counted.figures().streams[stream] ?? {};
  expect(up).toBe(true);
  return [lastSuccessMs, acceptedMs, waitingSinceMs];
}

function twice({ rows, ...response }: AggregatedResponse): AggregatedResponse {
  return { ...response, rows: [...rows, ...rows] };
}

describe('values', () => {
  test('are accepted at each poll of a service that is consistent', async () => {
    const { counted, minutes } = countedPeople();
    await counted.poll();
    expect(timesOf(counted)).toEqual([START_MS, START_MS, undefined]);
    await minutes(3);
    expect(timesOf(counted)).toEqual([counted.nowMs, counted.nowMs, undefined]);
  });

  test('wait while `minute` returns its rows twice', async () => {
    const { counted, record, minutes, distort, truth } = countedPeople();
    for (let days = 1; days < 15; days++) {
      record(START_MS - days * 24 * HOUR_MS, [200, 190]);
    }
    record(START_MS - MINUTE_MS, [20, 20]);
    await counted.poll();
    const before = counted.totals();
    distort((response, { aggregation }) => (aggregation === 'minute' ? twice(response) : response));
    record(START_MS + MINUTE_MS / 2, [5, 0]);
    await minutes(10);
    expect(timesOf(counted)).toEqual([counted.nowMs, START_MS, START_MS + MINUTE_MS]);
    expect(counted.totals()).toEqual(before);
    distort((response) => response);
    await minutes(1);
    expect(timesOf(counted)).toEqual([counted.nowMs, counted.nowMs, undefined]);
    expect(counted.totals()).toEqual(truth());
  });

  test('are never accepted while `minute` starts at the full hour and lacks older days', async () => {
    // The day starts at 22:30 UTC.
    const timezone = 'Asia/Kolkata';
    const service = new SimulatedPeople({}, { timezone });
    for (let hours = 0; hours < 14 * 24; hours += 1) {
      service.record(START_MS - hours * HOUR_MS - HOUR_MS / 2 - HOUR_MS / 4, [30, 30]);
    }
    function answer(question: WindowQuery, nowMs: number): AggregatedResponse {
      const fullHourMs = Math.floor(Date.parse(question.from) / HOUR_MS) * HOUR_MS;
      const from = new Date(Math.max(fullHourMs, START_MS - 48 * HOUR_MS)).toISOString();
      const asked = question.aggregation === 'minute' ? { ...question, from } : question;
      return service.answer(asked, nowMs);
    }
    const counted = new CountedStream(answer, START_MS, timezone);
    await counted.poll();
    await counted.polls(10);
    expect(timesOf(counted)).toEqual([counted.nowMs, undefined, START_MS]);
    expect(counted.totals()).toEqual([undefined, undefined]);
  });

  test('wait for the baseline that must verify them', async () => {
    const { counted, record, minutes, truth } = countedPeople();
    record(START_MS - MINUTE_MS, [20, 20]);
    await counted.poll();
    record(START_MS + MINUTE_MS / 2, [30, 30]);
    counted.mayReadBaseline = false;
    await minutes(2);
    expect(timesOf(counted)).toEqual([counted.nowMs, START_MS, START_MS + MINUTE_MS]);
    counted.mayReadBaseline = true;
    await minutes(1);
    expect(timesOf(counted)).toEqual([counted.nowMs, counted.nowMs, undefined]);
    expect(counted.totals()).toEqual(truth());
  });

  test('wait for a first total of 0 that is confirmed', async () => {
    const { counted, minutes } = countedPeople({ records: [] });
    await counted.poll();
    await minutes(RECONCILE_MS / MINUTE_MS - 1);
    expect(timesOf(counted)).toEqual([counted.nowMs, undefined, START_MS]);
    await minutes(1);
    expect(timesOf(counted)).toEqual([counted.nowMs, counted.nowMs, undefined]);
  });

  test('wait since the first poll that was not accepted, also if polls fail meanwhile', async () => {
    let total = 5_000;
    const counted = countedLogins((aggregation) => {
      if (total < 0) {
        throw new ServiceError('unreachable', 'the service is away');
      }
      return aggregation === 'quarter' ? 0 : total;
    });
    await counted.poll();
    total = 50_000;
    await counted.polls(2);
    expect(timesOf(counted, 'logins')).toEqual([
      START_MS + 2 * MINUTE_MS,
      START_MS,
      START_MS + MINUTE_MS,
    ]);
    total = -1;
    await counted.polls(1);
    expect(counted.figures().streams.logins).toMatchObject({
      up: false,
      acceptedMs: START_MS,
      waitingSinceMs: START_MS + MINUTE_MS,
    });
    total = 5_000;
    await counted.polls(1);
    expect(timesOf(counted, 'logins')).toEqual([counted.nowMs, counted.nowMs, undefined]);
  });

  test('of a breakdown wait, too', async () => {
    const branches = new CountedBreakdown({ 101: [500, 400] }, { 101: [9, 4] });
    await branches.poll();
    expect(timesOf(branches, 'branch')).toEqual([START_MS, START_MS, undefined]);
    branches.totalRows = {};
    await branches.polls(2);
    expect(timesOf(branches, 'branch')).toEqual([
      branches.nowMs,
      START_MS,
      START_MS + branches.intervalMs,
    ]);
    branches.totalRows = { 101: [500, 400] };
    await branches.polls(1);
    expect(timesOf(branches, 'branch')).toEqual([branches.nowMs, branches.nowMs, undefined]);
  });
});
