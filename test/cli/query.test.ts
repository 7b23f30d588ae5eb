/** `query` against the simulated service. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { configFile, objectsOf, SECRET, startWorld } from './query-service.ts';
import type { SimulatedWorld } from './query-service.ts';
import { ran, Terminal } from './terminal.ts';

const workspace = new Workspace();
const MINUTE_MS = 60_000;
const LOGINS = 25;
/** One login each minute. The last one is more than two hours ago. */
const startMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 180 * MINUTE_MS;
let world: SimulatedWorld;

beforeAll(async () => {
  world = await startWorld(workspace);
  fill(world);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await workspace.close();
});

function fill({ service }: SimulatedWorld): void {
  for (let i = 0; i < LOGINS; i += 1) {
    const atMs = startMs + i * MINUTE_MS;
    service.record('riverside', { kind: 'login', atMs });
    service.record('riverside', { kind: i % 5 === 0 ? 'out' : 'in', atMs });
  }
}

async function query(...args: readonly string[]) {
  return ran('query', world.config, ...args);
}

function idsIn(out: string): unknown[] {
  return objectsOf(out).map(({ id }) => id);
}

describe('raw records', () => {
  test.each([['--limit=7'], ['--limit=25'], []])('are all read once with %j', async (...limit) => {
    const { status, out, err } = await query('login', '--format=ndjson', ...limit);
    expect({ status, err }).toEqual({ status: 0, err: 'customer: riverside\n' });
    expect(idsIn(out)).toHaveLength(LOGINS);
    expect(new Set(idsIn(out)).size).toBe(LOGINS);
  });

  test('have the documented fields in order, without those of patrons', async () => {
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

  test('are limited by --from and --to, in local time or with an offset', async () => {
    const from = startMs + 5 * MINUTE_MS - 1;
    const to = new Date(startMs + 10 * MINUTE_MS + 1_000).toISOString();
    const local = new Date(from).toLocaleString('sv-SE', { timeZone: 'Europe/Copenhagen' });
    for (const time of [new Date(from).toISOString(), local]) {
      const { out } = await query('login', '--format=ndjson', `--from=${time}`, `--to=${to}`);
      expect(idsIn(out)).toHaveLength(6);
    }
  });
});

describe('aggregations', () => {
  test.each([
    ['peoplecount', ['branch', 'client', 'device', 'day', 'quarter', 'minute'], /^key,in,out\r\n/],
    ['login', ['day', 'quarter', 'minute'], /^key,value\r\n/],
  ] as const)('of %s can all be read', async (endpoint, aggregations, head) => {
    for (const aggregation of aggregations) {
      const { status, out } = await query(endpoint, `--aggregation=${aggregation}`, '--format=csv');
      expect(status).toBe(0);
      expect(out).toMatch(head);
      const counts = out.trimEnd().split('\r\n').slice(1);
      const sum = counts.flatMap((line) => line.split(',').slice(1)).reduce((a, b) => a + +b, 0);
      expect(sum).toBe(LOGINS);
    }
  });

  test('are a table by default', async () => {
    const { out } = await query('peoplecount', '--aggregation=branch');
    expect(out).toMatch(/^ *key +in +out\n *\d+ +20 +5\n$/);
  });

  test.each([
    ['day', '2026-11-01', '2026-11-08', []],
    ['day', '2026-11-01T04:00', '2026-11-08', ['first row may be only a part of a day: --from']],
    ['day', '2026-11-01', '2026-11-08T00:00:00.5', ['last row may be only a part of a day: --to']],
    ['quarter', '2026-11-01T04:45', '2026-11-02T10:10', ['last row may be only a part of a quart']],
    [
      'minute',
      '2026-11-01T04:45:01',
      '2026-11-01T05:00',
      ['first row may be only a part of a min'],
    ],
    ['branch', '2026-11-01T04:45:01', '2026-11-01T05:00', []],
  ] as const)('by %s from %s to %s: notes rows that are cut', async (by, from, to, notes) => {
    const { err } = await query(
      'peoplecount',
      `--aggregation=${by}`,
      `--from=${from}`,
      `--to=${to}`,
    );
    expect(err.split('\n').filter((line) => line.startsWith('note: '))).toEqual(
      notes.map((note) => expect.stringContaining(`note: the ${note}`)),
    );
  });
});

describe('before the first request', () => {
  test.each([
    [['login', '--aggregation=branch'], '--aggregation: expected one of day, quarter, minute for'],
    [['login', '--aggregation=day', '--limit=5'], '--limit cannot be combined with --aggregation'],
    [['login', '--to=-1h'], '--to needs --from'],
    [
      ['login', '--from=2026-11-01', '--to=2026-11-01'],
      '--to: expected a time after --from (2026-',
    ],
    [['login', '--customer=river'], '--customer: expected one of riverside, got "river"'],
  ] as const)('%j is refused', async (args, message) => {
    // Nothing listens on this port: a request would end with status 1.
    const file = configFile(workspace, 'http://127.0.0.1:1', ['riverside']);
    const { status, out, err } = await ran('query', `--config.file=${file}`, ...args);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toContain(`error: ${message}`);
  });

  test('a missing --customer is refused with ten of the names', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `library-${i}`);
    const file = configFile(workspace, 'http://127.0.0.1:1', names);
    const { status, err } = await ran('query', 'login', `--config.file=${file}`);
    expect(status).toBe(2);
    expect(err).toBe(
      `error: --customer: expected one of ${names.slice(0, 10).join(', ')}, …, got nothing\n`,
    );
  });
});

describe('if the service limits its answers', () => {
  const FEW = { forced: { above: 'rows', limit: 6, to: 'day', window: 'as asked' } } as const;
  test.each([
    ['lowers the limit', { maximumLimit: 4 }],
    ['cuts pages', FEW],
  ] as const)('and %s, each record is read once', async (_what, conventions) => {
    await using limited = await startWorld(workspace, conventions);
    fill(limited);
    const { status, out } = await ran('query', 'login', limited.config, '--format=ndjson');
    expect(status).toBe(0);
    expect(idsIn(out)).toHaveLength(LOGINS);
    expect(new Set(idsIn(out)).size).toBe(LOGINS);
  });

  test.each([
    ['rejects the limit', { maximumLimit: 4, aboveMaximumLimit: 'rejected' }, 'status 400'],
    ['forces an aggregation', { ...FEW, oversizedPage: 'aggregated' }, 'choose a smaller --limit'],
  ] as const)('and %s instead of a page, that is an error', async (_what, conventions, words) => {
    await using limited = await startWorld(workspace, conventions);
    fill(limited);
    const { status, err } = await ran('query', 'login', limited.config);
    expect(status).toBe(1);
    expect(err).toContain(words);
  });

  test('and forces another aggregation, its rows are printed with status 1', async () => {
    await using limited = await startWorld(workspace, FEW);
    fill(limited);
    const flags = [limited.config, '--aggregation=minute', '--format=csv'];
    const { status, out, err } = await ran('query', 'login', ...flags);
    expect(status).toBe(1);
    expect(out).toMatch(/^key,value\r\n2/);
    expect(err).toContain('expected the aggregation "minute", got "day", which the service forces');
  });
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
  await terminal.run('query', 'login', world.config, '--customer=riverside', '--limit=10');
  expect(terminal.err).toMatch(/3 pages, 25 rows\n$/);
  expect(terminal.err.split('\u001b[K')).toHaveLength(6);
});
