/** When the history of a stream is read, and what becomes of it. */
import { describe, expect, test } from 'vitest';
import { isPastDue, updatePast } from '../../src/counting/customer-past.ts';
import type { Customer } from '../../src/counting/customer.ts';
import { createPast } from '../../src/counting/past/past.ts';
import { DayCounter } from '../../src/counting/rows/day-counts.ts';
import { INITIAL_STATE } from '../../src/counting/totals/state.ts';
import type { Snapshot, StreamState } from '../../src/counting/totals/state.ts';
import { CALENDAR, NOVEMBER, NOW_MS } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';
import { queryFrom, responseOf } from '../support/responses.ts';
import type { Requested } from '../support/responses.ts';
import { SimulatedPeople } from '../support/simulated-people.ts';
import { MINUTE_MS } from './fixture.ts';

const TODAY = CALENDAR.dayAt(NOW_MS);
const HALF_PAST_MS = TODAY.startMs + 30 * MINUTE_MS;

function customer(): Customer {
  return customerNamed('riverside', undefined, { streams: ['people', 'logins'] });
}

/** A poll that was accepted. Its minutes are unknown also if the service forces another aggregation. */
function polled(of: Customer, hasMinutes = true, keysNoted?: StreamState['keysNoted']): Customer {
  const [counts] = new DayCounter(CALENDAR, [TODAY], 'people').days();
  const snapshot: Snapshot = {
    period: NOVEMBER,
    day: TODAY,
    atMs: NOW_MS,
    totals: [0, 0],
    today: [0, 0],
    minutes:
      hasMinutes && counts
        ? { counts, atMs: NOW_MS, endMs: NOW_MS, lastSeenMs: undefined }
        : undefined,
  };
  const state = { ...INITIAL_STATE, keysNoted, snapshot };
  of.pollSucceeded('people', { state, result: 'accepted' }, NOW_MS);
  return of;
}

describe('the history of people is read', () => {
  test('after the first accepted poll', () => {
    const library = customer();
    expect(isPastDue(library, 'people', TODAY.startMs)).toBe(false);
    polled(library);
    expect(isPastDue(library, 'people', TODAY.startMs)).toBe(true);
    expect(isPastDue(library, 'logins', TODAY.startMs)).toBe(false);
    expect(isPastDue(library, 'branch', TODAY.startMs)).toBe(false);
  });

  test.each([
    ['without minutes', false, undefined, true],
    ['not while keys cannot be parsed', false, 'keys_unreadable', false],
    ['once they can', true, 'keys_unreadable', true],
  ] as const)('%s', (_, hasMinutes, keysNoted, expected) => {
    const library = polled(customer(), hasMinutes, keysNoted);
    expect(isPastDue(library, 'people', NOW_MS)).toBe(expected);
  });

  test.each([
    ['before', HALF_PAST_MS - 1, false],
    ['from', HALF_PAST_MS, true],
  ])('again: %s half an hour after the start of the next day', (_, nowMs, expected) => {
    const library = polled(customer());
    const yesterday = CALENDAR.dayBefore(TODAY);
    library.pastRead('people', createPast(CALENDAR, yesterday, []));
    expect(isPastDue(library, 'people', yesterday.endMs - 1)).toBe(false);
    expect(isPastDue(library, 'people', nowMs)).toBe(expected);
  });
});

test('the history of one stream is not that of the other', async () => {
  const library = polled(customer());
  const service = new SimulatedPeople();
  const query = queryFrom((question) => service.respond(question, NOW_MS));
  await updatePast(library, 'people', query, NOW_MS);
  expect(library.streamOf('people').days.known?.today).toEqual(TODAY);
  expect(library.streamOf('logins').days.known).toBeUndefined();
  expect(isPastDue(library, 'people', NOW_MS)).toBe(false);
});

test('no history of a breakdown', async () => {
  const requests: Requested[] = [];
  const query = queryFrom(() => responseOf({}), requests);
  await updatePast(customer(), 'branch', query, NOW_MS);
  expect(requests).toEqual([]);
});
