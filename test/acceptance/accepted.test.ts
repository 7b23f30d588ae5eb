/** Values that wait for confirmation: polls succeed, and `library_values_accepted_…` shows it. */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';
import { dayMs, hourMs } from './local-time.ts';

const harness = new Harness();
const doubled = harness.addCustomer('doubled');
const floored = harness.addCustomer('floored', {
  minutesFromMs: (fromMs) => Math.max(Math.floor(fromMs / hourMs) * hourMs, Date.now() - 2 * dayMs),
});
const streams = ['people', 'logins', 'branch', 'client', 'device'];
let daemon: Daemon;

beforeAll(async () => {
  doubled.ledger.add('people', { in: 30, out: 30 });
  doubled.ledger.add('logins', { in: 30 });
  const config = harness.configure([doubled, floored], {
    polling: { breakdown_interval: '1s' },
    customers: {
      doubled: { breakdowns: ['branch', 'client', 'device'] },
      // Its day starts within an hour: somebody came before, in that hour.
      floored: { day_starts_at: '04:25' },
    },
  });
  daemon = await harness.start(config);
});

/** What is shown of the polls of a stream. */
async function pollsOf(customer: string, stream: string) {
  const exposition = await daemon.scrape();
  const [up, failures, polls, succeeded, accepted] = [
    'up',
    'poll_failures_total',
    'polls_total',
    'poll_last_success_timestamp_seconds',
    'values_accepted_timestamp_seconds',
  ].map((name) => exposition.value(`library_${name}`, { customer, stream }));
  return { up, failures, polls: polls ?? NaN, succeeded: succeeded ?? NaN, accepted };
}

test('the values of every stream are accepted when its last poll succeeded', async () => {
  await exact(daemon, doubled);
  for (const stream of streams) {
    await eventually(async () => {
      const { accepted, succeeded } = await pollsOf('doubled', stream);
      expect([stream, accepted]).toEqual([stream, succeeded]);
    });
  }
});

test('the time stands still while `minute` returns its rows twice', async () => {
  const { conventions } = doubled.ledger;
  doubled.ledger.conventions = { ...conventions, minuteCopies: 2 };
  for (const stream of ['people', 'logins']) {
    await eventually(async () => {
      const { accepted, succeeded } = await pollsOf('doubled', stream);
      expect(accepted).toBeLessThan(succeeded);
    });
    const before = await pollsOf('doubled', stream);
    await eventually(async () => {
      const after = await pollsOf('doubled', stream);
      expect(after.polls).toBeGreaterThan(before.polls + 2);
      expect(after).toMatchObject({ up: 1, failures: 0, accepted: before.accepted });
      expect(after.succeeded).toBeGreaterThan(before.succeeded);
    });
  }
  doubled.ledger.conventions = conventions;
  await exact(daemon, doubled);
  await eventually(async () => {
    const { accepted, succeeded } = await pollsOf('doubled', 'people');
    expect(accepted).toBe(succeeded);
  });
});

test('the time is absent where no value was ever accepted, as with minutes from the full hour', async () => {
  for (const stream of ['people', 'logins']) {
    await eventually(async () => {
      const { polls, ...shown } = await pollsOf('floored', stream);
      expect(polls).toBeGreaterThan(3);
      expect(shown).toMatchObject({ up: 1, failures: 0, accepted: undefined });
    });
  }
  const total = await daemon.value('library_people_entered_total', { customer: 'floored' });
  expect(total).toBeUndefined();
});
