/** When the history of a stream is read. */
import { expect, test } from 'vitest';
import { isPastDue } from '../../src/counting/customer-past.ts';
import { CALENDAR } from '../support/owner.ts';
import { MINUTE_MS } from './fixture.ts';
import { customer, historyBefore, poll, TODAY } from './site-fixture.ts';

const NOW_MS = TODAY.startMs + 60 * MINUTE_MS;

test.each([
  ['after the first accepted poll', {}, undefined, true],
  ['without minutes', undefined, undefined, true],
  ['not while keys cannot be parsed', undefined, 'keys_unreadable', false],
  ['once they can', {}, 'keys_unreadable', true],
] as const)('the history of people is read %s', (_, minutes, keysNoted, expected) => {
  const library = customer(['people', 'logins']);
  expect(isPastDue(library, 'people', NOW_MS)).toBe(false);
  poll(library, 60, minutes);
  const { state } = library.streamOf('people');
  library.pollSucceeded('people', { state: { ...state, keysNoted }, result: 'accepted' }, NOW_MS);
  const due = (['people', 'logins', 'branch'] as const).map((stream) => {
    return isPastDue(library, stream, NOW_MS);
  });
  expect(due).toEqual([expected, false, false]);
});

test('the history of people is read again from half an hour after the start of the next day', () => {
  const library = customer(['people', 'logins']);
  poll(library, 60, {});
  library.pastRead('people', historyBefore(CALENDAR.dayBefore(TODAY)));
  const due = [-1, 30 * MINUTE_MS - 1, 30 * MINUTE_MS].map((ms) => {
    return isPastDue(library, 'people', TODAY.startMs + ms);
  });
  expect(due).toEqual([false, false, true]);
});
