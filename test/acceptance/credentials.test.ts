/** Refused credentials, and secret files that change (docs/service.md#tokens). */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';

const harness = new Harness();
const { service, workspace } = harness;
const refused = harness.addCustomer('refused');
const unknown = harness.addCustomer('unknown');
let daemon: Daemon;

beforeAll(async () => {
  const configFile = harness.configure([refused, unknown]);
  // The daemon has a wrong secret for this customer from the start.
  unknown.secret = `unknown-${unknown.secret}`;
  daemon = await harness.start(configFile);
  await exact(daemon, refused);
});

async function valid(customer: string): Promise<number | undefined> {
  return daemon.value('library_credentials_valid', { customer });
}

test.concurrent('without accepted credentials there are no counters, but a problem', async () => {
  await eventually(async () => expect(await valid('unknown')).toBe(0));
  const exposition = await daemon.scrape();
  const labels = { customer: 'unknown' };
  const people = { ...labels, stream: 'people' };
  expect(exposition.value('library_people_entered_total', labels)).toBeUndefined();
  expect(exposition.value('library_values_accepted_timestamp_seconds', people)).toBeUndefined();
  expect(exposition.value('library_up', people)).toBe(0);
  const problem = { ...labels, problem: 'credentials_refused' };
  const since = exposition.value('library_problem_start_timestamp_seconds', problem);
  expect(since).toBeGreaterThan(Date.now() / 1_000 - 600);
});

test.concurrent('refused credentials are sent rarely, and a new secret file is used', async () => {
  const before = service.requestsOf(refused, 'token').length;
  refused.secret = `rotated-${refused.secret}`;
  service.revokeTokens(refused);
  await eventually(async () => expect(await valid('refused')).toBe(0));
  async function failures(): Promise<number | undefined> {
    const polls = { customer: 'refused', stream: 'people' };
    return daemon.value('library_poll_failures_total', polls);
  }
  const failed = (await failures()) ?? NaN;
  await eventually(async () => expect(await failures()).toBeGreaterThanOrEqual(failed + 4));
  expect(service.requestsOf(refused, 'token').length - before).toBeLessThanOrEqual(3);
  refused.ledger.add('people', { in: 2, out: 1 });
  workspace.write('refused.secret', `${refused.secret}\n`);
  await exact(daemon, refused);
  expect(await valid('refused')).toBe(1);
});
