/** `check --connect`: every finding made to happen once, against the simulated service over HTTP. */
import { afterEach, expect, test } from 'vitest';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { fillHistory } from '../acceptance/world.ts';
import { DAY_MS, MINUTE_MS } from '../../src/simulator/conventions.ts';
import { concernsOf, ConnectWorld, fieldsOf, ZONE } from './connect-world.ts';
import type { Sort } from './connect-world.ts';
import { ran, Terminal } from './terminal.ts';

let world: ConnectWorld | undefined;

afterEach(async () => {
  await world?.stop();
  world = undefined;
});

async function started(
  sorts: Readonly<Record<string, Sort>>,
  ...more: readonly ConstructorParameters<typeof ConnectWorld>[1][]
): Promise<ConnectWorld> {
  world = new ConnectWorld(sorts, ...more);
  await world.start();
  return world;
}

const ALWAYS_OPEN = { config: { opening_hours: '24/7' } };

test('a service without a fault: no finding, status 0, and the figures are its own', async () => {
  const result = await (await started({ riverside: ALWAYS_OPEN })).check();
  expect(concernsOf(result)).toEqual({});
  expect(result).toMatchObject({ status: 0, err: '' });
  expect(result.out).toMatch(/^nothing is wrong with the customer$/m);
  expect(fieldsOf(result, 'riverside')).toMatchObject({
    reason: 'none',
    token: 'good',
    keys: 'iso',
    day: 'agrees',
    people_entered: '10',
    people_exited: '5',
    people_entered_today: '10',
    people_exited_today: '5',
    occupancy: '5',
  });
  expect(fieldsOf(result, 'riverside', 'logins')).toMatchObject({
    logins: '10',
    logins_today: '10',
  });
  const { newest = '', lag_seconds: lag } = fieldsOf(result, 'riverside');
  expect(Date.now() - Date.parse(newest)).toBeGreaterThan((Number(lag) - 1) * 1_000);
  expect(Number(lag)).toBeGreaterThanOrEqual(3 * 60 - 1);
});

test('the form of the keys that was found, for each customer its own', async () => {
  const sorts = {
    seconds: { conventions: { minuteKey: { form: 'epoch', unit: 's', type: 'string' } } },
    compact: { conventions: { minuteKey: { form: 'compact', zone: 'customer', type: 'number' } } },
    clock: { conventions: { minuteKey: { form: 'clock', zone: 'customer' } } },
    index: { conventions: { minuteKey: { form: 'index', type: 'number' } } },
  } satisfies Record<string, Sort>;
  const result = await (await started(sorts)).check();
  const keys = Object.keys(sorts).map((name) => fieldsOf(result, name)['keys']);
  expect(keys).toEqual(['epoch_seconds', 'compact local', 'time_of_day local', 'minute_of_window']);
  expect(result.status).toBe(0);
});

test('refused credentials are wrong, and only with those whose they are', async () => {
  const { service, check } = withCheck(await started({ riverside: {}, hilltop: {} }));
  service.revoke('hilltop');
  const result = await check();
  expect(result.status).toBe(1);
  expect(result.err).toContain('something is wrong with 1 of 2 customers');
  expect(fieldsOf(result, 'hilltop')).toMatchObject({ reason: 'auth', token: 'refused' });
  expect(fieldsOf(result, 'riverside')).toMatchObject({ reason: 'none', token: 'good' });
  expect(Object.values(concernsOf(result))).toEqual(['hilltop']);
  expect(result.out + result.err).not.toMatch(/quartz|lantern/);
});

test('a token that the data endpoints do not take is told apart from refused credentials', async () => {
  const { faults, check } = withCheck(await started({ riverside: {} }));
  faults.set({ rate: 1, kinds: ['unauthorized'] });
  const result = await check();
  expect(result.status).toBe(1);
  expect(fieldsOf(result, 'riverside')).toMatchObject({ reason: 'auth', token: 'good' });
  expect(result.out).toContain('what to do: there is a token, but not for these data');
});

test.each([
  ['unreachable', 'reset'],
  ['malformed', 'html'],
  ['timeout', 'timeout'],
] as const)('an answer that is %s is wrong', async (reason, fault) => {
  const { faults, check } = withCheck(await started({ riverside: {}, hilltop: {} }));
  faults.set({ rate: 1, kinds: [fault] }, 'hilltop');
  const result = await check({ service: { timeout: '300ms' } });
  expect(result.status).toBe(1);
  expect(fieldsOf(result, 'hilltop')).toMatchObject({ reason, people_entered: '-', newest: '-' });
  expect(fieldsOf(result, 'riverside')).toMatchObject({ reason: 'none' });
});

test('nobody at the address is wrong for all, and said once', async () => {
  const { check } = withCheck(await started({ riverside: {}, hilltop: {} }));
  const nowhere = { base_url: 'http://127.0.0.1:9', auth_url: 'http://127.0.0.1:9' };
  const result = await check({ service: { ...nowhere, timeout: '500ms' } });
  expect(result.status).toBe(1);
  expect(concernsOf(result)).toEqual({
    'wrong: unreachable: POST /connect/token: the connection was refused (ECONNREFUSED)':
      'riverside, hilltop',
  });
});

test('a day that lags is a note that says what is read instead, and the figures are right', async () => {
  const sorts: Record<string, Sort> = {
    nightly: { conventions: { dayFreshness: 'nightly' } },
    both: { conventions: { dayFreshness: 'nightly', quarterFreshness: 'nightly' } },
  };
  const result = await (await started(sorts)).check();
  expect(result.status).toBe(0);
  expect(concernsOf(result)).toEqual({
    'note: day does not agree with minute: the totals are read by quarter instead': 'nightly',
    'note: day does not agree with minute: the totals are read by minute instead': 'both',
  });
  for (const name of ['nightly', 'both']) {
    expect(fieldsOf(result, name)).toMatchObject({ day: '0 of 15', people_entered: '10' });
  }
});

test('a customer who takes more requests than an interval allows is wrong, and ends', async () => {
  const conventions = {
    dayFreshness: 'nightly',
    quarterFreshness: 'nightly',
    emptyBuckets: 'listed',
    forced: { above: 'rows', limit: 20, to: 'day', window: 'as asked' },
  } as const;
  const result = await (
    await started({ endless: { conventions } })
  ).check({ polling: { interval: '1s' }, service: { max_requests_per_second: 100 } });
  expect(result.status).toBe(1);
  expect(concernsOf(result)).toEqual({
    'wrong: timeout: the totals take more than the 100 requests that one interval allows':
      'endless',
  });
});

test("a service's clock that differs by minutes is a note, by days it is wrong", async () => {
  const minutes = await started({ riverside: {} }, { serviceClockMs: 20 * MINUTE_MS });
  const followed = await minutes.check();
  await minutes.stop();
  expect(followed.status).toBe(0);
  expect(Object.keys(concernsOf(followed))).toEqual([
    "note: the service's clock and ours differ by more than a minute: the exporter goes by both",
  ]);
  expect(Number(fieldsOf(followed, 'riverside')['clock_ahead_seconds'])).toBeCloseTo(1_200, -1);
  const days = await started({ riverside: {} }, { serviceClockMs: -2 * DAY_MS });
  const ignored = await days.check();
  expect(ignored.status).toBe(1);
  expect(Object.keys(concernsOf(ignored))[0]).toMatch(/^wrong: the service's clock and ours/);
});

test('no counts at all is a note, and every figure is 0', async () => {
  const result = await (await started({ newborn: { visitsAgo: [], ...ALWAYS_OPEN } })).check();
  expect(result.status).toBe(0);
  expect(concernsOf(result)).toEqual({
    'note: nobody was counted since the epoch, nor in the last 14 days': 'newborn',
  });
  expect(fieldsOf(result, 'newborn')).toMatchObject({
    newest: '-',
    keys: 'undecided',
    day: '-',
    people_entered: '0',
    occupancy: '0',
  });
});

test('old counts are a note while the library is open, and none where it is closed', async () => {
  const visitsAgo = [300, 310];
  const result = await (
    await started({
      open: { visitsAgo, ...ALWAYS_OPEN },
      closed: { visitsAgo, config: { opening_hours: 'off' } },
      unsaid: { visitsAgo },
    })
  ).check();
  expect(result.status).toBe(0);
  expect(concernsOf(result)).toEqual({
    'note: nobody was counted for more than an hour, and the library is open': 'open',
    'note: nobody logged in for more than four hours, and the library is open': 'open',
  });
});

test('the newest minute is looked for in two weeks, and tells the form of the keys', async () => {
  const result = await (
    await started({ asleep: { visitsAgo: [9 * 1_440, 9 * 1_440 + 7] } })
  ).check();
  expect(fieldsOf(result, 'asleep')).toMatchObject({ keys: 'iso', people_entered_today: '0' });
  const days = Number(fieldsOf(result, 'asleep')['lag_seconds']) / 86_400;
  expect(Math.round(days)).toBe(9);
});

test('keys that cannot be read are wrong, for there is no occupancy; the counters are there', async () => {
  const service = new LedgerService();
  const workspace = new Workspace();
  await service.start();
  const opaque = service.addCustomer('opaque', ZONE, { keyForm: 'opaque' });
  fillHistory(opaque.ledger);
  const file = writeConfig(workspace, service, [opaque]);
  const result = await ran('check', '--connect', `--config.file=${file}`);
  await service.stop();
  await workspace.close();
  expect(result.status).toBe(1);
  expect(fieldsOf(result, 'opaque')).toMatchObject({
    reason: 'none',
    keys: 'unknown',
    newest: '-',
    people_entered_today: '26',
    occupancy: '-',
  });
  expect(concernsOf(result)).toEqual({
    'wrong: the keys of the minutes have no known form: there is no occupancy and no last seen':
      'opaque',
  });
});

test('says how many requests a minute the configuration makes, and within which limits', async () => {
  const sorts: Record<string, Sort> = {
    both: { config: { breakdowns: ['branch', 'device'] } },
    one: { config: { streams: ['people'] } },
  };
  const polling = { interval: '30s', reconcile_interval: '10m', breakdown_interval: '2m' };
  const { out } = await (await started(sorts)).check({ polling, service: { max_concurrency: 9 } });
  expect(out).toMatch(
    /^requests: 9.2 a minute: 8 for polls \(every 30s, breakdowns every 2m\), 1.2 for anchors \(every 10m\), 0 for tokens$/m,
  );
  expect(out).toMatch(/^limits: 1000 a second \(.*by default twice .*, at least 10\), 9 at once /m);
});

test('the order is that of the configuration, whoever answers first', async () => {
  const names = Array.from({ length: 40 }, (_, i) => `library-${i}`);
  const { faults, check } = withCheck(
    await started(Object.fromEntries(names.map((name) => [name, { visitsAgo: [4] }]))),
  );
  faults.set({ rate: 1, kinds: ['html'] }, 'library-0');
  const { out } = await check();
  const people = Array.from(out.matchAll(/^customer=(\S+) stream=people/gm), ([, name]) => name);
  expect(people).toEqual(names);
});

test('a terminal gets tables that fit, colours and a progress; NO_COLOR takes the colours', async () => {
  const { service, check } = withCheck(await started({ riverside: {}, hilltop: {} }));
  service.revoke('hilltop');
  const terminal = new Terminal();
  Object.assign(terminal, { outIsTerminal: true, errorIsTerminal: true });
  const { out, err } = await check({}, undefined, terminal);
  const progress = ['1 of 2 customers asked', '2 of 2 customers asked', ''];
  expect(err).toContain(progress.map((text) => `\r\u001B[K${text}`).join(''));
  expect(out).toContain('\u001B[31mwrong\u001B[39m: auth: ');
  const plain = new Terminal();
  Object.assign(plain, { outIsTerminal: true, env: { NO_COLOR: '1' } });
  const uncoloured = await check({}, undefined, plain);
  expect(uncoloured.out).not.toContain('\u001B');
  expect(uncoloured.err).not.toContain('\r');
  expect(uncoloured.out).toMatch(
    /^CUSTOMER +TOKEN +PEOPLE +LOGINS +KEYS +DAY +CLOCK\nriverside +good +\d\d:\d\d \([34]m\) +\d\d:\d\d \([34]m\) +iso +agrees +[+-][01]s\nhilltop +refused +auth +auth +- +- +/m,
  );
  expect(uncoloured.out).toMatch(
    /^CUSTOMER +ENTERED .*\nriverside +10 +5 +10 +10 +5 +10 +5\nhilltop +- +- +- +- +- +- +-$/m,
  );
  const rows = uncoloured.out.match(/^(?:CUSTOMER|riverside|hilltop) .*$/gm) ?? [];
  expect(rows).toHaveLength(6);
  expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(80);
});

/** The world's parts under their own names. */
function withCheck(of: ConnectWorld): Pick<ConnectWorld, 'service' | 'faults' | 'check'> {
  return { service: of.service, faults: of.faults, check: (...args) => of.check(...args) };
}
