/** Which low responses a baseline requests once more (rule 3). */
import { expect, test } from 'vitest';
import type { AggregatedResponse } from '../../../src/base/model.ts';
import { requestBaseline } from '../../../src/counting/totals/baseline.ts';
import type { TotalSource } from '../../../src/counting/totals/period-total.ts';
import { createReader } from '../../../src/counting/totals/poll.ts';
import { INITIAL_STATE } from '../../../src/counting/totals/state.ts';
import { queryFrom, responseOf } from '../../support/responses.ts';
import type { Requested } from '../../support/responses.ts';
import { StreamFixture } from '../fixture.ts';

const UNVERIFIED: TotalSource = { kind: 'unverified', aggregation: 'day' };
const VERIFIED: TotalSource = { kind: 'verified', aggregation: 'day' };

interface Served {
  readonly total: number;
  readonly today?: number;
}

/** Returns how often a baseline requests today's minutes, after a poll in which `accepted` was today's. */
async function requestsOfToday(
  { total, today = 0 }: Served,
  accepted: number | undefined,
  totalSource: TotalSource,
): Promise<number> {
  const context = new StreamFixture({ records: [] }).context();
  const { calendar, clocks, period } = context;
  const day = calendar.dayAt(clocks.nowMs());
  const [ofPeriod, ofToday] = [period, day].map(({ startMs }) => calendar.zone.format(startMs));
  function respond({ aggregation, from }: Requested): AggregatedResponse {
    const isTotal = aggregation === 'day' && from === ofPeriod;
    return responseOf({ x: [isTotal ? total : today, 0] }, aggregation);
  }
  const acceptedDay = accepted === undefined ? calendar.dayBefore(day) : day;
  const snapshot = {
    period,
    day: acceptedDay,
    atMs: clocks.nowMs(),
    totals: [total, 0],
    today: [accepted ?? 0, 0],
    minutes: undefined,
  };
  const requests: Requested[] = [];
  const reader = createReader(context, queryFrom(respond, requests));
  const answers = await requestBaseline(
    { ...INITIAL_STATE, snapshot, totalSource },
    context,
    reader,
  );
  expect(answers.kind).toBe('baseline');
  return requests.filter(({ aggregation, from }) => aggregation === 'minute' && from === ofToday)
    .length;
}

test.each<[string, number, Served, number | undefined, TotalSource]>([
  ['the first empty one of a day', 2, { total: 40 }, undefined, VERIFIED],
  ['another empty one of a day', 1, { total: 40 }, 0, VERIFIED],
  ['an empty one beside a total that is not verified', 1, { total: 40 }, 0, UNVERIFIED],
  ['an empty one beside a total of 0 that may lag', 2, { total: 0 }, 0, UNVERIFIED],
  ['an empty one beside a verified total of 0', 1, { total: 0 }, 0, VERIFIED],
  ['one with less than before', 2, { total: 40, today: 3 }, 5, VERIFIED],
])("of today's responses, %s is requested %d times", async (_, count, ...responses) => {
  expect(await requestsOfToday(...responses)).toBe(count);
});
