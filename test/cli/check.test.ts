/** `check`: problems and warnings of a configuration; with `--connect` values and findings of the service. */
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/cli/io.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { ALWAYS_OPEN } from '../../src/simulator/libraries.ts';
import { SECRET, startEnvironment } from './simulated-environment.ts';
import type { Environment } from './simulated-environment.ts';
import { ran } from './terminal.ts';
import { MINUTE_KEYS } from '../support/simulated-people.ts';

/** Ten people today, of whom five went out again. */
const VISITS = { visitsAgo: [3, 7, 8, 21, 34, 55, 89, 90, 91, 144] };
const VALUES = 'riverside 10 5 10 10 5 10 5';

/** The rows of the tables with single spaces, without the header, and the findings. */
async function connect(config: string) {
  const { status, out, err } = await ran('check', '--connect', config);
  expect(out + err).not.toContain(SECRET);
  const [, ...tables] = out.split('\n\n').map((part) => part.trimEnd().split('\n'));
  const findings = tables.pop() ?? [];
  // The legend.
  tables.pop();
  const [serviceRows = [], valueRows = [], timesRows = [], branchRows = []] = tables.map((lines) =>
    lines.slice(2).map((row) => row.replaceAll(/ +/g, ' ')),
  );
  return { status, out, serviceRows, valueRows, timesRows, branchRows, findings };
}

test('good files are reported with warnings, bad ones with all problems, without a request', async () => {
  await using environment = await startEnvironment({ riverside: {}, hilltop: {} });
  const { workspace } = environment;
  const hash = `$2y$10$${'x'.repeat(53)}`;
  const web = workspace.write('web.yaml', `basic_auth_users: { prometheus: ${hash} }\n`);
  const flags = [environment.config(), `--web.config.file=${web}`];
  const good = `${workspace.folder}/config.yaml: good, 2 customers, 4 requests a minute\n${web}: good\n`;
  expect(await ran('check', ...flags)).toEqual({ status: 0, out: good, err: '' });
  chmodSync(web, 0o644);
  const warned = await ran('check', ...flags);
  expect(warned.status).toBe(0);
  expect(warned.out).toMatch(/^warning: \S*web\.yaml:1:\d+: basic_auth_users: /);

  const bad = workspace.write('bad.yaml', 'service: {}\n');
  workspace.write('web.yaml', 'rate_limit: {}\n');
  const problems = await ran('check', `--config.file=${bad}`, `--web.config.file=${web}`);
  expect(problems.status).toBe(2);
  expect(problems.out).toMatch(/^\S*bad\.yaml:1:\d+: service\.base_url: /m);
  expect(problems.out).toMatch(/^\S*web\.yaml:1:\d+: .*unknown key/m);
  expect(environment.requests).toEqual([]);
});

test('--rules says whether installed rules are of this version', async () => {
  await using environment = await startEnvironment({ riverside: {} });
  const { workspace } = environment;
  const shipped = fileURLToPath(new URL('../../prometheus/rules/alerts.yml', import.meta.url));
  const old = workspace.write('old.yml', '# library-stats-exporter 0.9.0\ngroups: []\n');
  const flags = [shipped, old].map((file) => `--rules=${file}`);
  const { status, out } = await ran('check', environment.config(), ...flags);
  expect({ status, lines: out.trimEnd().split('\n').slice(1) }).toEqual({
    status: 0,
    lines: [
      `${shipped}: rules of this version`,
      `warning: ${old}: rules of 0.9.0, this is ${VERSION}: copy prometheus/rules again`,
    ],
  });
  const missing = await ran('check', environment.config(), '--rules=no.yml');
  expect(missing).toMatchObject({ status: 1, err: expect.stringMatching(/--rules: .*no\.yml/) });
});

test('--connect prints the values of the service in tables of 80 columns', async () => {
  await using environment = await startEnvironment({
    riverside: VISITS,
    local: { ...VISITS, conventions: { minuteKey: MINUTE_KEYS['local time'] } },
  });
  const config = environment.config({ customer: { breakdowns: ['device'] } });
  const { status, out, serviceRows, valueRows, findings } = await connect(config);
  expect({ status, findings }).toEqual({ status: 0, findings: [''] });
  const time = String.raw`\d\d-\d\d \d\d:\d\d`;
  expect(serviceRows).toEqual([
    expect.stringMatching(`^riverside good ${time} ${time} offset agrees [+-][01]s$`),
    expect.stringMatching(`^local good ${time} ${time} local agrees [+-][01]s$`),
  ]);
  expect(valueRows).toEqual([VALUES, VALUES.replace('riverside', 'local')]);
  expect(Math.max(...out.split('\n').map((row) => row.length))).toBeLessThanOrEqual(80);
});

test('--connect lists branches, and warns of those that counted nobody while the others did', async () => {
  let nowMs = Date.now() - 26 * HOUR_MS;
  const branches = ['Main', 'North'].map((name, i) => ({ id: 101 + i, name }));
  const library = { branches, opening: ALWAYS_OPEN, visitsPerDay: 600 };
  await using environment = await startEnvironment(
    { riverside: { library } },
    {},
    { clock: { nowMs: () => nowMs }, historyMs: 30 * DAY_MS },
  );
  environment.service.setDoors({ customer: 'riverside', branch: 102, alive: false });
  nowMs = Date.now();
  const configured = { 102: 'North', 104: { name: 'Typo', estimate: false } };
  const customer = { breakdowns: ['branch'], branches: configured };
  const { status, findings, branchRows } = await connect(environment.config({ customer }));
  expect(branchRows).toEqual([
    expect.stringMatching(/^riverside 101 - \d+ \d+$/),
    expect.stringMatching(/^riverside 102 North \d+ \d+$/),
    'riverside 104 Typo 0 0',
  ]);
  const silent = 'nobody in the last 24 hours, while the others counted: dead, or closed?';
  expect({ status, findings }).toEqual({
    status: 0,
    findings: [
      'riverside: warning: branch 104: configured, but not counted in 28 days: is the id right?',
      'riverside: warning: branch 101: without a name under branches',
      `riverside: warning: branch 102: ${silent}`,
      `riverside: warning: device 10201: ${silent}`,
    ],
  });
});

test.each([
  ['two days ago', [2_880]],
  ['never', []],
])('--connect warns of doors that counted %s while people logged in', async (_, visitsAgo) => {
  await using environment = await startEnvironment({ riverside: { visitsAgo } });
  const atMs = Math.floor(Date.now() / MINUTE_MS - 5) * MINUTE_MS;
  environment.service.record('riverside', { kind: 'login', atMs });
  const { findings } = await connect(environment.config());
  expect(findings.join()).toContain('in which people logged in');
});

test('a failure of some customers is an error, and leaves the values of the others', async () => {
  const failing = { html: {}, revoked: {}, refused: {} };
  await using environment = await startEnvironment({ riverside: VISITS, ...failing });
  environment.faults.set({ rate: 1, kinds: ['html'] }, 'html');
  environment.service.revoke('revoked');
  // A valid token that the data endpoints refuse is not refused credentials.
  environment.faults.set({ rate: 1, kinds: ['unauthorized'] }, 'refused');
  const { status, serviceRows, valueRows, findings } = await connect(environment.config());
  expect(status).toBe(1);
  expect(serviceRows.slice(1)).toEqual([
    expect.stringMatching(/^html none malformed malformed - - /),
    expect.stringMatching(/^revoked refused auth auth - - /),
    expect.stringMatching(/^refused good auth auth - - /),
  ]);
  expect(valueRows[0]).toBe(VALUES);
  expect(valueRows[1]).toBe('html - - - - - - -');
  for (const error of ['html: error: malformed', 'revoked: error: auth', 'refused: error: auth']) {
    expect(findings.join('\n')).toContain(error);
  }
});

const NIGHTLY = { dayFreshness: 'nightly', quarterFreshness: 'nightly' } as const;
const FORCED = { emptyBuckets: 'listed', forced: { above: 'rows', limit: 20 } } as const;

const CLOCKS = 'the clocks of the service and of this machine differ by more than';

// prettier-ignore
test.each<[Partial<Conventions>, finding: string, service: RegExp, values?: string]>([
  [NIGHTLY, 'warning: day totals differ from minute totals, using a finer aggregation', / offset 0 of 15 \/ 0 of 10 \S+$/, VALUES],
  [{ serviceClockMs: -2 * DAY_MS }, `error: ${CLOCKS} six hours`, / -172[78]\d\ds$/],
  [{ metadataCount: 'counts' }, 'warning: "metadata.count": expected ', / offset agrees \S+$/, VALUES],
  [{ minuteKey: { form: 'opaque' } }, 'error: minute key "bucket ', / good - - unreadable agrees /, 'riverside 10 5 10 10 5 10 -'],
  [{ ...NIGHTLY, ...FORCED }, 'error: timeout: the totals need more than the 100 requests of one interval', / good timeout timeout - - /],
])('%j: %s, and status 1 if it is an error', async (conventions, finding, service, values) => {
  await using environment = await startEnvironment({ riverside: VISITS }, conventions);
  const limits = { polling: { interval: '1s' }, service: { max_requests_per_second: 100 } };
  const { status, serviceRows, valueRows, findings } = await connect(environment.config(limits));
  expect(findings).toEqual([expect.stringContaining(`riverside: ${finding}`)]);
  expect(status).toBe(finding.startsWith('error') ? 1 : 0);
  expect(serviceRows[0]).toMatch(service);
  expect(valueRows[0]).toBe(values ?? valueRows[0]);
});

test('every customer is read even if the limits allow few requests', async () => {
  await using environment = await startEnvironment({ a: {}, b: {} });
  // At 24 a second, all requests take longer than two timeouts.
  const service = { max_requests_per_second: 24, max_concurrency: 2, timeout: '1s' };
  const { status, valueRows } = await connect(environment.config({ service }));
  expect(valueRows).toEqual(['a 0 0 0 0 0 0 0', 'b 0 0 0 0 0 0 0']);
  expect(status).toBe(0);
});

/** East and west of UTC, where clocks are never changed. */
const [EAST, WEST] = ['Asia/Tokyo', 'America/Bogota'];
const LOCAL_KEYS = { minuteKey: MINUTE_KEYS['local time'] };
const SET = 'riverside: error: service.';
const NOBODY_CAME = 'warning: nobody came lately, so service.request_times was not tested';
const AT_40_AND_90 = [40, 90];

/** What the service does, settings, the row of times, and how each finding begins. */
type TimesCase = [
  zone: string,
  visitsAgo: readonly number[],
  conventions: Partial<Conventions>,
  settings: Parameters<Environment['config']>[0],
  row: string,
  findings: readonly string[],
];

// prettier-ignore
test.each<TimesCase>([
  [EAST, AT_40_AND_90, { designator: 'ignored, read as local' }, { service: { request_times: 'utc' } }, '3 0 3 offset, local', [`${SET}request_times: utc does not fit the service, set it to offset`]],
  [EAST, AT_40_AND_90, { designator: 'ignored, read as UTC' }, {}, '0 3 0 utc?', ['riverside: warning: if anybody came between ']],
  [EAST, [3 * 24 * 60], {}, {}, '0 0 0 nobody came', [NOBODY_CAME]],
  [EAST, AT_40_AND_90, { minuteKey: MINUTE_KEYS['UTC without Z'] }, {}, '3 3 3 offset, utc, local', [`${SET}key_times: local does not fit the service, set it to utc if timezone Asia/Tokyo is right`]],
  [WEST, AT_40_AND_90, LOCAL_KEYS, { service: { key_times: 'utc' } }, '3 3 3 offset, utc, local', [`${SET}key_times: utc does not fit the service, set it to local if timezone America/Bogota is right`]],
  // Times without an offset, of another zone at the service, are no fault of request_times.
  [EAST, [360], {}, { customer: { timezone: 'Asia/Karachi' } }, '0 0 1 nobody came', ['riverside: warning: times without an offset mean another hour at the service: is timezone Asia/Karachi right?', NOBODY_CAME]],
  [EAST, [3, 90], LOCAL_KEYS, { customer: { timezone: 'Asia/Kolkata' } }, '', ['riverside: warning: keys of minutes are 3.5 hours ahead of the clock: is timezone Asia/Kolkata right?']],
])('in %s, with visits %j ago, %j and %j, times count %s', async (timezone, visitsAgo, conventions, settings, row, expected) => {
  const sort = { visitsAgo, library: { timezone } };
  await using environment = await startEnvironment({ riverside: sort }, conventions);
  const { status, timesRows, findings } = await connect(environment.config(settings));
  expect(timesRows.join()).toContain(row);
  expect(findings.map((text, i) => text.slice(0, expected[i]?.length || undefined))).toEqual(expected);
  expect(status).toBe(findings.join().includes('error') ? 1 : 0);
});
