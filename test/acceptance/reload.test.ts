/**
 * Reading the configuration again (CONTRACT, section 2): what changes for whom, and that nothing
 * changes where the new one is bad.
 */
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { flagsFor, launch } from '../limits/child.ts';
import type { Child } from '../limits/child.ts';
import { eventually, Workspace, writeConfig } from './daemon.ts';
import type { Settings } from './daemon.ts';
import type { Exposition } from './exposition.ts';
import { LedgerService } from './ledger-service.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { afternoonZone, clockFromNow, dayStart, offsetMs } from './local-time.ts';
import { Monitor } from './monitor.ts';
import { expectCountersExact, expectNoSecret, expectTodayExact, fillHistory } from './world.ts';

const service = new LedgerService();
const workspace = new Workspace();
const monitor = new Monitor();
const zone = afternoonZone(Date.now());
const steady = service.addCustomer('steady', zone);
const changing = service.addCustomer('changing', zone);
const leaving = service.addCustomer('leaving', zone);
const coming = service.addCustomer('coming', zone);
const everybody = [steady, changing, leaving];
let configFile: string;
let daemon: Child;

function write(customers: readonly ServiceCustomer[], settings: Settings = {}): void {
  configFile = writeConfig(workspace, service, customers, settings);
}

/** Reads the configuration again by a signal, and waits until that is done. */
async function hangUp(): Promise<void> {
  const before = reloadsSaid();
  daemon.signal('SIGHUP');
  await daemon.until(() => reloadsSaid() > before);
}

function reloadsSaid(): number {
  return daemon
    .logLines()
    .filter(({ msg }) => /the configuration (was read again|is bad)/.test(String(msg))).length;
}

function pollsOf(exposition: Exposition, customer: string): number {
  return exposition.value('library_polls_total', { customer, stream: 'people' }) ?? NaN;
}

function customersOf({ samples }: Exposition): readonly string[] {
  const names = samples
    .map(({ labels }) => labels['customer'])
    .filter((name) => name !== undefined);
  return [...new Set(names)].toSorted();
}

/** Whether the last reload was good, and when a good one was. */
function reloadOf(exposition: Exposition): readonly (number | undefined)[] {
  return [
    exposition.value('library_exporter_config_last_reload_successful'),
    exposition.value('library_exporter_config_last_reload_success_timestamp_seconds'),
  ];
}

async function expectExact(...customers: readonly ServiceCustomer[]): Promise<Exposition> {
  let exposition: Exposition | undefined;
  await eventually(async () => {
    exposition = await daemon.scrape();
    for (const { name, ledger } of customers) {
      expectCountersExact(exposition, name, ledger);
    }
  });
  return exposition ?? (await daemon.scrape());
}

beforeAll(async () => {
  await service.start();
  for (const { ledger } of [...everybody, coming]) {
    fillHistory(ledger);
  }
  write(everybody);
  daemon = await launch(
    workspace,
    flagsFor(workspace, configFile, '--web.enable-lifecycle'),
  ).listening();
  monitor.watch(daemon);
});
afterAll(async () => {
  await monitor.leave();
  await workspace.close();
  await service.stop();
});

beforeEach(async () => {
  write(everybody);
  await daemon.reload();
  await expectExact(...everybody);
});

test('a customer that comes is counted, one that goes is gone at once, and the others go on', async () => {
  const before = await daemon.scrape();
  write([steady, changing, coming]);
  await hangUp();
  const after = await daemon.scrape();
  expect(customersOf(after)).toEqual(['changing', 'coming', 'steady']);
  expect(after.value('library_exporter_customers')).toBe(3);
  expect(pollsOf(after, 'coming')).toBeGreaterThanOrEqual(0);
  for (const name of ['steady', 'changing']) {
    expect(pollsOf(after, name)).toBeGreaterThanOrEqual(pollsOf(before, name));
  }
  await expectExact(steady, changing, coming);
  await eventually(async () => {
    expect(pollsOf(await daemon.scrape(), 'steady')).toBeGreaterThan(pollsOf(before, 'steady') + 2);
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
  write([steady, changing]);
  await hangUp();
  service.heal(leaving);
  expect(customersOf(await daemon.scrape())).toEqual(['changing', 'steady']);
  await sleep(2000);
  expect(customersOf(await daemon.scrape())).toEqual(['changing', 'steady']);
});

test('what is changed of one customer is shown, and touches no other', async () => {
  const before = await daemon.scrape();
  write(everybody, {
    customers: { changing: { capacity: 77, labels: { region: 'north' }, streams: ['people'] } },
  });
  expect((await daemon.reload('PUT')).status).toBe(200);
  const after = await daemon.scrape();
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
        write(everybody);
      } else {
        write(everybody, { customers: { changing: inline } });
        workspace.write('changing.secret', 'not the one any more');
      }
    }
    writeSecret();
    await daemon.reload();
    await expectExact(changing);
    const before = await daemon.scrape();
    changing.secret = `changed-${secret}`;
    service.revokeTokens(changing);
    await eventually(async () => {
      expect((await daemon.scrape()).value('library_credentials_valid', valid)).toBe(0);
    });
    writeSecret();
    expect((await daemon.reload()).status).toBe(200);
    changing.ledger.add('people', { in: 5 });
    const after = await expectExact(changing, steady);
    expect(after.value('library_credentials_valid', valid)).toBe(1);
    expect(pollsOf(after, 'changing')).toBeGreaterThan(pollsOf(before, 'changing'));
    changing.secret = secret;
    service.revokeTokens(changing);
  },
);

/** What a reload says; of a signal it is the log that tells, and there is no status of its own. */
async function reloadBy(way: 'SIGHUP' | 'POST' | 'PUT'): Promise<{ status: number; told: string }> {
  if (way !== 'SIGHUP') {
    const answer = await daemon.reload(way);
    return { status: answer.status, told: await answer.text() };
  }
  await hangUp();
  const said = daemon.logLines().findLast(({ level }) => level === 'error');
  return { status: 400, told: String(said?.['problems']) };
}

describe('a bad configuration', () => {
  const bad = `service:
  base_url: https://statistics.example.org
customers:
  - name: steady
    client_id: steady-api
    client_secret: [mellow-otter-biscuit]
    timezone: Europe/Copenhaguen
    colour: red
`;

  test.each(['SIGHUP', 'POST', 'PUT'] as const)(
    'changes nothing at %s, and all its problems are told without a secret',
    async (way) => {
      const before = await daemon.scrape();
      workspace.write('config.yaml', bad);
      const { status, told } = await reloadBy(way);
      expect(status).toBe(400);
      for (const [line, path] of [
        [2, 'service.auth_url'],
        [6, 'customers[0].client_secret'],
        [7, 'customers[0].timezone'],
        [8, 'customers[0].colour'],
      ] as const) {
        const pattern = String.raw`config\.yaml:${line}:\d+: ${path.replaceAll(/[.[\]]/g, '.')}: `;
        expect(told).toMatch(new RegExp(pattern));
      }
      for (const part of ['mellow', 'otter', 'biscuit']) {
        expect(told + daemon.stderr + daemon.stdout).not.toContain(part);
      }
      const after = await daemon.scrape();
      expect(reloadOf(after)).toEqual([0, reloadOf(before)[1]]);
      expect(customersOf(after)).toEqual(customersOf(before));
      steady.ledger.add('people', { in: 1 });
      expect((await daemon.get('/-/ready')).status).toBe(200);
      await expectExact(...everybody);
    },
  );

  test('is forgotten with the next good one', async () => {
    workspace.write('config.yaml', bad);
    expect((await daemon.reload()).status).toBe(400);
    const [, badAt = NaN] = reloadOf(await daemon.scrape());
    write(everybody);
    expect((await daemon.reload()).status).toBe(200);
    const [successful, goodAt] = reloadOf(await daemon.scrape());
    expect(successful).toBe(1);
    expect(goodAt).toBeGreaterThan(badAt);
  });

  test('may also be one that is not there any more', async () => {
    const answer = await daemon.reload();
    expect(answer.status).toBe(200);
    workspace.write('config.yaml', '');
    expect((await daemon.reload()).status).toBe(400);
    expect(customersOf(await daemon.scrape())).toEqual(['changing', 'leaving', 'steady']);
  });
});

test('fifty reloads at once are answered all, and change nothing', async () => {
  const before = await daemon.scrape();
  const answers = await Promise.all(Array.from({ length: 50 }, async () => daemon.reload()));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  // They are one after the other, and one is for all who asked meanwhile.
  expect(reloadsSaid()).toBeLessThan(50);
  const after = await expectExact(...everybody);
  expect(pollsOf(after, 'steady')).toBeGreaterThanOrEqual(pollsOf(before, 'steady'));
});

test('a reload that was asked for during another one reads what was written before it', async () => {
  const first = daemon.reload();
  write([steady]);
  const second = daemon.reload();
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
  expect(customersOf(await daemon.scrape())).toEqual(['steady']);
});

test('another time zone and another start of the day count for today at once, and for no counter', async () => {
  const before = await daemon.scrape();
  const epoch = before.value('library_epoch_timestamp_seconds', { customer: 'changing' });
  const startsAt = clockFromNow('Pacific/Honolulu', -90);
  write(everybody, {
    customers: { changing: { timezone: 'Pacific/Honolulu', day_starts_at: startsAt } },
  });
  await hangUp();
  await eventually(async () => {
    const after = await daemon.scrape();
    for (const name of ['library_people_entered_total', 'library_logins_total']) {
      const customer = { customer: 'changing' };
      expect(after.value(name, customer)).toBe(before.value(name, customer));
    }
    const startMs = dayStart(Date.now(), 'Pacific/Honolulu', startsAt);
    expect(after.value('library_people_entered_today', { customer: 'changing' })).toBe(
      changing.ledger.total('people', 'in', startMs),
    );
  });
  const after = await daemon.scrape();
  expect(after.value('library_epoch_timestamp_seconds', { customer: 'changing' })).toBe(epoch);
  expect(after.value('library_utc_offset_seconds', { customer: 'changing' })).toBe(
    offsetMs(Date.now(), 'Pacific/Honolulu') / 1000,
  );
  changing.ledger.add('people', { in: 3 });
  await expectExact(changing);
  expectTodayExact(await daemon.scrape(), 'steady', steady.ledger);
});

test('another polling interval counts from the reload on', async () => {
  write(everybody, { polling: { interval: '1h', reconcile_interval: '2h' } });
  await hangUp();
  await sleep(500);
  const slow = pollsOf(await daemon.scrape(), 'steady');
  await sleep(3000);
  expect(pollsOf(await daemon.scrape(), 'steady') - slow).toBeLessThanOrEqual(1);
  write(everybody);
  await hangUp();
  await eventually(async () => {
    expect(pollsOf(await daemon.scrape(), 'steady')).toBeGreaterThan(slow + 3);
  });
  await expectExact(...everybody);
});

test('another service section counts from the reload on, and no counter falls', async () => {
  service.fail(changing, 'hang');
  write(everybody, { service: { timeout: '300ms', max_requests_per_second: 100 } });
  await hangUp();
  const failed = { stream: 'people', reason: 'timeout' };
  const before = (await daemon.scrape()).value('library_exporter_poll_failures_total', failed) ?? 0;
  await eventually(async () => {
    const now = (await daemon.scrape()).value('library_exporter_poll_failures_total', failed);
    expect(now).toBeGreaterThan(before);
  });
  service.heal(changing);
  steady.ledger.add('logins', { in: 2 });
  await expectExact(...everybody);
});

test('GET does not reload', async () => {
  const answer = await daemon.reload('GET');
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('POST, PUT');
});

test('no counter fell in all of it but the polls of those that were changed, and nothing said a secret', async () => {
  await monitor.leave();
  const others = monitor.violations.filter(
    (violation) => !/^library_polls?_\w+\{customer="(changing|leaving)"/.test(violation),
  );
  expect(others).toEqual([]);
  expect(monitor.scrapes).toBeGreaterThan(50);
  expect(service.violations).toEqual([]);
  await expectNoSecret(daemon, service);
});

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
    const tried = child.logLines().filter(({ msg }) => String(msg).includes('is bad')).length;
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
