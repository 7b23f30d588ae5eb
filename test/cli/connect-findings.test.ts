/** `check --connect`: every finding made to happen once, against the simulated service over HTTP. */
import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../src/simulator/conventions.ts';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { fillHistory } from '../acceptance/world.ts';
import { concernsOf, fieldsOf, started, withCheck, ZONE } from './connect-world.ts';
import type { Sort } from './connect-world.ts';
import { ran } from './terminal.ts';

const ALWAYS_OPEN = { config: { opening_hours: '24/7' } };

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
  ['unreachable', 'reset', '10s'],
  ['malformed', 'html', '10s'],
  ['timeout', 'timeout', '300ms'],
] as const)('an answer that is %s is wrong', async (reason, fault, timeout) => {
  const { faults, check } = withCheck(await started({ riverside: {}, hilltop: {} }));
  faults.set({ rate: 1, kinds: [fault] }, 'hilltop');
  const result = await check({ service: { timeout } });
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
    'wrong: unreachable: POST /connect/token at 127.0.0.1:9: connection refused (ECONNREFUSED)':
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
