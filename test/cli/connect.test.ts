/** `check --connect` against the simulated service: values, findings and forms of output. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { DAY_MS, drawConventions, MINUTE_MS } from '../../src/simulator/conventions.ts';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { fillHistory } from '../acceptance/expected.ts';
import { checkJson, started, ZONE } from './connect-world.ts';
import type { Sort } from './connect-world.ts';
import { Terminal } from './terminal.ts';

const ALWAYS_OPEN = { config: { opening_hours: '24/7' } };

test('a healthy service has no findings, and the values are its own', async () => {
  const world = await started({ riverside: ALWAYS_OPEN });
  const { status, err, streams, findings } = await world.check();
  expect({ status, err, findings }).toEqual({ status: 0, err: '', findings: {} });
  expect(streams['riverside people']).toMatchObject({
    failure: null,
    token: 'good',
    keys: 'iso',
    day: 'agrees',
    people_entered: 10,
    people_exited: 5,
    people_entered_today: 10,
    people_exited_today: 5,
    occupancy: 5,
    door_count_ratio: null,
    empty_at_night: true,
  });
  expect(streams['riverside logins']).toMatchObject({ logins: 10, logins_today: 10 });
  const { newest, lag_seconds: lag } = streams['riverside people'] ?? {};
  expect(Number(lag)).toBeGreaterThanOrEqual(3 * 60 - 1);
  expect(Date.now() - Date.parse(String(newest))).toBeGreaterThan((Number(lag) - 1) * 1_000);
});

test('the key format is detected for each customer', async () => {
  const sorts = {
    seconds: { conventions: { minuteKey: { form: 'epoch', unit: 's', type: 'string' } } },
    compact: { conventions: { minuteKey: { form: 'compact', zone: 'customer', type: 'number' } } },
    clock: { conventions: { minuteKey: { form: 'clock', zone: 'customer' } } },
  } satisfies Record<string, Sort>;
  const { status, streams } = await (await started(sorts)).check();
  expect(Object.keys(sorts).map((name) => streams[`${name} people`]?.['keys'])).toEqual([
    'epoch_seconds',
    'compact local',
    'time_of_day local',
  ]);
  expect(status).toBe(0);
});

test('the requests per minute follow from the configuration and the life of the tokens', async () => {
  const sorts: Record<string, Sort> = {
    both: { config: { breakdowns: ['branch', 'device'] } },
    one: { config: { streams: ['people'] } },
  };
  const world = await started(sorts, { tokenLifetimeSeconds: 300 });
  const polling = { interval: '30s', reconcile_interval: '10m', breakdown_interval: '2m' };
  const config = await world.writeConfig({ polling, service: { max_concurrency: 9 } });
  const { out } = await new Terminal().run('check', '--connect', `--config.file=${config}`);
  expect(out).toMatch(
    /^requests per minute: 9\.7 = 8 polls \(every 30s, breakdowns every 2m\) \+ 1\.2 baselines \(every 10m\) \+ 0\.5 tokens\nlimits: 1000 per second \(max_requests_per_second\), 9 at once \(max_concurrency\)$/m,
  );
});

test('tables fit 80 columns, and progress is shown only on a terminal', async () => {
  const world = await started({ riverside: {}, hilltop: {} });
  world.service.revoke('hilltop');
  const args = ['check', '--connect', `--config.file=${await world.writeConfig()}`];
  const pipe = await new Terminal().run(...args);
  expect(pipe.out + pipe.err).not.toMatch(/quartz|lantern/);
  expect(pipe.status).toBe(1);
  expect(pipe.out).toMatch(
    /^CUSTOMER +TOKEN +PEOPLE +LOGINS +KEYS +DAY +CLOCK\nriverside +good +\d\d:\d\d \([34]m\) +\d\d:\d\d \([34]m\) +iso +agrees +[+-][01]s\nhilltop +refused +auth +auth +- +- +/m,
  );
  expect(pipe.out).toMatch(
    /^CUSTOMER +ENTERED .*\nriverside +10 +5 +10 +10 +5 +10 +5\nhilltop +- +- +- +- +- +- +-$/m,
  );
  expect(pipe.out).toMatch(
    /^CUSTOMER +IN PER OUT +EMPTY AT NIGHT\nriverside +- +yes\nhilltop +- +-$/m,
  );
  expect(pipe.out).toMatch(/^error: auth: .*\n {2}customers: hilltop\n {2}fix: compare client_id/m);
  expect(pipe.err).toBe('library-stats-exporter: errors for 1 of 2 customers\n');
  const rows = pipe.out.match(/^(?:CUSTOMER|riverside|hilltop) .*$/gm) ?? [];
  expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(80);

  const terminal = new Terminal();
  Object.assign(terminal, { outIsTerminal: true, errorIsTerminal: true });
  const { out, err } = await terminal.run(...args);
  expect(err).toContain('\r\u001b[K1 of 2 customers read\r\u001b[K2 of 2 customers read\r\u001b[K');
  expect(out).toMatch(/^error: auth: /m);
});

test('a valid token that the data endpoints refuse is not refused credentials', async () => {
  const world = await started({ riverside: {} });
  world.faults.set({ rate: 1, kinds: ['unauthorized'] });
  const { status, out, streams } = await world.check();
  expect(status).toBe(1);
  expect(streams['riverside people']).toMatchObject({ failure: 'auth', token: 'good' });
  expect(out).toContain('the token is valid, but not for this data');
});

test.each([
  ['unreachable', 'reset', '10s'],
  ['malformed', 'html', '10s'],
  ['timeout', 'timeout', '300ms'],
] as const)('%s is an error', async (failure, fault, timeout) => {
  const world = await started({ riverside: {}, hilltop: {} });
  world.faults.set({ rate: 1, kinds: [fault] }, 'hilltop');
  const { status, streams } = await world.check({ service: { timeout } });
  expect(status).toBe(1);
  expect(streams['hilltop people']).toMatchObject({ failure, people_entered: null, newest: null });
  expect(streams['riverside people']).toMatchObject({ failure: null });
});

test('a finding of several customers is reported once', async () => {
  const world = await started({ riverside: {}, hilltop: {} });
  const nowhere = { base_url: 'http://127.0.0.1:9', auth_url: 'http://127.0.0.1:9' };
  const { status, findings } = await world.check({ service: { ...nowhere, timeout: '500ms' } });
  expect(status).toBe(1);
  expect(Object.entries(findings)).toEqual([
    [expect.stringMatching(/^error: unreachable: .*ECONNREFUSED/), ['riverside', 'hilltop']],
  ]);
});

test('day totals that lag are a warning, and the values are right', async () => {
  const world = await started({
    nightly: { conventions: { dayFreshness: 'nightly' } },
    both: { conventions: { dayFreshness: 'nightly', quarterFreshness: 'nightly' } },
  });
  const { status, streams, findings } = await world.check();
  expect(status).toBe(0);
  expect(findings).toEqual({
    'warning: day totals differ from minute totals, using quarter': ['nightly'],
    'warning: day totals differ from minute totals, using minute': ['both'],
  });
  for (const name of ['nightly', 'both']) {
    expect(streams[`${name} people`]).toMatchObject({ day: '0 of 15', people_entered: 10 });
  }
});

test('a customer who needs more requests than an interval allows is an error', async () => {
  const conventions = {
    dayFreshness: 'nightly',
    quarterFreshness: 'nightly',
    emptyBuckets: 'listed',
    forced: { above: 'rows', limit: 20, to: 'day', window: 'as asked' },
  } as const;
  const world = await started({ endless: { conventions } });
  const { status, findings } = await world.check({
    polling: { interval: '1s' },
    service: { max_requests_per_second: 100 },
  });
  expect(status).toBe(1);
  expect(findings).toEqual({
    'error: timeout: the totals need more than the 100 requests of one interval': ['endless'],
  });
});

test('clocks that differ by minutes are a warning, by days an error', async () => {
  const minutes = await started({ riverside: {} }, { serviceClockMs: 20 * MINUTE_MS });
  const followed = await minutes.check();
  expect(followed.status).toBe(0);
  expect(Object.keys(followed.findings)).toEqual([
    'warning: the clocks of the service and of this machine differ by more than a minute',
  ]);
  const { clock_ahead_seconds: ahead } = followed.streams['riverside people'] ?? {};
  expect(Number(ahead)).toBeCloseTo(1_200, -1);
  const days = await started({ riverside: {} }, { serviceClockMs: -2 * DAY_MS });
  const ignored = await days.check();
  expect(ignored.status).toBe(1);
  expect(Object.keys(ignored.findings)[0]).toMatch(/^error: the clocks .* by more than a day$/);
});

test('a customer without counts is a warning, and all values are 0', async () => {
  const world = await started({ newborn: { visitsAgo: [], ...ALWAYS_OPEN } });
  const { status, streams, findings } = await world.check();
  expect(status).toBe(0);
  expect(Object.keys(findings)).toEqual([
    'warning: no counts in this month and in the last 14 days',
  ]);
  expect(streams['newborn people']).toMatchObject({
    newest: null,
    keys: 'ambiguous',
    day: '-',
    people_entered: 0,
    occupancy: 0,
  });
});

test('old counts are a warning only while the library is known to be open', async () => {
  const visitsAgo = [300, 310];
  const world = await started({
    open: { visitsAgo, ...ALWAYS_OPEN },
    closed: { visitsAgo, config: { opening_hours: 'off' } },
    unknown: { visitsAgo },
  });
  const { status, findings } = await world.check();
  expect(status).toBe(0);
  expect(findings).toEqual({
    'warning: nobody counted for more than an hour while the library is open': ['open'],
    'warning: no login for more than four hours while the library is open': ['open'],
  });
});

test('unknown minute keys are an error, and the counters are there', async () => {
  const service = new LedgerService();
  const workspace = new Workspace();
  await service.start();
  const opaque = service.addCustomer('opaque', ZONE, { keyFormat: 'opaque' });
  fillHistory(opaque.ledger);
  const { status, streams, findings } = await checkJson(writeConfig(workspace, service, [opaque]));
  await service.stop();
  await workspace.close();
  expect(status).toBe(1);
  expect(streams['opaque people']).toMatchObject({
    keys: 'unknown',
    newest: null,
    people_entered_today: 26,
    occupancy: null,
  });
  expect(Object.keys(findings)).toEqual([
    'error: unknown minute key format, occupancy and last seen are unavailable',
  ]);
});

/** No request returns the totals of such a service (README, limitations). */
const UNREADABLE = [
  'error: day totals differ from minute totals, and the service does not return minutes',
  'error: timeout: the totals need more than the 1000 requests of one interval',
];

test.each(Array.from({ length: 24 }, (_, i) => i + 1))(
  'drawn service %d: the values are its own, or an error says why not',
  async (seed) => {
    const conventions = { ...drawConventions(seededRandom(seed)), rateLimit: undefined };
    const world = await started({ drawn: {} }, conventions);
    const { status, streams, findings } = await world.check({ polling: { interval: '1s' } });
    const isReadable = !UNREADABLE.some((finding) => finding in findings);
    const values = { ...streams['drawn logins'], ...streams['drawn people'] };
    const own = {
      people_entered: 10,
      people_exited: 5,
      people_entered_today: 10,
      people_exited_today: 5,
      logins: 10,
      logins_today: 10,
    };
    expect(isReadable ? values : own).toMatchObject(own);
    const hasErrors = Object.keys(findings).some((finding) => finding.startsWith('error: '));
    expect({ hasErrors, status }).toEqual({
      hasErrors: !isReadable || values['occupancy'] === null,
      status: hasErrors ? 1 : 0,
    });
  },
);
