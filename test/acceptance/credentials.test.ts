/** Tokens are renewed when they are refused; refused credentials are not tried in a hurry. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { Daemon, eventually, writeConfig } from './daemon.ts';
import { afternoonZone } from './local-time.ts';
import { stage } from './stage.ts';
import { expectCountersExact, expectNoSecret, fillHistory } from './world.ts';

const { service, workspace, monitor } = stage();
const zone = afternoonZone(Date.now());
const renewed = service.addCustomer('renewed', zone);
const refused = service.addCustomer('refused', zone);
const stranger = service.addCustomer('stranger', zone);
let daemon: Daemon;

beforeAll(async () => {
  await service.start();
  for (const { ledger } of [renewed, refused, stranger]) {
    fillHistory(ledger);
  }
  const configFile = writeConfig(workspace, service, [renewed, refused, stranger], {
    customers: { renewed: { streams: ['people'] } },
  });
  // From the first request on, the secret that the daemon has for this one is wrong.
  stranger.secret = `unknown-${stranger.secret}`;
  daemon = await Daemon.start(workspace, configFile);
  monitor.watch(daemon);
});

async function valid(customer: string): Promise<number | undefined> {
  return (await daemon.scrape()).value('library_credentials_valid', { customer });
}

test('a token that the service refuses is renewed once, without a failed poll', async () => {
  const stream = { customer: 'renewed', stream: 'people' };
  await eventually(async () => {
    expect((await daemon.scrape()).value('library_up', stream)).toBe(1);
    expect(await valid('renewed')).toBe(1);
  });
  expect(service.requestsOf(renewed, 'token')).toHaveLength(1);
  service.revokeTokens(renewed);
  const epoch = { customer: 'renewed' };
  const before = (await daemon.scrape()).value('library_people_entered_total', epoch) ?? NaN;
  renewed.ledger.add('people', { in: 3 });
  await eventually(async () => {
    const shown = (await daemon.scrape()).value('library_people_entered_total', epoch);
    expect(shown).toBe(before + 3);
  });
  expect(service.requestsOf(renewed, 'token')).toHaveLength(2);
  expect((await daemon.scrape()).value('library_poll_failures_total', stream)).toBe(0);
  expect(await valid('renewed')).toBe(1);
});

test('a customer that was never let in has no figures, and is said to be refused', async () => {
  await eventually(async () => {
    expect(await valid('stranger')).toBe(0);
  });
  const exposition = await daemon.scrape();
  const labels = { customer: 'stranger' };
  expect(exposition.value('library_people_entered_total', labels)).toBeUndefined();
  expect(exposition.value('library_up', { ...labels, stream: 'people' })).toBe(0);
  expect(
    exposition.value('library_exporter_poll_failures_total', { stream: 'people', reason: 'auth' }),
  ).toBeGreaterThan(0);
});

test('refused credentials are not tried at every poll, and a new secret file mends them', async () => {
  await eventually(async () => {
    expectCountersExact(await daemon.scrape(), 'refused', refused.ledger);
  });
  const before = service.requestsOf(refused, 'token').length;
  refused.secret = `rotated-${refused.secret}`;
  service.revokeTokens(refused);
  await eventually(async () => {
    expect(await valid('refused')).toBe(0);
  });
  // Ten polls of two streams: hammering would be twenty requests.
  await sleep(5000);
  expect(service.requestsOf(refused, 'token').length - before).toBeLessThanOrEqual(3);
  expect(service.requestsOf(stranger, 'token').length).toBeLessThanOrEqual(3);
  refused.ledger.add('people', { in: 2, out: 1 });
  workspace.write('refused.secret', `${refused.secret}\n`);
  await eventually(async () => {
    expect(await valid('refused')).toBe(1);
    expectCountersExact(await daemon.scrape(), 'refused', refused.ledger);
  });
});

test('no counter fell, and neither secret nor token was said', async () => {
  expect(monitor.violations).toEqual([]);
  expect(service.violations).toEqual([]);
  await expectNoSecret(daemon, service);
});
