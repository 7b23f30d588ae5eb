/** The table of docs/alerts.md says what the shipped rules and routes give. test/e2e runs them. */
import { expect, test } from 'vitest';
import { documentedNotifications, notificationOf } from './notifications.ts';

const ROWS = documentedNotifications();

test.each(ROWS)('$what: $alert', ({ alert, receiver, after }) => {
  const { earliest, latest, ...expected } = notificationOf(alert);
  expect({ alert, receiver, after }).toEqual({
    ...expected,
    after: `${earliest} to ${latest} minutes`,
  });
});

test('there is a row for each fault that is tried', () => {
  expect(ROWS.map(({ what }) => what)).toEqual([
    'A door is dead',
    'The door of a branch is dead',
    'The disk of `--storage.path` is full',
    "The vendor's service stops",
    'The exporter stops',
  ]);
});
