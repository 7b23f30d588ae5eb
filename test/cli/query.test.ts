/** `query` against the simulated service. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { objectsOf, Workspace } from '../acceptance/daemon.ts';
import { configFlag, SECRET, startWorld, ZONE } from './simulated-world.ts';
import { ran, Terminal } from './terminal.ts';

const workspace = new Workspace();
const MINUTE_MS = 60_000;
/** One visit and one login each minute. The last one is two hours ago. */
const RIVERSIDE = { visitsAgo: Array.from({ length: 25 }, (_, i) => 145 - i) };
let world: Awaited<ReturnType<typeof startWorld>>;
let startedMs: number;

beforeAll(async () => {
  startedMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  world = await startWorld({ riverside: RIVERSIDE });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await workspace.close();
});

async function query(...args: readonly string[]) {
  return ran('query', world.config(), ...args);
}

/** The number of records, each of which must be there once. */
function recordsIn(out: string): number {
  const ids = objectsOf(out).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  return ids.length;
}

test('raw records are all read once, whatever the limit', async () => {
  for (const limit of [['--limit=7'], ['--limit=25'], []]) {
    const { status, out, err } = await query('login', '--format=ndjson', ...limit);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(recordsIn(out)).toBe(25);
  }
});

test('raw records have the documented fields in order, without those of patrons', async () => {
  expect((await query('login', '--format=csv')).out).toMatch(
    /^id,name,localTime,serverTime,clientTime,category,customerId,branchId,clientId,deviceId\r\nl-/,
  );
  expect((await query('login', '--format=csv', '--include-patron-fields')).out).toMatch(
    /^id,patronAge,patronGender,patronAddress2,name,/,
  );
  expect((await query('peoplecount', '--format=csv')).out).toMatch(
    /^id,amount,name,.*,libraryControllerState,customerId,/,
  );
});

test('--from and --to limit the records, in local time or with an offset', async () => {
  // Between two visits.
  const fromMs = startedMs - 139.5 * MINUTE_MS;
  const to = new Date(fromMs + 5 * MINUTE_MS).toISOString();
  const local = new Date(fromMs).toLocaleString('sv-SE', { timeZone: ZONE });
  for (const from of [new Date(fromMs).toISOString(), local]) {
    const { out } = await query('login', '--format=ndjson', `--from=${from}`, `--to=${to}`);
    expect(recordsIn(out)).toBe(5);
  }
});

test.each([
  ['peoplecount', ['branch', 'client', 'device', 'day', 'quarter', 'minute'], 'key,in,out', 37],
  ['login', ['day', 'quarter', 'minute'], 'key,value', 25],
] as const)('aggregations of %s can all be read', async (endpoint, aggregations, head, sum) => {
  for (const aggregation of aggregations) {
    const { status, out } = await query(endpoint, `--aggregation=${aggregation}`, '--format=csv');
    const [first, ...rows] = out.trimEnd().split('\r\n');
    expect([status, first]).toEqual([0, head]);
    const counts = rows.flatMap((row) => row.split(',').slice(1)).map(Number);
    expect(counts.reduce((a, b) => a + b, 0)).toBe(sum);
  }
  const { out: table } = await query(endpoint, '--aggregation=day');
  expect(table).toMatch(/^ *key +(in +out|value)\n\S+ +25( +12)?\n$/);
});

test.each([
  [['login', '--aggregation=branch'], '--aggregation: expected one of day, quarter, minute for'],
  [
    ['login', '--aggregation=day', '--limit=5'],
    "option '--limit <number>' cannot be used with option '--aggregation <name>'",
  ],
  [['login', '--to=-1h'], '--to needs --from'],
  [
    ['login', '--from=2026-11-01', '--to=2026-11-01'],
    '--to: expected a time after --from (2026-11-01T00:00:00',
  ],
  [['login', '--customer=river'], '--customer: expected one of riverside, got "river"'],
] as const)('%j is refused before the first request', async (args, message) => {
  // Nothing listens on this port: a request would end with status 1.
  const config = configFlag(workspace, 'http://127.0.0.1:1', { riverside: 'Europe/Copenhagen' });
  const { status, out, err } = await ran('query', config, ...args);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(`error: ${message}`);
});

test('a missing --customer is refused with some of the names', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `library-${i}`);
  const config = configFlag(
    workspace,
    'http://127.0.0.1:1',
    Object.fromEntries(names.map((name) => [name, ZONE])),
  );
  expect(await ran('query', 'login', config)).toEqual({
    status: 2,
    out: '',
    err: `error: --customer: expected one of ${names.slice(0, 8).join(', ')} and 4 more, got nothing\n`,
  });
});

const FEW = { forced: { above: 'rows', limit: 6, to: 'day', window: 'as asked' } } as const;

test.each([
  ['lowers the limit', { maximumLimit: 4 }],
  ['cuts pages', FEW],
] as const)('each record is read once if the service %s', async (_what, conventions) => {
  await using limited = await startWorld({ riverside: RIVERSIDE }, conventions);
  const { status, out } = await ran('query', 'login', limited.config(), '--format=ndjson');
  expect([status, recordsIn(out)]).toEqual([0, 25]);
});

test.each([
  ['rejects the limit', [], { maximumLimit: 4, aboveMaximumLimit: 'rejected' }, /status 400/],
  [
    'forces an aggregation',
    [],
    { ...FEW, oversizedPage: 'aggregated' },
    /choose a smaller --limit/,
  ],
  [
    'forces another aggregation',
    ['--aggregation=minute', '--format=csv'],
    FEW,
    /expected the aggregation "minute", got "day", which the service forces/,
  ],
] as const)('a service that %s is an error', async (_what, flags, conventions, message) => {
  await using limited = await startWorld({ riverside: RIVERSIDE }, conventions);
  const { status, out, err } = await ran('query', 'login', limited.config(), ...flags);
  expect(status).toBe(1);
  expect(err).toMatch(message);
  // The rows of the other aggregation are printed nevertheless.
  expect(out).toMatch(flags.length === 0 ? /^$/ : /^key,value\r\n2/);
});

test('refused credentials end the query with status 1 and are not printed', async () => {
  world.service.revoke('riverside');
  const { status, out, err } = await query('login');
  world.service.restore('riverside');
  expect({ status, out }).toEqual({ status: 1, out: '' });
  expect(err).toMatch(/^library-stats-exporter: riverside: login: auth: .* \(0 rows written\)$/m);
  expect(err).not.toContain(SECRET);
});

test('a terminal gets a progress line that is cleared before each page', async () => {
  const terminal = new Terminal();
  terminal.errorIsTerminal = true;
  await terminal.run('query', 'login', world.config(), '--limit=10');
  const clear = '\r\u001b[K';
  const lines = ['1 page, 10 rows', '2 pages, 20 rows', '3 pages, 25 rows'];
  expect(terminal.err).toBe(lines.map((line) => clear + line + clear).join(''));
});
