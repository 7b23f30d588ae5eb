/** `check --connect` against the simulated service: values, findings and forms of output. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { seededRandom } from '../../src/base/random.ts';
import { DAY_MS, drawConventions, MINUTE_MS } from '../../src/simulator/conventions.ts';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { fillHistory } from '../acceptance/expected.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { SECRET, startWorld, ZONE } from './simulated-world.ts';
import { ran, Terminal } from './terminal.ts';

const VISITS = { visitsAgo: [3, 7, 8, 21, 34, 55, 89, 90, 91, 144] };
const VALUES = {
  people_entered: 10,
  people_exited: 5,
  people_entered_today: 10,
  people_exited_today: 5,
};

const RESULT = z.looseObject({
  streams: z.array(z.looseObject({ customer: z.string(), stream: z.string() })),
  findings: z.array(
    z.object({
      severity: z.enum(['error', 'warning']),
      message: z.string(),
      fix: z.string().min(1),
      customers: z.array(z.string()),
    }),
  ),
});

/** Streams by customer and stream, as in `riverside people`; customers by finding. */
async function checkJson(config: string) {
  const { status, out } = await ran('check', '--connect', '--format=json', config);
  expect(out).not.toContain(SECRET);
  const { streams, findings } = RESULT.parse(JSON.parse(out));
  return {
    status,
    streams: Object.fromEntries<Readonly<Record<string, unknown>>>(
      streams.map((one) => [`${one.customer} ${one.stream}`, one]),
    ),
    findings: Object.fromEntries(
      findings.map(({ severity, message, customers }) => [`${severity}: ${message}`, customers]),
    ),
  };
}

test('a healthy service has no findings, and the values are its own', async () => {
  await using world = await startWorld({
    riverside: VISITS,
    compact: {
      ...VISITS,
      conventions: { minuteKey: { form: 'compact', zone: 'customer', type: 'number' } },
    },
  });
  const { status, streams, findings } = await checkJson(world.config());
  expect({ status, findings }).toEqual({ status: 0, findings: {} });
  expect(streams['riverside people']).toMatchObject({
    ...VALUES,
    failure: null,
    token: 'good',
    keys: 'iso',
    day: 'agrees',
    occupancy: 5,
    door_count_ratio: null,
    empty_at_night: true,
  });
  expect(streams['riverside logins']).toMatchObject({ logins: 10, logins_today: 10 });
  expect(streams['compact people']).toMatchObject({ keys: 'compact local', occupancy: 5 });
  const { newest, lag_seconds: lag } = { ...streams['riverside people'] };
  expect(Number(lag)).toBeGreaterThanOrEqual(3 * 60 - 1);
  expect(Date.now() - Date.parse(String(newest))).toBeGreaterThan((Number(lag) - 1) * 1_000);
});

test('tables fit 80 columns, and progress is shown only on a terminal', async () => {
  await using world = await startWorld({ riverside: VISITS, hilltop: VISITS });
  world.service.revoke('hilltop');
  const args = ['check', '--connect', world.config({ customer: { breakdowns: ['branch'] } })];
  const pipe = await ran(...args);
  expect(pipe.out + pipe.err).not.toContain(SECRET);
  expect(pipe.status).toBe(1);
  for (const pattern of [
    /^CUSTOMER +TOKEN +PEOPLE +LOGINS +KEYS +DAY +CLOCK\nriverside +good +\d\d:\d\d \([34]m\) +\d\d:\d\d \([34]m\) +iso +agrees +[+-][01]s\nhilltop +refused +auth +auth +- +- +/m,
    /^CUSTOMER +ENTERED .*\nriverside +10 +5 +10 +10 +5 +10 +5\nhilltop +- +- +- +- +- +- +-$/m,
    /^CUSTOMER +IN PER OUT +EMPTY AT NIGHT\nriverside +- +yes\nhilltop +- +-$/m,
    /^error: auth: .*\n {2}customers: hilltop\n {2}fix: compare client_id/m,
    /^requests per second: 0\.08, at most 1000 \(max_requests_per_second\)$/m,
  ]) {
    expect(pipe.out).toMatch(pattern);
  }
  expect(pipe.err).toBe('library-stats-exporter: errors for 1 of 2 customers\n');
  const rows = pipe.out.match(/^(?:CUSTOMER|riverside|hilltop) .*$/gm) ?? [];
  expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(80);

  const terminal = new Terminal();
  terminal.errorIsTerminal = true;
  const { err } = await terminal.run(...args);
  expect(err).toContain('\r\u001b[K1 of 2 customers read\r\u001b[K2 of 2 customers read\r\u001b[K');
});

test('a valid token that the data endpoints refuse is not refused credentials', async () => {
  await using world = await startWorld({ riverside: {} });
  world.faults.set({ rate: 1, kinds: ['unauthorized'] });
  const { status, streams } = await checkJson(world.config());
  expect(status).toBe(1);
  expect(streams['riverside people']).toMatchObject({ failure: 'auth', token: 'good' });
});

test('a failure of one customer is an error, and leaves the values of the others', async () => {
  await using world = await startWorld({ riverside: VISITS, hilltop: VISITS });
  world.faults.set({ rate: 1, kinds: ['html'] }, 'hilltop');
  const { status, streams } = await checkJson(world.config());
  expect(status).toBe(1);
  expect(streams['hilltop people']).toMatchObject({
    failure: 'malformed',
    people_entered: null,
    newest: null,
  });
  expect(streams['riverside people']).toMatchObject(VALUES);
});

test('a finding of several customers is reported once', async () => {
  await using world = await startWorld({ riverside: {}, hilltop: {} });
  world.faults.set({ rate: 1, kinds: ['html'] });
  const { status, findings } = await checkJson(world.config());
  expect(status).toBe(1);
  expect(Object.entries(findings)).toEqual([
    [expect.stringMatching(/^error: malformed: /), ['riverside', 'hilltop']],
  ]);
});

test('day totals that lag are a warning, and the values are right', async () => {
  await using world = await startWorld({
    nightly: { ...VISITS, conventions: { dayFreshness: 'nightly' } },
    both: { ...VISITS, conventions: { dayFreshness: 'nightly', quarterFreshness: 'nightly' } },
  });
  const { status, streams, findings } = await checkJson(world.config());
  expect(status).toBe(0);
  expect(findings).toEqual({
    'warning: day totals differ from minute totals, using a finer aggregation': ['nightly', 'both'],
  });
  for (const name of ['nightly', 'both']) {
    expect(streams[`${name} people`]).toMatchObject({ day: '0 of 15', ...VALUES });
  }
});

test('a customer who needs more requests than an interval allows is an error', async () => {
  const conventions = {
    dayFreshness: 'nightly',
    quarterFreshness: 'nightly',
    emptyBuckets: 'listed',
    forced: { above: 'rows', limit: 20, to: 'day', window: 'as asked' },
  } as const;
  await using world = await startWorld({ endless: { ...VISITS, conventions } });
  const limits = { polling: { interval: '1s' }, service: { max_requests_per_second: 100 } };
  const { status, findings } = await checkJson(world.config(limits));
  expect(status).toBe(1);
  expect(findings).toEqual({
    'error: timeout: the totals need more than the 100 requests of one interval': ['endless'],
  });
});

test.each([
  [20 * MINUTE_MS, 0, 'warning', 'a minute', 1_200],
  [-2 * DAY_MS, 1, 'error', 'a day', -172_800],
] as const)(
  'a clock that is %d ms ahead leads to status %d',
  async (serviceClockMs, status, severity, limit, ahead) => {
    await using world = await startWorld({ riverside: VISITS }, { serviceClockMs });
    const result = await checkJson(world.config());
    expect(result.status).toBe(status);
    expect(Object.keys(result.findings)[0]).toBe(
      `${severity}: the clocks of the service and of this machine differ by more than ${limit}`,
    );
    const { clock_ahead_seconds: seconds } = { ...result.streams['riverside people'] };
    expect(Number(seconds)).toBeCloseTo(ahead, -1);
  },
);

test('a customer without counts is a warning, and all values are 0', async () => {
  await using world = await startWorld({ newborn: {} });
  const { status, streams, findings } = await checkJson(world.config());
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

test('unknown minute keys are an error, and the counters are there', async () => {
  const service = new LedgerService();
  const workspace = new Workspace();
  await service.start();
  const opaque = service.addCustomer('opaque', ZONE, { keyFormat: 'opaque' });
  fillHistory(opaque.ledger);
  const config = `--config.file=${writeConfig(workspace, service, [opaque])}`;
  const { status, streams, findings } = await checkJson(config);
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

test.each(Array.from({ length: 16 }, (_, i) => i + 1))(
  'drawn service %d: the values are its own, or an error says why not',
  async (seed) => {
    const conventions = { ...drawConventions(seededRandom(seed)), rateLimit: undefined };
    await using world = await startWorld({ drawn: VISITS }, conventions);
    const config = world.config({ polling: { interval: '1s' } });
    const { status, streams, findings } = await checkJson(config);
    const isReadable = !UNREADABLE.some((finding) => finding in findings);
    const values = { ...streams['drawn logins'], ...streams['drawn people'] };
    const own = { ...VALUES, logins: 10, logins_today: 10 };
    expect(isReadable ? values : own).toMatchObject(own);
    const hasErrors = Object.keys(findings).some((finding) => finding.startsWith('error: '));
    expect({ hasErrors, status }).toEqual({
      hasErrors: !isReadable || values['occupancy'] === null,
      status: hasErrors ? 1 : 0,
    });
  },
);
