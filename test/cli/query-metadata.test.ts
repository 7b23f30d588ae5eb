/** `query` with the metadata of responses: JSON, and reading on after an interruption. */
import { afterAll, expect, test } from 'vitest';
import { objectsOf, Workspace } from '../acceptance/daemon.ts';
import { json, startScriptedServer } from '../support/scripted-server.ts';
import type { Responder } from '../support/scripted-server.ts';
import { configFlag } from './simulated-environment.ts';
import { Terminal } from './terminal.ts';

const workspace = new Workspace();
afterAll(() => workspace.close());

/** Queries logins from a server that responds to each start token; that of the first page is empty. */
async function query(
  responders: Readonly<Record<string, Responder>>,
  flags: readonly string[] = [],
  terminal = new Terminal(),
) {
  const server = await startScriptedServer();
  const asked: URLSearchParams[] = [];
  server.data = (request, response) => {
    const parameters = new URL(request.url, 'http://service').searchParams;
    asked.push(parameters);
    const respond = responders[parameters.get('startToken') ?? ''] ?? json(400, {});
    respond(request, response);
  };
  const config = configFlag(workspace, server.url, { riverside: 'Europe/Copenhagen' });
  const ended = await terminal.run('query', 'login', config, '--customer=riverside', ...flags);
  return { ...ended, asked };
}

const WINDOW = { from: '2026-11-01T00:00:00+01:00', to: '2026-11-02T00:00:00+01:00' };
const WINDOW_FLAGS = ['--from=2026-11-01', '--to=2026-11-02'];

function page(id: string, metadata: object): Responder {
  return json(200, { metadata: { ...WINDOW, ...metadata }, result: [{ id, name: 'Desk' }] });
}

const NULLS = {
  localTime: null,
  serverTime: null,
  clientTime: null,
  category: null,
  customerId: null,
  branchId: null,
  clientId: null,
  deviceId: null,
};

test('JSON is a line for each page, with the documented metadata and fields alone', async () => {
  const { status, out, err } = await query(
    {
      '': page('l-1', { count: 1, limit: 1, startToken: 'a', patron: 'Ada', total: 2 }),
      a: page('l-2', { count: 1, limit: 1 }),
    },
    ['--format=json', '--limit=1', ...WINDOW_FLAGS],
  );
  expect({ status, err }).toEqual({ status: 0, err: '' });
  expect(objectsOf(out)).toEqual([
    {
      metadata: { ...WINDOW, count: 1, startToken: 'a', limit: 1 },
      result: [{ id: 'l-1', name: 'Desk', ...NULLS }],
    },
    {
      metadata: { ...WINDOW, count: 1, limit: 1 },
      result: [{ id: 'l-2', name: 'Desk', ...NULLS }],
    },
  ]);
});

test('a failure says how to read on, and these flags do', async () => {
  const token = `it's $HOME "b"`;
  const responders = { '': page('l-1', { startToken: token }), [token]: json(403, {}) };
  const failed = await query(responders, ['--format=ndjson', '--limit=1', ...WINDOW_FLAGS]);
  expect(failed.status).toBe(1);
  expect(failed.err).toContain(
    `(rows written: 1)\nTo read the rest, give --from=${WINDOW.from} --to=${WINDOW.to} --limit=1 ` +
      `--start-token='it'\\''s $HOME "b"'\n`,
  );
  const flags = [
    `--from=${WINDOW.from}`,
    `--to=${WINDOW.to}`,
    '--limit=1',
    `--start-token=${token}`,
  ];
  const rest = await query({ [token]: page('l-2', {}) }, ['--format=ndjson', ...flags]);
  expect([rest.status, objectsOf(rest.out).map(({ id }) => id)]).toEqual([0, ['l-2']]);
  expect(rest.asked.map((each) => Object.fromEntries(each))).toEqual([
    { ...WINDOW, limit: '1', startToken: token },
  ]);
});

test('so does an interruption', async () => {
  const terminal = new Terminal();
  const responders: Record<string, Responder> = {
    '': page('l-1', { startToken: 'a' }),
    a: () => terminal.terminate(),
  };
  const { status, err } = await query(responders, ['--limit=1'], terminal);
  expect(status).toBe(143);
  expect(err).toContain("To read the rest, give --limit=1 --start-token='a'\n");
});
