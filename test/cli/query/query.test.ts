/** `query` against the simulated service over HTTP: what is read, in which form, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Workspace } from '../../acceptance/daemon.ts';
import { ran, Terminal } from '../terminal.ts';
import { configFile, objectsOf, SECRET, startWorld } from './service.ts';
import type { SimulatedWorld } from './service.ts';

const workspace = new Workspace();
const HOUR_MS = 3_600_000;
const LOGINS = 25;
/** The instants of the logins: a minute apart, the last one an hour ago. */
const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 3 * HOUR_MS;
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
    service.record('riverside', { kind: 'login', atMs: startMs + i * 60_000 });
    service.record('riverside', { kind: i % 5 === 0 ? 'out' : 'in', atMs: startMs + i * 60_000 });
  }
}

async function query(...args: readonly string[]) {
  return ran('query', world.config, ...args);
}

function idsIn(out: string): unknown[] {
  return objectsOf(out).map(({ id }) => id);
}

describe('raw records', () => {
  test.each([['--limit=1'], ['--limit=7'], ['--limit=25'], ['--limit=1000'], []])(
    'are read to the end, each once, with %j',
    async (...limit) => {
      const { status, out, err } = await query('login', '--format=ndjson', ...limit);
      expect({ status, err }).toEqual({ status: 0, err: 'customer riverside, the only one\n' });
      expect(new Set(idsIn(out)).size).toBe(LOGINS);
      expect(idsIn(out)).toHaveLength(LOGINS);
    },
  );

  test('have the documented fields in their order, without those of patrons', async () => {
    const { out } = await query('login', '--format=csv', '--max-records=1');
    expect(out).toMatch(
      /^id,name,localTime,serverTime,clientTime,category,customerId,branchId,clientId,deviceId\r\nl-/,
    );
    const all = await query('login', '--format=csv', '--max-records=1', '--include-patron-fields');
    expect(all.out).toMatch(/^id,patronAge,patronGender,patronAddress2,name,/);
    const people = await query('peoplecount', '--format=csv', '--max-records=1');
    expect(people.out).toMatch(/^id,amount,name,.*,libraryControllerState,customerId,/);
  });

  test('end after --max-records of them, over pages', async () => {
    const { status, out } = await query(
      'login',
      '--format=ndjson',
      '--limit=4',
      '--max-records=10',
    );
    expect(status).toBe(0);
    expect(idsIn(out)).toHaveLength(10);
  });

  test('are those of the time that was asked for, in local time or any other', async () => {
    const from = startMs + 5 * 60_000 - 1;
    const to = startMs + 10 * 60_000 + 1_000;
    const local = new Date(from).toLocaleString('sv-SE', { timeZone: 'Europe/Copenhagen' });
    for (const window of [
      [`--from=${new Date(from).toISOString()}`, `--to=${new Date(to).toISOString()}`],
      [`--from=${local}`, `--to=${new Date(to).toISOString()}`],
    ]) {
      const { out } = await query('login', '--format=ndjson', '--limit=2', ...window);
      expect(idsIn(out)).toHaveLength(6);
    }
    expect(idsIn((await query('login', '--format=ndjson', '--from=-1h')).out)).toEqual([]);
  });

  test('are a head alone where there are none', async () => {
    expect((await query('login', '--from=-1m', '--format=csv')).out.split('\r\n')).toHaveLength(2);
    expect((await query('login', '--from=-1m')).out.split('\n')).toHaveLength(2);
  });
});

describe('aggregations', () => {
  test.each([
    ['peoplecount', ['branch', 'client', 'device', 'day', 'quarter', 'minute'], /^key,in,out\r\n/],
    ['login', ['day', 'quarter', 'minute'], /^key,value\r\n/],
  ] as const)('of %s can all be read', async (what, aggregations, head) => {
    for (const aggregation of aggregations) {
      const { status, out } = await query(what, `--aggregation=${aggregation}`, '--format=csv');
      expect(status).toBe(0);
      expect(out).toMatch(head);
      const counted = out.trimEnd().split('\r\n').slice(1);
      const sum = counted.flatMap((line) => line.split(',').slice(1)).reduce((a, b) => a + +b, 0);
      expect(sum).toBe(LOGINS);
    }
  });

  test('are a table for people unless told otherwise', async () => {
    const { out } = await query('peoplecount', '--aggregation=branch');
    expect(out).toMatch(/^ *key +in +out\n *\d+ +20 +5\n$/);
  });
});

describe('before the service is asked', () => {
  test.each([
    [
      ['login', '--aggregation=branch'],
      'login has no aggregation "branch"; it must be one of day,',
    ],
    [['login', '--aggregation=day', '--limit=5'], '--limit and --max-records are for raw records'],
    [['login', '--aggregation=day', '--max-records=5'], '--max-records are for raw records'],
    [['login', '--to=-1h'], '--to needs --from'],
    [['login', '--from=-1h', '--to=-2h'], '--from must be before --to, and '],
    [['login', '--from=2026-11-01', '--to=2026-11-01'], '--from must be before --to, and 2026-11-'],
    [['login', '--from=yesterday'], 'It must be a time like 2026-11-01T04:00:00+01:00'],
    [['login', '--aggregation=hour'], 'Allowed choices are branch, client, device, day, quarter,'],
    [['login', '--limit=0'], 'It must be a whole number from 1 to 1000000.'],
    [['login', '--format=xml'], 'Allowed choices are table, csv, ndjson.'],
    [['logins'], 'Allowed choices are peoplecount, login.'],
    [[], "missing required argument 'what'"],
    [
      ['login', '--customer=river'],
      'there is no customer "river" in the configuration; it must be',
    ],
  ] as const)('%j is refused', async (args, sentence) => {
    // Nobody listens there: a request would end with status 1.
    const file = configFile(workspace, 'http://127.0.0.1:1', ['riverside']);
    const { status, out, err } = await ran('query', `--config.file=${file}`, ...args);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toContain(sentence);
    expect(err).not.toContain('{');
  });

  test('a customer must be named where there are several, of whom some are told', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `library-${i}`);
    const file = configFile(workspace, 'http://127.0.0.1:1', names);
    const { status, err } = await ran('query', 'login', `--config.file=${file}`);
    expect(status).toBe(2);
    expect(err).toBe(
      `error: --customer is missing; it must be one of ${names.slice(0, 10).join(', ')}, …\n`,
    );
  });

  test('a bad configuration is told with its problems', async () => {
    const { status, out, err } = await ran('query', 'login', '--config.file=/no/such.yaml');
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toContain('/no/such.yaml:1:1: (file): does not exist');
  });
});

describe('where the service limits its answers', () => {
  const FEW = { forced: { above: 'rows', limit: 6, to: 'day', window: 'as asked' } } as const;
  test.each([
    ['clamps the limit', { maximumLimit: 4 }, /^$/],
    [
      'rejects the limit',
      { maximumLimit: 4, aboveMaximumLimit: 'rejected' },
      /^no pages of 25 records \(GET \/v1\/login: status 400\): going on with 3\n$/,
    ],
    ['cuts pages', FEW, /^$/],
    [
      'forces an aggregation in place of a page',
      { ...FEW, oversizedPage: 'aggregated' },
      /^no pages of 25 records \(the service forced the aggregation "day" .*\): going on with 6\n$/,
    ],
  ] as const)('and %s, each record is read once', async (_what, conventions, told) => {
    await using limited = await startWorld(workspace, conventions);
    fill(limited);
    const flags = [limited.config, '--customer=riverside', '--limit=25', '--format=ndjson'];
    const { status, out, err } = await ran('query', 'login', ...flags);
    expect(status).toBe(0);
    expect(err).toMatch(told);
    expect(idsIn(out)).toHaveLength(LOGINS);
    expect(new Set(idsIn(out)).size).toBe(LOGINS);
  });

  test('and forces another aggregation, its rows are shown, and it is no success', async () => {
    await using limited = await startWorld(workspace, FEW);
    fill(limited);
    const flags = [limited.config, '--aggregation=minute', '--format=csv'];
    const { status, out, err } = await ran('query', 'login', ...flags);
    expect(status).toBe(1);
    expect(out).toMatch(/^key,value\r\n2/);
    expect(err).toMatch(
      /login: the service gave the aggregation "day" in place of "minute", as it/,
    );
  });
});

test('refused credentials are told, and never shown', async () => {
  world.service.revoke('riverside');
  const { status, out, err } = await query('login');
  world.service.restore('riverside');
  expect({ status, out }).toEqual({ status: 1, out: '' });
  expect(err).toMatch(
    /riverside: login: auth: the service refused the credentials .*; 0 rows were/,
  );
  expect(err).not.toContain(SECRET);
});

test('progress is told on a terminal, and makes room for the rows', async () => {
  const terminal = new Terminal();
  terminal.errorIsTerminal = true;
  await terminal.run('query', 'login', world.config, '--customer=riverside', '--limit=10');
  expect(terminal.err).toMatch(/3 pages, 25 records, 0\.0 MB, \d+ records\/s\n$/);
  expect(terminal.err.split('\u001b[K')).toHaveLength(6);
});
