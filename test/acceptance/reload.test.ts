/**
 * AggregatedResponse the configuration again (CONTRACT, section 2): what changes for whom, and for nobody else.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import { clockFromNow, dayStart, offsetMs } from './local-time.ts';
import { customersOf, pollsOf, Reloads } from './reloads.ts';
import { expectCountersExact, expectNoSecret, expectTodayExact } from './world.ts';

const reloads = new Reloads();
const { service, workspace, zone, steady, changing, leaving, coming, everybody } = reloads;

test('a customer that comes is counted, one that goes is gone at once, and the others go on', async () => {
  const before = await reloads.daemon.scrape();
  reloads.write([steady, changing, coming]);
  await reloads.hangUp();
  const after = await reloads.daemon.scrape();
  expect(customersOf(after)).toEqual(['changing', 'coming', 'steady']);
  expect(after.value('library_exporter_customers')).toBe(3);
  expect(pollsOf(after, 'coming')).toBeGreaterThanOrEqual(0);
  for (const name of ['steady', 'changing']) {
    expect(pollsOf(after, name)).toBeGreaterThanOrEqual(pollsOf(before, name));
  }
  await reloads.expectExact(steady, changing, coming);
  await eventually(async () => {
    expect(pollsOf(await reloads.daemon.scrape(), 'steady')).toBeGreaterThan(
      pollsOf(before, 'steady') + 2,
    );
  });
  const gone = service.requestsOf(leaving, 'peoplecount').length;
  await sleep(2500);
  expect(service.requestsOf(leaving, 'peoplecount').length).toBe(gone);
});

test('a customer that is taken away while its service hangs does not come back', async () => {
  service.fail(leaving, 'hang');
  const asked = service.requestsOf(leaving, 'peoplecount').length;
  await eventually(() => {
    expect(service.requestsOf(leaving, 'peoplecount').length).toBeGreaterThan(asked);
  });
  reloads.write([steady, changing]);
  await reloads.hangUp();
  service.heal(leaving);
  expect(customersOf(await reloads.daemon.scrape())).toEqual(['changing', 'steady']);
  await sleep(2000);
  expect(customersOf(await reloads.daemon.scrape())).toEqual(['changing', 'steady']);
});

test('what is changed of one customer is shown, and touches no other', async () => {
  const before = await reloads.daemon.scrape();
  reloads.write(everybody, {
    customers: { changing: { capacity: 77, labels: { region: 'north' }, streams: ['people'] } },
  });
  expect((await reloads.daemon.reload('PUT')).status).toBe(200);
  const after = await reloads.daemon.scrape();
  expect(after.value('library_capacity_people', { customer: 'changing' })).toBe(77);
  expect(after.all('library_customer_info').map(({ labels }) => labels)).toEqual(
    everybody.map(({ name }) => ({
      customer: name,
      timezone: zone,
      region: name === 'changing' ? 'north' : '',
    })),
  );
  expect(after.value('library_up', { customer: 'changing', stream: 'logins' })).toBeUndefined();
  expect(after.value('library_logins_total', { customer: 'changing' })).toBeUndefined();
  expectCountersExact(after, 'steady', steady.ledger);
  expectCountersExact(after, 'leaving', leaving.ledger);
  expect(pollsOf(after, 'steady')).toBeGreaterThanOrEqual(pollsOf(before, 'steady'));
  // Not even a token was asked for anew.
  expect(service.requestsOf(steady, 'token')).toHaveLength(1);
});

test.each(['in its file', 'in the configuration itself'])(
  'a secret that is changed %s is used from the reload on',
  async (where) => {
    const valid = { customer: 'changing' };
    const { secret } = changing;
    function writeSecret(): void {
      const inline = { client_secret: changing.secret, client_secret_file: undefined };
      if (where === 'in its file') {
        reloads.write(everybody);
      } else {
        reloads.write(everybody, { customers: { changing: inline } });
        workspace.write('changing.secret', 'not the one any more');
      }
    }
    writeSecret();
    await reloads.daemon.reload();
    await reloads.expectExact(changing);
    const before = await reloads.daemon.scrape();
    changing.secret = `changed-${secret}`;
    service.revokeTokens(changing);
    await eventually(async () => {
      expect((await reloads.daemon.scrape()).value('library_credentials_valid', valid)).toBe(0);
    });
    writeSecret();
    expect((await reloads.daemon.reload()).status).toBe(200);
    changing.ledger.add('people', { in: 5 });
    const after = await reloads.expectExact(changing, steady);
    expect(after.value('library_credentials_valid', valid)).toBe(1);
    expect(pollsOf(after, 'changing')).toBeGreaterThan(pollsOf(before, 'changing'));
    changing.secret = secret;
    service.revokeTokens(changing);
  },
);

test('another time zone and another start of the day count for today at once, and for no counter', async () => {
  const before = await reloads.daemon.scrape();
  const epoch = before.value('library_counter_start_timestamp_seconds', { customer: 'changing' });
  const startsAt = clockFromNow('Pacific/Honolulu', -90);
  reloads.write(everybody, {
    customers: { changing: { timezone: 'Pacific/Honolulu', day_starts_at: startsAt } },
  });
  await reloads.hangUp();
  await eventually(async () => {
    const after = await reloads.daemon.scrape();
    for (const name of ['library_people_entered_total', 'library_logins_total']) {
      const customer = { customer: 'changing' };
      expect(after.value(name, customer)).toBe(before.value(name, customer));
    }
    const startMs = dayStart(Date.now(), 'Pacific/Honolulu', startsAt);
    expect(after.value('library_people_entered_today', { customer: 'changing' })).toBe(
      changing.ledger.total('people', 'in', startMs),
    );
  });
  const after = await reloads.daemon.scrape();
  expect(after.value('library_counter_start_timestamp_seconds', { customer: 'changing' })).toBe(
    epoch,
  );
  expect(after.value('library_utc_offset_seconds', { customer: 'changing' })).toBe(
    offsetMs(Date.now(), 'Pacific/Honolulu') / 1000,
  );
  changing.ledger.add('people', { in: 3 });
  await reloads.expectExact(changing);
  expectTodayExact(await reloads.daemon.scrape(), 'steady', steady.ledger);
});

test('another polling interval counts from the reload on', async () => {
  reloads.write(everybody, { polling: { interval: '1h', reconcile_interval: '2h' } });
  await reloads.hangUp();
  await sleep(500);
  const slow = pollsOf(await reloads.daemon.scrape(), 'steady');
  await sleep(3000);
  expect(pollsOf(await reloads.daemon.scrape(), 'steady') - slow).toBeLessThanOrEqual(1);
  reloads.write(everybody);
  await reloads.hangUp();
  await eventually(async () => {
    expect(pollsOf(await reloads.daemon.scrape(), 'steady')).toBeGreaterThan(slow + 3);
  });
  await reloads.expectExact(...everybody);
});

test('another service section counts from the reload on, and no counter falls', async () => {
  service.fail(changing, 'hang');
  reloads.write(everybody, { service: { timeout: '300ms', max_requests_per_second: 100 } });
  await reloads.hangUp();
  const failed = { stream: 'people', reason: 'timeout' };
  const before =
    (await reloads.daemon.scrape()).value('library_exporter_poll_failures_total', failed) ?? 0;
  await eventually(async () => {
    const now = (await reloads.daemon.scrape()).value(
      'library_exporter_poll_failures_total',
      failed,
    );
    expect(now).toBeGreaterThan(before);
  });
  service.heal(changing);
  steady.ledger.add('logins', { in: 2 });
  await reloads.expectExact(...everybody);
});

test('no counter fell in all of it but the polls of those that were changed, and nothing said a secret', async () => {
  expect(await reloads.falls()).toEqual([]);
  expect(reloads.monitor.scrapes).toBeGreaterThan(50);
  expect(service.violations).toEqual([]);
  await expectNoSecret(reloads.daemon, service);
});
