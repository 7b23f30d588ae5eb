/** `check`: problems and warnings of a configuration; with `--connect` values and findings of the service. */
import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { seededRandom } from '../../src/base/random.ts';
import { DAY_MS, drawConventions, MINUTE_MS } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { SECRET, startWorld } from './simulated-world.ts';
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

test('good files are reported with warnings, and without a request', async () => {
  await using world = await startWorld({ riverside: {}, hilltop: {} });
  const requests: string[] = [];
  world.onRequest = (request) => void requests.push(request);
  const { workspace } = world;
  const hash = `$2y$10$${'x'.repeat(53)}`;
  const web = workspace.write('web.yaml', `basic_auth_users: { prometheus: ${hash} }\n`);
  const flags = [world.config(), `--web.config.file=${web}`];
  const file = `${workspace.folder}/config.yaml`;
  const good = `${file}: good, 2 customers\n${web}: good\n`;
  expect(await ran('check', ...flags)).toEqual({ status: 0, out: good, err: '' });
  chmodSync(web, 0o644);
  const { status, out } = await ran('check', ...flags);
  expect(status).toBe(0);
  expect(out).toMatch(/^warning: \S*web\.yaml:1:\d+: basic_auth_users: /);
  const json = await ran('check', ...flags, '--format=json');
  const warnings = [out.slice('warning: '.length, out.indexOf('\n'))];
  expect(JSON.parse(json.out)).toEqual({ config: file, customers: 2, warnings });
  expect(requests).toEqual([]);

  const bad = workspace.write('bad.yaml', 'service: {}\n');
  workspace.write('web.yaml', 'rate_limit: {}\n');
  const badFlags = [`--config.file=${bad}`, `--web.config.file=${web}`];
  const problems = await ran('check', ...badFlags);
  expect(problems).toMatchObject({ status: 2, err: 'the configuration has problems\n' });
  expect(problems.out).toMatch(/^\S*bad\.yaml:1:\d+: service\.base_url: /m);
  expect(problems.out).toMatch(/^\S*web\.yaml:1:\d+: .*unknown key/m);
  const badJson = await ran('check', ...badFlags, '--format=json');
  expect(badJson.status).toBe(2);
  const lines = problems.out.trimEnd().split('\n');
  expect(JSON.parse(badJson.out)).toEqual({ config: bad, problems: lines });
});

test('a healthy service has no findings, and the values are its own', async () => {
  const minuteKey = { form: 'compact', zone: 'customer', type: 'number' } as const;
  await using world = await startWorld({
    riverside: VISITS,
    compact: { ...VISITS, conventions: { minuteKey } },
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

test('a failure of some customers is one error, and leaves the values of the others', async () => {
  await using world = await startWorld({
    riverside: VISITS,
    hilltop: VISITS,
    harbour: {},
    refused: {},
  });
  world.faults.set({ rate: 1, kinds: ['html'] }, 'hilltop');
  world.faults.set({ rate: 1, kinds: ['html'] }, 'harbour');
  // A valid token that the data endpoints refuse is not refused credentials.
  world.faults.set({ rate: 1, kinds: ['unauthorized'] }, 'refused');
  const { status, streams, findings } = await checkJson(world.config());
  expect(status).toBe(1);
  expect(Object.entries(findings)).toContainEqual([
    expect.stringMatching(/^error: malformed: /),
    ['hilltop', 'harbour'],
  ]);
  const failed = { failure: 'malformed', people_entered: null, newest: null };
  expect(streams['hilltop people']).toMatchObject(failed);
  expect(streams['refused people']).toMatchObject({ failure: 'auth', token: 'good' });
  expect(streams['riverside people']).toMatchObject(VALUES);
});

const NIGHTLY = { dayFreshness: 'nightly', quarterFreshness: 'nightly' } as const;
const ENDLESS = {
  ...NIGHTLY,
  emptyBuckets: 'listed',
  forced: { above: 'rows', limit: 20, to: 'day', window: 'as asked' },
} as const;
const FINER = 'warning: day totals differ from minute totals, using a finer aggregation';

test.each<
  readonly [string, Partial<Conventions>, visitsAgo: readonly number[], finding: string, object]
>([
  [
    'lagging days',
    { dayFreshness: 'nightly' },
    VISITS.visitsAgo,
    FINER,
    { day: '0 of 15', ...VALUES },
  ],
  ['lagging quarters, too', NIGHTLY, VISITS.visitsAgo, FINER, { day: '0 of 15', ...VALUES }],
  [
    'a clock that is ahead',
    { serviceClockMs: 20 * MINUTE_MS },
    VISITS.visitsAgo,
    'warning: the clocks of the service and of this machine differ by more than a minute',
    { clock_ahead_seconds: expect.closeTo(1_200, -1) },
  ],
  [
    'a wrong clock',
    { serviceClockMs: -2 * DAY_MS },
    VISITS.visitsAgo,
    'error: the clocks of the service and of this machine differ by more than a day',
    { clock_ahead_seconds: expect.closeTo(-172_800, -1) },
  ],
  [
    'no counts',
    {},
    [],
    'warning: no counts in this month and in the last 14 days',
    { newest: null, keys: 'ambiguous', day: '-', people_entered: 0, occupancy: 0 },
  ],
  [
    'unknown minute keys',
    { minuteKey: { form: 'epoch', unit: 'min', type: 'number' } },
    VISITS.visitsAgo,
    'error: unknown minute key format, occupancy and last seen are unavailable',
    { ...VALUES, keys: 'unknown', newest: null, occupancy: null },
  ],
  [
    'too many requests',
    ENDLESS,
    VISITS.visitsAgo,
    'error: timeout: the totals need more than the 100 requests of one interval',
    { failure: 'timeout' },
  ],
])(
  '%s: the finding, and status 1 if it is an error',
  async (_what, conventions, visitsAgo, finding, people) => {
    await using world = await startWorld({ riverside: { visitsAgo } }, conventions);
    const limits = { polling: { interval: '1s' }, service: { max_requests_per_second: 100 } };
    const { status, streams, findings } = await checkJson(world.config(limits));
    expect(findings).toEqual({ [finding]: ['riverside'] });
    expect(status).toBe(finding.startsWith('error') ? 1 : 0);
    expect(streams['riverside people']).toMatchObject(people);
  },
);

test('every customer is read even if the limits allow few requests', async () => {
  const names = ['a', 'b', 'c', 'd'].map((name) => [name, {}]);
  await using world = await startWorld(Object.fromEntries(names));
  // At 24 a second, all requests take longer than two timeouts.
  const service = { max_requests_per_second: 24, max_concurrency: 2, timeout: '2s' };
  const { status, out } = await ran('check', '--connect', world.config({ service }));
  expect(out.match(/^[a-d] +good +none +none /gm)).toHaveLength(4);
  expect(status).toBe(0);
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
    // Whether keys are ambiguous depends on the zone, and so on the hour: that is a warning.
    const lacksOccupancy = values['occupancy'] === null && values['keys'] !== 'ambiguous';
    expect({ hasErrors, status }).toEqual({
      hasErrors: !isReadable || lacksOccupancy,
      status: hasErrors ? 1 : 0,
    });
  },
);
