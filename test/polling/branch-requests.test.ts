import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { BranchMetrics } from '../../src/counting/customer-metrics.ts';
import type { PolledCustomer } from '../../src/polling/scheduler.ts';
import { customerNamed, ESTIMATED } from '../support/polled.ts';
import { SimulatedPeople } from '../support/simulated-people.ts';
import { gapsOf, SchedulerFixture, UNAVAILABLE } from './fixture.ts';

/** 04:00 in Copenhagen. */
const DAY_START_MS = Date.UTC(2026, 10, 19, 3);
const BRANCH = '421';

const START = { startMs: DAY_START_MS + 7 * HOUR_MS };

/** A customer with one branch, open from nine to noon on each of the last days. */
function polledByBranch(fixture: SchedulerFixture, answer: () => void = () => {}, days = 28) {
  const service = new SimulatedPeople();
  const requests: { readonly atMs: number; readonly to: string | undefined }[] = [];
  for (let day = 0; day <= days; day += 1) {
    for (let minute = 300; minute < 480; minute += 5) {
      const atMs = DAY_START_MS + (minute + 0.5) * MINUTE_MS - day * DAY_MS;
      service.record(atMs, [2, 0]);
      service.record(atMs + 3 * HOUR_MS, [0, 2]);
    }
  }
  const { clock } = fixture;
  const polled = fixture.polled('a', async (question) => {
    if (question.aggregation === 'branch') {
      requests.push({ atMs: clock.nowMs(), to: question.to });
      answer();
    }
    return Promise.resolve(service.respond(question, clock.nowMs()));
  });
  const { estimate, openingHours, staffedHours } = ESTIMATED;
  const others = { estimate, openingHours, staffedHours, capacity: undefined };
  const configured = { [BRANCH]: { ...others, capacity: 80 } };
  // Logins have no windows.
  const customer = customerNamed('a', undefined, { streams: ['people', 'logins'] });
  customer.setDescription({ ...ESTIMATED, branches: { configured, others } });
  return { polled: { ...polled, customer }, requests };
}

function branchOf({ customer }: PolledCustomer, nowMs: number): BranchMetrics | undefined {
  return customer.metricsAt(nowMs).branches?.find(({ key }) => key === BRANCH);
}

describe('the windows of branches', () => {
  test('and histories are read while more customers hang than there are slots', async () => {
    await using fixture = new SchedulerFixture({ ...START, maxConcurrency: 3 });
    const { clock } = fixture;
    const { polled } = polledByBranch(fixture);
    const hanging = fixture.polledMany(8, fixture.goodUntil(5 * MINUTE_MS));
    await fixture.run([polled, ...hanging], HOUR_MS);
    expect(fixture.healthOf(hanging[0] ?? polled).failures).toBeGreaterThan(10);
    for (let quarter = 0; quarter < 4; quarter += 1) {
      await clock.advance(15 * MINUTE_MS);
      expect(branchOf(polled, clock.nowMs())?.occupancy).toBeGreaterThanOrEqual(0);
    }
    expect(branchOf(polled, clock.nowMs())?.estimate.ratio).toBeCloseTo(1);
  });

  test('are read after the first poll, at most one a second, and then by window and minute', async () => {
    await using fixture = new SchedulerFixture(START);
    const { clock } = fixture;
    const { polled, requests } = polledByBranch(fixture);
    fixture.start([polled]);
    expect(branchOf(polled, clock.nowMs())).toMatchObject({ capacity: 80, occupancy: undefined });
    await clock.advance(2 * MINUTE_MS);
    expect(branchOf(polled, clock.nowMs())?.occupancy).toBe(50);
    await clock.advance(8 * MINUTE_MS);
    expect(Math.min(...gapsOf(requests.map(({ atMs }) => atMs)))).toBe(1_000);
    const ofDaysBefore = requests.filter(({ to = '2026-11-19' }) => !to.startsWith('2026-11-19'));
    // Each day has counts in six hours.
    expect(ofDaysBefore).toHaveLength(28 * 6);
    expect(branchOf(polled, clock.nowMs())?.estimate.ratio).toBeCloseTo(1);
    requests.length = 0;
    await clock.advance(HOUR_MS);
    // Somebody passes every five minutes.
    expect(requests.length).toBeLessThan(4 + 12 + 5);
  });

  test('are shown once all are read, before the next poll', async () => {
    const changedMs: number[] = [];
    await using fixture = new SchedulerFixture({
      ...START,
      observer: { pollEnded() {}, changed: () => changedMs.push(fixture.clock.monotonicMs()) },
    });
    const { polled, requests } = polledByBranch(fixture, () => {}, 0);
    await fixture.run([polled], 3_500);
    // A reload lets the next one begin when it is due.
    fixture.scheduler.setCustomers([polled]);
    await fixture.clock.advance(20_000);
    expect(requests.length).toBeGreaterThan(5);
    // After both first polls.
    expect(changedMs).toEqual([0, 0, 1_000 * (requests.length - 1)]);
  });

  test('that fail are requested again, less and less often, and no poll fails', async () => {
    await using fixture = new SchedulerFixture(START);
    const { clock } = fixture;
    let isDown = true;
    function answer() {
      if (isDown) {
        throw UNAVAILABLE;
      }
    }
    const { polled, requests } = polledByBranch(fixture, answer, 0);
    await fixture.run([polled], HOUR_MS);
    const gaps = gapsOf(requests.map(({ atMs }) => atMs));
    expect(gaps.map((ms) => Math.floor(ms / MINUTE_MS))).toEqual([1, 2, 4, 8, 15, 15, 15]);
    expect(polled.customer.metricsAt(clock.nowMs()).streams.people).toMatchObject({ failures: 0 });
    expect(branchOf(polled, clock.nowMs())?.occupancy).toBeUndefined();
    isDown = false;
    await clock.advance(20 * MINUTE_MS);
    expect(branchOf(polled, clock.nowMs())?.occupancy).toBeGreaterThan(0);
    isDown = true;
    requests.length = 0;
    await clock.advance(20 * MINUTE_MS);
    expect(requests.length).toBeGreaterThan(3);
    const warning = { msg: 'branches unavailable', customer: 'a', error: 'status 503' };
    expect(fixture.lines).toMatchObject([warning, warning]);
  });
});
