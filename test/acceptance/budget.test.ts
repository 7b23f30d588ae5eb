/** What a quiet hour costs the service: one request a poll and stream, one token. */
import { beforeAll, expect, test } from 'vitest';
import { Daemon, eventually, writeConfig } from './daemon.ts';
import { afternoonZone } from './local-time.ts';
import { stage } from './stage.ts';
import { expectCountersExact, fillHistory } from './world.ts';

const { service, workspace } = stage();
const quiet = service.addCustomer('quiet', afternoonZone(Date.now()));
let daemon: Daemon;

beforeAll(async () => {
  await service.start();
  fillHistory(quiet.ledger);
  const polling = { reconcile_interval: '1h' };
  daemon = await Daemon.start(workspace, writeConfig(workspace, service, [quiet], { polling }));
});

async function polls(stream: string): Promise<number> {
  const exposition = await daemon.scrape();
  return exposition.value('library_polls_total', { customer: 'quiet', stream }) ?? 0;
}

test('between two reconciles, a poll is one request, and follows new records', async () => {
  await eventually(async () => {
    expect(await polls('people')).toBeGreaterThanOrEqual(2);
    expectCountersExact(await daemon.scrape(), 'quiet', quiet.ledger);
  });
  const pollsBefore = await polls('people');
  const requestsBefore = service.requestsOf(quiet, 'peoplecount').length;
  quiet.ledger.add('people', { in: 3, out: 1 });
  quiet.ledger.add('logins', { in: 2 });
  await eventually(async () => {
    expect(await polls('people')).toBeGreaterThanOrEqual(pollsBefore + 4);
  });
  const requests = service.requestsOf(quiet, 'peoplecount').length - requestsBefore;
  // Two more for the polls under way at both ends.
  expect(requests).toBeLessThanOrEqual((await polls('people')) - pollsBefore + 2);
  expectCountersExact(await daemon.scrape(), 'quiet', quiet.ledger);
});

test('one token serves all of it', () => {
  expect(service.requestsOf(quiet, 'token')).toHaveLength(1);
  expect(service.violations).toEqual([]);
});
