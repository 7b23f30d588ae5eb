/** `query`: rows of the simulated service, pages of a scripted server that fail, wrong command lines. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { ALWAYS_OPEN } from '../../src/simulator/libraries.ts';
import { objectsOf } from '../acceptance/daemon.ts';
import { inTurn, json, startScriptedServer } from '../support/scripted-server.ts';
import type { ReceivedRequest, Responder } from '../support/scripted-server.ts';
import { SECRET, startEnvironment } from './simulated-environment.ts';
import { ran, Terminal } from './terminal.ts';

/** One visit and one login each minute. The last one is two hours ago. */
const RIVERSIDE = { visitsAgo: Array.from({ length: 25 }, (_, i) => 145 - i) };
const environment = await startEnvironment({ riverside: RIVERSIDE });
afterAll(() => environment[Symbol.asyncDispose]());

async function query(...args: readonly string[]) {
  return ran('query', environment.config(), '--customer=riverside', ...args);
}

function recordsIn(out: string): number {
  const ids = objectsOf(out).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  return ids.length;
}

test('raw records are all read once, with fields about patrons only with a flag', async () => {
  const { status, out: lines, err } = await query('login', '--format=ndjson', '--limit=7');
  expect({ status, err }).toEqual({ status: 0, err: '' });
  expect(recordsIn(lines)).toBe(25);
  expect((await query('login', '--format=csv')).out).toMatch(/^id,name,localTime,/);
  const { out } = await query('login', '--format=csv', '--include-patron-fields');
  expect(out).toMatch(/^id,patronAge,patronGender,patronAddress2,name,/);
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
  [['login', '--aggregation=branch'], '--aggregation'],
  [['login', '--aggregation=day', '--limit=5'], '--limit'],
  [['login', '--to=-1h'], '--to needs --from'],
  [['login', '--from=2026-11-01', '--to=2026-11-01'], '--to'],
  [['login', '--customer=river'], '--customer'],
] as const)('%j is refused before the first request', async (args, message) => {
  environment.requests.length = 0;
  const { status, out, err } = await query(...args);
  expect([status, out, ...environment.requests]).toEqual([2, '']);
  expect(err).toContain(message);
});

const FEW = { forced: { above: 'rows', limit: 6 } } as const;

test('if the service limits rows, each record is read once; a forced aggregation is printed, with status 1', async () => {
  await using limited = await startEnvironment({ riverside: RIVERSIDE }, FEW);
  const args = ['query', 'login', limited.config(), '--customer=riverside'];
  expect(recordsIn((await ran(...args, '--format=ndjson')).out)).toBe(25);
  const { status, out, err } = await ran(...args, '--aggregation=minute', '--format=csv');
  expect(status).toBe(1);
  expect(out).toMatch(/^key,value\r\n2/);
  expect(err).toContain('expected the aggregation "minute", got the aggregation "day"');
});

/** More logins in five weeks than a pipe holds. */
const BUSY = { library: { visitsPerDay: 300, loginShare: 1, opening: ALWAYS_OPEN } };

test('ends early and without a message if its reader closes the pipe', async () => {
  await using busy = await startEnvironment({ riverside: BUSY });
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const pipe = ['-o', 'pipefail', '-c', '"$0" "$@" | head -1', process.execPath, main];
  const args = ['query', 'login', busy.config(), '--customer=riverside', '--format=csv'];
  // Rejects if the status is not 0.
  const { stdout, stderr } = await promisify(execFile)('bash', [...pipe, ...args, '--limit=100']);
  expect(stdout).toMatch(/^id,[^\n]*\n$/);
  expect(stderr).toBe('');
});

/** A page with these records. With a token, there are more pages. */
function page(ids: readonly number[], startToken?: string): Responder {
  const result = ids.map((id) => ({ id: `l-${id}`, name: 'Station' }));
  return json(200, { metadata: { count: ids.length, startToken }, result });
}

/** Queries pages by their start token; that of the first page is empty. */
async function queryPages(
  pages: Readonly<Record<string, Responder>>,
  flags: readonly string[] = [],
  terminal = new Terminal(),
) {
  const server = await startScriptedServer();
  server.data = (asked, response) => {
    const respond = pages[parametersOf(asked).get('startToken') ?? ''] ?? json(400, {});
    respond(asked, response);
  };
  const service = { base_url: server.url, auth_url: server.url };
  const config = environment.config({ service, customer: { timezone: 'Europe/Copenhagen' } });
  const args = ['query', 'login', config, '--customer=riverside', '--format=ndjson', ...flags];
  const { status, out, err } = await terminal.run(...args);
  expect(err + out).not.toContain(SECRET);
  const ids = objectsOf(out).map(({ id }) => Number(String(id).slice(2)));
  return { status, ids, out, err, asked: server.received.filter(({ method }) => method === 'GET') };
}

function parametersOf({ url }: ReceivedRequest): URLSearchParams {
  return new URL(url, 'http://service').searchParams;
}

test('every page is requested with the same limit and window, and with the exact token', async () => {
  const token = 'a+b/c=&limit=1#é"\'';
  const pages = { '': page([1, 2], token), [token]: page([3]) };
  const window = ['--from=2026-11-01', '--to=2026-11-02T12:00:00Z'];
  const { status, ids, asked, err } = await queryPages(pages, ['--limit=2', ...window]);
  expect({ status, ids, err }).toEqual({ status: 0, ids: [1, 2, 3], err: '' });
  const common = { limit: '2', from: '2026-11-01T00:00:00+01:00', to: '2026-11-02T13:00:00+01:00' };
  expect(asked.map((each) => Object.fromEntries(parametersOf(each)))).toEqual([
    common,
    { ...common, startToken: token },
  ]);
});

const AGGREGATED = json(200, { metadata: { aggregation: 'day' }, result: [] });
const MALFORMED = json(200, { metadata: {}, result: [{ id: 'l-9' }, { id: { patron: 'Ada' } }] });
/** Pages without records, each with the token of the next. */
const ELEVEN_EMPTY = Object.fromEntries(
  'abcdefghijk'.split('').map((token, i, tokens) => [token, page([], tokens[i + 1])]),
);

test.each([
  ['a circle of tokens', { a: page([3], 'b'), b: page([1], 'a') }, [1, 2, 3], 'a page twice'],
  ['the eleventh empty page', ELEVEN_EMPTY, [1, 2], 'the service returned empty pages'],
  ['an aggregation', { a: AGGREGATED }, [1, 2], 'or a smaller --limit'],
  ['a malformed record', { a: MALFORMED }, [1, 2], 'record 1: "id": expected a string'],
])(
  '%s ends the query with status 1 after the rows so far',
  async (_what, pages, written, message) => {
    const { status, ids, err } = await queryPages({ '': page([1, 2], 'a'), ...pages });
    expect({ status, ids }).toEqual({ status: 1, ids: written });
    expect(err).toContain(message);
    expect(err).toContain(`(rows written: ${written.length})`);
    expect(err).not.toContain('Ada');
  },
);

test('after failed and empty pages, no record is lost or doubled', async () => {
  const limited = json(429, {}, { 'retry-after': '1' });
  const unavailable = json(503, {}, { 'retry-after': '0' });
  const a = inTurn(unavailable, json(401, {}), limited, page([2], 'b'));
  const pages = { '': page([1], 'a'), a, b: page([], 'c'), c: page([3]) };
  const { status, ids } = await queryPages(pages);
  expect({ status, ids }).toEqual({ status: 0, ids: [1, 2, 3] });
});

const WINDOW = { from: '2026-11-01T00:00:00+01:00', to: '2026-11-02T00:00:00+01:00' };
const WINDOW_FLAGS = ['--from=2026-11-01', '--to=2026-11-02', '--limit=1'];

test('JSON is a line for each page, with the documented metadata and fields alone', async () => {
  const metadata = { ...WINDOW, count: 1, limit: 1 };
  const first = { ...metadata, startToken: 'a' };
  const record = { id: 'l-1', name: 'Desk' };
  const more = { ...first, patron: 'Ada', total: 2 };
  const pages = {
    '': json(200, { metadata: more, result: [{ ...record, patronName: 'Ada' }] }),
    a: json(200, { metadata, result: [{ ...record, id: 'l-2' }] }),
  };
  const { status, out, err } = await queryPages(pages, ['--format=json', ...WINDOW_FLAGS]);
  expect({ status, err }).toEqual({ status: 0, err: '' });
  expect(objectsOf(out)).toMatchObject([
    { metadata: first, result: [record] },
    { metadata, result: [{ ...record, id: 'l-2' }] },
  ]);
  expect(out).not.toMatch(/Ada|total/);
});

test('a failure and a signal say how to read on, and these flags do', async () => {
  const token = `it's $HOME "b"`;
  const failed = await queryPages({ '': page([1], token), [token]: json(403, {}) }, WINDOW_FLAGS);
  expect(failed.status).toBe(1);
  expect(failed.err).toContain(
    `(rows written: 1)\nTo read the rest, give --from=${WINDOW.from} --to=${WINDOW.to} --limit=1 ` +
      `--start-token='it'\\''s $HOME "b"'\n`,
  );
  const flags = [`--from=${WINDOW.from}`, `--to=${WINDOW.to}`, '--limit=1'];
  const rest = await queryPages({ [token]: page([2]) }, [...flags, `--start-token=${token}`]);
  expect([rest.status, rest.ids]).toEqual([0, [2]]);
  const terminal = new Terminal();
  const pages = { '': page([1], 'a'), a: () => terminal.terminate() };
  const stopped = await queryPages(pages, ['--limit=1'], terminal);
  expect(stopped.status).toBe(143);
  expect(stopped.err).toContain("To read the rest, give --limit=1 --start-token='a'\n");
});
