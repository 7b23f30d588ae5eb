/** When a customer's values were accepted, and the totals that they are compared with. */
import { expect, test } from 'vitest';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { INITIAL_STATE } from '../../src/counting/totals/state.ts';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { customerNamed, ESTIMATED } from '../support/polled.ts';

/** What `poll` does at 1, 2, 3 … ms, and `up`, `acceptedMs` and `waitingSinceMs` afterwards. */
test.each([
  ['accepted', [true, 1, undefined]],
  ['accepted accepted', [true, 2, undefined]],
  ['pending pending', [true, undefined, 1]],
  ['accepted pending pending', [true, 1, 2]],
  ['accepted pending failed', [false, 1, 2]],
  ['accepted pending failed pending', [true, 1, 2]],
  ['accepted pending accepted', [true, 3, undefined]],
])('after polls that were %s, its values were accepted and wait since %j', (polls, expected) => {
  for (const stream of ['people', 'branch'] as const) {
    const customer = customerNamed('riverside');
    customer.breakdowns.configure({ breakdowns: ['branch'], branchNames: {} });
    for (const [i, poll] of polls.split(' ').entries()) {
      const result = poll === 'accepted' ? poll : 'pending';
      if (poll === 'failed') {
        customer.pollFailed(stream, 'status 503', i + 1);
      } else if (stream === 'people') {
        customer.pollSucceeded(stream, { state: INITIAL_STATE, result }, i + 1);
      } else {
        const state = customer.breakdowns.stateOf(stream);
        customer.breakdownSucceeded(stream, { state, result }, i + 1);
      }
    }
    const { up, acceptedMs, waitingSinceMs } = customer.metricsAt(9).streams[stream] ?? {};
    expect([up, acceptedMs, waitingSinceMs]).toEqual(expected);
  }
});

test('has no totals to compare with if the mark of one counter is missing', () => {
  const marks = new HighWaterMarks();
  const customer = customerNamed('riverside', marks, { owner: OWNER });
  marks.update(OWNER, 'people_exited', NOVEMBER, 7, NOW_MS);
  expect(customer.marksOf('people', NOVEMBER)).toBeUndefined();
  marks.update(OWNER, 'people_entered', NOVEMBER, 9, NOW_MS);
  expect(customer.marksOf('people', NOVEMBER)).toEqual({ totals: [9, 7], atMs: NOW_MS });
});

test.each([
  ['the day ends', undefined, '2026-11-18T22:00', '2026-11-19T03:00'],
  ['clocks change', undefined, '2026-10-25T00:30', '2026-10-25T01:00'],
  ['it opens', { openingHours: '08:00-20:00' }, '2026-11-18T06:30', '2026-11-18T07:00'],
  ['staff comes', { staffedHours: '10:00-18:00' }, '2026-11-18T06:30', '2026-11-18T09:00'],
])('has values that are valid until %s', (_, hours, now, until) => {
  const customer = customerNamed('riverside');
  const parsed = Object.entries(hours ?? {}).map(([key, text]) => [
    key,
    parseOpeningHours(text, undefined),
  ]);
  customer.setDescription({ ...ESTIMATED, ...Object.fromEntries(parsed) });
  const { validUntilMs } = customer.metricsAt(Date.parse(`${now}Z`));
  expect(new Date(validUntilMs).toISOString().slice(0, 16)).toBe(until);
});
