/** AggregatedResponse the configuration again (CONTRACT, section 2), by daemons that are each started in another way. */
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { flagsFor, launch } from '../limits/child.ts';
import { eventually, Workspace, writeConfig } from './daemon.ts';
import { LedgerService } from './ledger-service.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { afternoonZone } from './local-time.ts';
import { customersOf, reloadOf } from './reloads.ts';
import { expectCountersExact, fillHistory } from './world.ts';

const service = new LedgerService();
const zone = afternoonZone(Date.now());
const steady = service.addCustomer('steady', zone);
const coming = service.addCustomer('coming', zone);

beforeAll(async () => {
  await service.start();
  fillHistory(steady.ledger);
  fillHistory(coming.ledger);
});
afterAll(() => service.stop());

describe('a daemon of its own', () => {
  test('does not reload over HTTP without --web.enable-lifecycle, but at SIGHUP', async () => {
    const own = new Workspace();
    const file = writeConfig(own, service, [steady]);
    const child = await launch(own, flagsFor(own, file)).listening();
    for (const [method, status] of [
      ['POST', 403],
      ['PUT', 403],
      ['GET', 405],
    ] as const) {
      expect((await child.reload(method)).status).toBe(status);
    }
    writeConfig(own, service, [steady, coming]);
    expect((await child.scrape()).value('library_exporter_customers')).toBe(1);
    child.signal('SIGHUP');
    await eventually(async () => {
      expect((await child.scrape()).value('library_exporter_customers')).toBe(2);
    });
    await own.close();
  });

  test('reads its files again when one changes or comes, with --config.auto-reload-interval', async () => {
    const own = new Workspace();
    mkdirSync(`${own.folder}/customers`);
    const [first, second] = [fileFor(own, steady), fileFor(own, coming)];
    own.write('customers/first.yaml', first);
    const base = { base_url: service.url, auth_url: service.url, max_requests_per_second: 500 };
    const main = JSON.stringify({
      service: base,
      polling: { interval: '1s' },
      customer_files: ['customers/*.yaml'],
    });
    const file = own.write('config.yaml', main);
    const flag = '--config.auto-reload-interval=1s';
    const child = await launch(own, flagsFor(own, file, flag)).listening();
    await sleep(200);
    own.write('customers/second.yaml', second);
    await eventually(async () => {
      expect(customersOf(await child.scrape())).toEqual(['coming', 'steady']);
    });
    own.write('config.yaml', main.replace('"1s"', '"soon"'));
    await eventually(async () => {
      expect(reloadOf(await child.scrape())[0]).toBe(0);
    });
    expect(customersOf(await child.scrape())).toEqual(['coming', 'steady']);
    // Tried once, not at every look.
    await sleep(2500);
    const tried = child
      .logLines()
      .filter(({ msg }) => String(msg).startsWith('config reload failed')).length;
    expect(tried).toBe(1);
    own.write('config.yaml', main);
    await eventually(async () => {
      expect(reloadOf(await child.scrape())[0]).toBe(1);
    });
    await own.close();
  });

  test('that moves to another service shows the totals of that one', async () => {
    const [own, other] = [new Workspace(), new LedgerService()];
    await other.start();
    const moved = other.addCustomer('steady', zone);
    fillHistory(moved.ledger);
    moved.ledger.add('people', { in: 1000, out: 400 });
    const file = writeConfig(own, service, [steady]);
    const child = await launch(own, flagsFor(own, file)).listening();
    await eventually(async () => {
      expectCountersExact(await child.scrape(), 'steady', steady.ledger);
    });
    writeConfig(own, other, [moved]);
    child.signal('SIGHUP');
    await eventually(async () => {
      const now = await child.scrape();
      expectCountersExact(now, 'steady', moved.ledger);
      expect(now.value('library_up', { customer: 'steady', stream: 'people' })).toBe(1);
    });
    await own.close();
    await other.stop();
  });
});

/** A file of customers with one of them. */
function fileFor(own: Workspace, { name, clientId, secret, ledger }: ServiceCustomer): string {
  return JSON.stringify([
    {
      name,
      client_id: clientId,
      client_secret_file: own.write(`${name}.secret`, secret),
      timezone: ledger.zone,
    },
  ]);
}
