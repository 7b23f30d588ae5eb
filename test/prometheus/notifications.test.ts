/** The table of docs/alerts.md says what the shipped rules and routes give. test/e2e runs them. */
import { expect, test } from 'vitest';
import { documentedNotifications, notificationOf } from './notifications.ts';

test.each(documentedNotifications())('$what: $alert', ({ alert, receiver, after }) => {
  const { earliest, latest, ...expected } = notificationOf(alert);
  expect({ alert, receiver, after }).toEqual({
    ...expected,
    after: `${earliest} to ${latest} minutes`,
  });
});
