/** What a stream does not accept at once, and what it exports meanwhile (rules 3, 5 and 7). */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../src/base/errors.ts';
import { NOVEMBER } from '../../support/owner.ts';
import { responseOf } from '../../support/responses.ts';
import { DAY_LAGS } from '../../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, polledPeople, START_MS, StreamFixture } from '../fixture.ts';
import type { StreamOptions } from '../fixture.ts';

const NIGHTLY = { ...DAY_LAGS, quarterFreshness: 'nightly' } as const;

describe('a response without counts', () => {
  test('is accepted at the third poll in a row', async () => {
    const people = await polledPeople();
    people.empty(() => true);
    await people.polls(2);
    expect(people.today()).toEqual([7, 1]);
    expect(people.notes).toEqual(['decrease_pending']);
    await people.polls(1);
    expect(people.today()).toEqual([5, 0]);
    expect(people.totals()).toEqual([47, 39]);
  });

  test('is a first total of 0 only after a reconcile interval, at a low cost', async () => {
    const people = await polledPeople({ records: [] });
    await people.polls(2);
    // The first three responses are whole baselines.
    expect(people.requests.length).toBeGreaterThan(1);
    await people.polls(57);
    expect(people.totals()).toEqual([undefined, undefined]);
    expect(people.requests).toHaveLength(1);
    people.hasSlot = false;
    await people.polls(1);
    expect(people.requests.length).toBeGreaterThan(1);
    expect(people.totals()).toEqual([0, 0]);
    expect(people.metrics().occupancy).toBe(0);
  });

  test.each<[number, string, StreamOptions, 'start' | 'restart' | 'an hour later']>([
    [3, 'start, before which nobody came', { records: [[2 * HOUR_MS, [5, 0]]] }, 'start'],
    [2, 'restart', {}, 'restart'],
    [1, 'second baseline', {}, 'an hour later'],
    [4, 'second baseline', {}, 'an hour later'],
    [2, 'second baseline by minute', { conventions: NIGHTLY }, 'an hour later'],
  ])('to request %i of the %s is requested again', async (request, _, options, when) => {
    const people = new StreamFixture(options);
    if (when !== 'start') {
      await people.poll();
    }
    if (when === 'restart') {
      people.restart();
    }
    if (when === 'an hour later') {
      people.record(START_MS + 55 * MINUTE_MS, [4, 2]);
      people.nowMs += HOUR_MS;
    }
    people.empty(() => people.requests.length === request);
    await people.poll();
    expect(people.requests[request]).toEqual(people.requests[request - 1]);
    expect(people.notes).not.toContain('empty_response_pending');
    expect(people.totals()).toEqual(people.served());
    expect(people.state.baseline).toBeDefined();
  });

  test('for today, by all aggregations at a baseline, waits', async () => {
    const people = await polledPeople();
    people.empty(({ from }) => !from.startsWith('2026-11-01'));
    people.nowMs += HOUR_MS;
    await people.poll();
    expect(people.notes).toEqual(['empty_response_pending']);
    expect(people.today()).toEqual([7, 1]);
  });

  test('after a restart is accepted at the third poll if there are marks', async () => {
    const people = await polledPeople();
    people.restart();
    people.empty(() => true);
    await people.polls(2);
    expect(people.totals()).toEqual([undefined, undefined]);
    await people.polls(1);
    expect(people.excess()).toEqual([47, 39]);
  });

  // Found by the simulation: nobody had come since the counting period started, and then an outage.
  test('for the first day of a counting period is requested again where `day` may lag', async () => {
    const startMs = NOVEMBER.startMs + 30 * MINUTE_MS;
    const people = new StreamFixture({ records: [], startMs, conventions: DAY_LAGS });
    people.record(NOVEMBER.startMs + 6 * HOUR_MS, [4, 1]);
    await people.polls(62);
    expect(people.totals()).toEqual([0, 0]);
    people.nowMs = NOVEMBER.startMs + 10 * HOUR_MS;
    let emptied = 0;
    people.empty(
      ({ aggregation, from }) =>
        aggregation === 'minute' && from.includes('T04:00') && (emptied += 1) === 1,
    );
    await people.poll();
    expect(emptied).toBeGreaterThan(1);
    expect(people.totals()).toEqual([4, 1]);
  });
});

interface Polls {
  readonly startMs?: number;
  readonly everyMs?: number;
  readonly restarts?: boolean;
}

/** Returns what is exported after each poll, `-` without a series. Each is a baseline with a total, or `x` for a failure. */
async function exportedAfter(
  totals: string,
  { startMs, everyMs = MINUTE_MS, restarts = false }: Polls = {},
): Promise<string> {
  let total = '';
  const logins = new StreamFixture({ stream: 'logins', records: [], startMs });
  logins.respond = ({ aggregation }) => {
    if (total === 'x') {
      throw new ServiceError('unreachable', 'the service is away');
    }
    return responseOf({ x: [Number(total)] }, aggregation);
  };
  const exported: unknown[] = [];
  for (total of totals.split(' ')) {
    await logins.poll();
    exported.push(logins.totals()[0] ?? '-');
    logins.nowMs += everyMs;
    if (restarts) {
      logins.restart();
    }
  }
  return exported.join(' ');
}

describe('an implausible increase', () => {
  const OUTAGE = 'x '.repeat(59);
  const AFTER_OUTAGE = '100000 '.repeat(60);
  const HOURLY = { everyMs: HOUR_MS, restarts: true };
  const everyMs = 10 * MINUTE_MS;
  const dayOldMs = NOVEMBER.startMs + DAY_MS - everyMs;
  const startMs = NOVEMBER.startMs + 100 * MINUTE_MS;
  const atMonthEnd = { startMs: NOVEMBER.endMs - MINUTE_MS, everyMs: 5 * MINUTE_MS };

  test.each<[string, string, string, Polls?]>([
    ['is not 1,000', '400 1400', '400 1400'],
    ['is 1,001', '400 1401 1401 1401', '400 400 400 1401', { everyMs: MINUTE_MS / 3 }],
    ['is accepted whatever came meanwhile', '400 90000 80000 200000', '400 400 400 200000'],
    ['still waits after a failed poll', '400 90000 90000 x 90000', '400 400 400 400 90000'],
    ['is not confirmed by lower totals', '400 90000 399 399 90000', '400 400 400 400 400'],
    ['up to the mark changes no counter', '9000 5000 5000 5000 7500', '9000 9000 9000 9000 9000'],
    ['is not 1,000 a minute', `100000 ${OUTAGE}160000`, `${AFTER_OUTAGE}160000`],
    ['is more a minute', `100000 ${OUTAGE}160001 160001`, `${AFTER_OUTAGE}100000 160001`],
    ['is not twice the total', '5000 10000', '5000 10000', { everyMs }],
    ['is more than that', '5000 10001', '5000 5000', { everyMs }],
    ['is more after a day', '5000 10001', '5000 5000', { everyMs, startMs: dayOldMs }],
    ['is not before', '5000 10001', '5000 10001', { everyMs, startMs: dayOldMs - 1 }],
    ['is not 1,000 a minute above the mark', '100000 160000', '100000 160000', HOURLY],
    ['is more a minute above the mark', '100000 160001', '100000 -', HOURLY],
    ['is more since the period started', '100001 100001', '- 100001', { startMs }],
    ['is more in a new period', '100000 90000 90000 90000', '100000 - - 90000', atMonthEnd],
  ])('%s', async (_, totals, exported, polls) => {
    expect(await exportedAfter(totals, polls)).toBe(exported);
  });
});
