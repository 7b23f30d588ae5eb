/** `check --connect` against the simulated service over HTTP: what it prints, and in which form. */
import { expect, test } from 'vitest';
import { concernsOf, fieldsOf, started, withCheck } from './connect-world.ts';
import type { Sort } from './connect-world.ts';
import { Terminal } from './terminal.ts';

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

test('the newest minute is looked for in two weeks, and tells the form of the keys', async () => {
  const result = await (
    await started({ asleep: { visitsAgo: [9 * 1_440, 9 * 1_440 + 7] } })
  ).check();
  expect(fieldsOf(result, 'asleep')).toMatchObject({ keys: 'iso', people_entered_today: '0' });
  const days = Number(fieldsOf(result, 'asleep')['lag_seconds']) / 86_400;
  expect(Math.round(days)).toBe(9);
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
