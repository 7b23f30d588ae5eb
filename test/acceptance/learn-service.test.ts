/**
 * What `npm run acceptance` says about services whose conventions are known: simulated ones, and the ledger
 * service, which has no raw records.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import { ALWAYS_OPEN, drawLibrary } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/simulated-service.ts';
import { MINUTE_KEYS } from '../support/simulated-people.ts';
import { partsIn } from '../support/disguises.ts';
import { body, startScriptedServer, status } from '../support/scripted-server.ts';
import { addOld } from './expected.ts';
import { LedgerService } from './ledger-service.ts';
import { afternoonZone, minuteMs } from './local-time.ts';

const MAIN = fileURLToPath(new URL('service/main.ts', import.meta.url));
const SECRET = 'quartz-otter-lantern';
/** By day, and hours from UTC: else local times and UTC cannot be told apart. */
const IS_AFTERNOON_NEAR_UTC = Math.abs(15 - new Date().getUTCHours()) < 4;
const ZONE = IS_AFTERNOON_NEAR_UTC ? 'Etc/GMT+4' : afternoonZone(Date.now());

/** Runs the command. The environment is nothing but this. */
async function ran(environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [MAIN], {
    env: { ACCEPTANCE_PAUSE_MS: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { out, err, code: code as unknown };
}

function customerAt(url: string, clientSecret = SECRET): Readonly<Record<string, string>> {
  return {
    ACCEPTANCE_SERVICE: url,
    ACCEPTANCE_CLIENT_ID: 'lone-api',
    ACCEPTANCE_CLIENT_SECRET: clientSecret,
    ACCEPTANCE_TIMEZONE: ZONE,
  };
}

/** Starts a service with one library of two branches, in which people come at any time. */
async function startService(conventions: Partial<Conventions>): Promise<string> {
  const library = drawLibrary(1, 1, {
    name: 'lone',
    timezone: ZONE,
    opening: ALWAYS_OPEN,
    quietHours: 0.8,
    visitsPerDay: 4_000,
    branches: [
      { id: 101, name: 'Main', opening: ALWAYS_OPEN },
      { id: 102, name: 'North', opening: ALWAYS_OPEN },
    ],
  });
  const service = createSimulatedService({
    seed: 1,
    clock: systemClock,
    historyMs: 8 * 86_400_000,
    conventions: { ...plainConventions, ...conventions },
    customers: [{ library, clientId: 'lone-api', clientSecret: SECRET }],
  });
  const simulator = await startSimulator({
    service,
    faults: createFaults({ random: seededRandom(1) }),
    clock: systemClock,
    listenAddress: '127.0.0.1:0',
  });
  onTestFinished(() => simulator.close());
  return simulator.url;
}

/** Returns what was learned by the number of the question. */
function learnedIn(out: string): Readonly<Record<string, string>> {
  const answers = out.matchAll(/^(\d+)\. .+\n {3}(.+)$/gm);
  return Object.fromEntries(
    Array.from(answers, ([, number = '', learned = '']) => [number, learned]),
  );
}

const CASES: readonly (readonly [
  what: string,
  conventions: Partial<Conventions>,
  learned: Readonly<Record<number, RegExp>>,
])[] = [
  [
    'the likeliest conventions',
    {},
    {
      1: /^ISO 8601 with Z or an offset, as in 20\d\d-/,
      2: /^they are not listed$/,
      3: /^`from` excludes its edge, `to` excludes it; .* count nobody twice and leave nobody out$/,
      4: /^`localTime` or `clientTime` counts; times have fractions of seconds$/,
      5: /The offset is honoured: `request_times` may be `offset`, `utc`, `local`$/,
      9: /^`day` has all [1-9]\d* counts of today; `quarter` has all/,
      10: /^windows of `day` are as requested; windows of `quarter` are as requested$/,
      11: /^15 minutes: two busy hours have [89] rows, the first one with the key 20\d\d-/,
      14: /^without a token: 401 .*; `aggregation` with `limit`: 400 .*; an unknown aggregation: 400/,
      15: /^the clock of the service is that of this machine$/,
      16: /^the `key` of a branch is a number$/,
      18: /^`limit` 100000 is answered with 10000; `startToken` has \d+ characters$/,
      19: /^none in \d+ records$/,
      20: /^`count` is the number of rows; `from` and `to` are those of the request$/,
    },
  ],
  [
    'whole minutes with both edges, nightly sums, and times without a zone',
    {
      fromEdge: 'inclusive',
      toEdge: 'inclusive',
      resolutionMs: 60_000,
      recordTimes: 'none',
      windowTime: 'server',
      minuteKey: MINUTE_KEYS['local time with a blank'],
      emptyBuckets: 'listed',
      dayFreshness: 'nightly',
      quarterFreshness: 'nightly',
      window: 'whole buckets',
      designator: 'ignored, read as local',
      groupKey: 'string',
      serviceClockMs: 180_000,
      metadataCount: 'counts',
      missingTokenStatus: 403,
    },
    {
      1: /^ISO 8601 in local time, without a zone, as in \S+ \d\d:\d\d$/,
      2: /^they are listed$/,
      3: /^`from` includes its edge, `to` includes it; .* include both edges: [1-9]\d* are counted twice$/,
      4: /^`serverTime` counts; times are whole minutes$/,
      5: /The offset is not honoured: `request_times` may be `offset`, `local`$/,
      9: /^`day` lacks [1-9]\d* of the [1-9]\d* counts of today; `quarter` lacks/,
      10: /^windows of `day` are widened: .*; windows of `quarter` are widened: /,
      14: /^without a token: 403 /,
      15: /^the clock of the service is 1(79|8[0-2]) s ahead$/,
      16: /^the `key` of a branch is a text$/,
      20: /^`count` is the sum of the counts; /,
    },
  ],
  [
    'offsets that are ignored, quarters of a year, and small answers',
    {
      fromEdge: 'inclusive',
      minuteKey: { form: 'epoch', unit: 's', type: 'number' },
      designator: 'ignored, read as UTC',
      quarter: '3 months',
      forced: { above: 'rows', limit: 40 },
      metadataCount: 'absent',
      metadataTimes: 'absent',
    },
    {
      1: /^seconds since 1970, as in \d{10}$/,
      3: /^`from` includes its edge, `to` excludes it; /,
      5: /The offset is not honoured: `request_times` may be `utc`$/,
      11: /^three months, /,
      12: /^`day` in place of `minute` for 60 days/,
      20: /^`count` is absent; `from` and `to` are absent$/,
    },
  ],
];

test.concurrent.each(CASES)('a service with %s', async (_, conventions, learned) => {
  const { out, err, code } = await ran(customerAt(await startService(conventions)));
  expect({ err, code }).toEqual({ err: '', code: 0 });
  const found = learnedIn(out);
  for (const [number, expected] of Object.entries(learned)) {
    expect(found[number], `question ${number}`).toMatch(expected);
  }
  const { toEdge = 'exclusive' } = conventions;
  expect(out).toMatch(
    toEdge === 'exclusive'
      ? /^windows of branches: the two halves of two busy hours add up for all 2 branches; all of them have/m
      : // The minute between them is in both.
        /^windows of branches: the two halves of two busy hours do not add up for [12] of 2 branches; /m,
  );
  expect(partsIn(out, [SECRET])).toEqual([]);
});

/** A ledger service with a visit every few minutes of two days. */
async function startLedger(conventions: Parameters<LedgerService['addCustomer']>[2] = {}) {
  const service = new LedgerService();
  await service.start();
  onTestFinished(() => service.stop());
  const customer = service.addCustomer('lone', ZONE, conventions);
  for (let minutes = 2 * 24 * 60; minutes > 0; minutes -= 7) {
    addOld(customer.ledger, Math.floor(Date.now() / minuteMs - minutes) * minuteMs, 2, 1);
  }
  return { service, customer };
}

test('a service without raw records, written apart', async () => {
  const { service, customer } = await startLedger({ hasRawRecords: false });
  const { out, err, code } = await ran(customerAt(service.url, customer.secret));
  expect({ err, code }).toEqual({ err: '', code: 0 });
  expect(learnedIn(out)).toMatchObject({
    1: expect.stringMatching(/^ISO 8601 with Z or an offset/) as string,
    3: expect.stringMatching(/leave nobody out; raw records are refused: status 400$/) as string,
    11: expect.stringMatching(/^15 minutes: /) as string,
    14: expect.stringMatching(/^without a token: 401 /) as string,
  });
  expect(partsIn(out, service.secrets())).toEqual([]);
});

test.each(['echo in the rows', 'echo in the error', 'echo in the headers'] as const)(
  'what a service repeats is not shown: %s',
  async (fault) => {
    const { service, customer } = await startLedger();
    service.fail(customer, fault);
    const { out, err } = await ran(customerAt(service.url, customer.secret));
    expect(out + err).not.toBe('');
    expect(partsIn(out + err, service.secrets())).toEqual([]);
  },
);

test('refused credentials are an error, and are not shown', async () => {
  const { service } = await startLedger();
  const { out, err, code } = await ran(customerAt(service.url));
  expect({ out, code }).toEqual({ out: '', code: 1 });
  expect(err).toBe(
    `error: ${service.url}/connect/token refuses the credentials: status 400. Are ACCEPTANCE_CLIENT_ID, ` +
      'ACCEPTANCE_CLIENT_SECRET and ACCEPTANCE_AUTH_URL right?\n',
  );
});

test.each([
  ['hangs', () => {}, /does not answer: no complete response in time\n$/],
  [
    'redirects',
    status(302, { location: '/login' }),
    /redirects \(302\): is the address right\?\n$/,
  ],
  [
    'is another page',
    body('<html>', { 'content-type': 'text/html' }),
    /answers with text\/html, not with a JSON object\n$/,
  ],
  ['fails', status(500), /fails: status 500, 4 times\n$/],
] as const)('a service that %s is an error', async (_, data, message) => {
  const server = await startScriptedServer();
  server.data = data;
  const slow = { ACCEPTANCE_TIMEOUT_MS: '300' };
  const { out, err, code } = await ran({ ...customerAt(server.url), ...slow });
  expect({ out, code }).toEqual({ out: '', code: 1 });
  expect(err).toMatch(message);
});

test('a service that is not there is an error', async () => {
  const { service } = await startLedger();
  service.stop();
  const { err, code } = await ran(customerAt(service.url));
  const message = `error: ${service.url}/connect/token does not answer: ECONNREFUSED\n`;
  expect([code, err]).toEqual([1, message]);
});

test.each([
  [{ ACCEPTANCE_SERVICE: '' }, 'ACCEPTANCE_SERVICE is not set'],
  [{ ACCEPTANCE_CLIENT_SECRET: '' }, 'ACCEPTANCE_CLIENT_SECRET is not set'],
  [{ ACCEPTANCE_TIMEZONE: 'Copenhagen' }, 'ACCEPTANCE_TIMEZONE: expected an IANA time zone'],
  [{ ACCEPTANCE_SERVICE: 'http://statistics.example.org' }, 'expected an https address'],
  [{ ACCEPTANCE_AUTH_URL: `https://u:${SECRET}@x.example.org` }, 'ACCEPTANCE_AUTH_URL: expected'],
  [{ ACCEPTANCE_PAUSE_MS: 'soon' }, 'ACCEPTANCE_PAUSE_MS: expected milliseconds'],
])('the environment %j is refused before a request', async (changes, message) => {
  const { out, err, code } = await ran({ ...customerAt('http://127.0.0.1:1'), ...changes });
  expect({ out, code }).toEqual({ out: '', code: 2 });
  expect(err).toContain(message);
  expect(err).not.toContain(SECRET);
});
