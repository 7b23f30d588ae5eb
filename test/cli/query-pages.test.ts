/** `query` against a service whose pages do not end, or fail in the middle. */
import { afterAll, expect, test } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { inTurn, json, startFakeService } from '../service/support/fake-service.ts';
import type { Answer, Asked } from '../service/support/fake-service.ts';
import { ran } from './terminal.ts';
import { configFlag, objectsOf, SECRET } from './simulated-world.ts';

const workspace = new Workspace();
afterAll(async () => {
  await workspace.close();
});

/** A page with these records. With a token, there are more pages. */
function page(ids: readonly number[], startToken?: string): Answer {
  const result = ids.map((id) => ({ id: `l-${id}`, name: 'Station' }));
  return json(200, { metadata: { count: ids.length, startToken }, result });
}

/** Answers by start token; that of the first page is empty. */
async function queryPages(pages: Readonly<Record<string, Answer>>, ...flags: readonly string[]) {
  await using fake = await startFakeService();
  fake.data = (asked, response) => {
    const answer = pages[parametersOf(asked).get('startToken') ?? ''] ?? json(400, {});
    answer(asked, response);
  };
  const settings = { customer: { timezone: 'Europe/Copenhagen' } };
  const config = configFlag(workspace, fake.url, ['riverside'], settings);
  const args = ['query', 'login', config, '--customer=riverside', '--format=ndjson', ...flags];
  const { status, out, err } = await ran(...args);
  expect(err + out).not.toContain(SECRET);
  const ids = objectsOf(out).map(({ id }) => Number(String(id).slice(2)));
  return { status, ids, err, asked: fake.asked.filter(({ method }) => method === 'GET') };
}

function parametersOf({ url }: Asked): URLSearchParams {
  return new URL(url, 'http://service').searchParams;
}

test('every page is requested with the same limit and window, and with the exact token', async () => {
  const token = 'a+b/c=&limit=1#é"\'';
  const pages = { '': page([1, 2], token), [token]: page([3]) };
  const window = ['--from=2026-11-01', '--to=2026-11-02T12:00:00Z'];
  const { status, ids, asked, err } = await queryPages(pages, '--limit=2', ...window);
  expect({ status, ids, err }).toEqual({ status: 0, ids: [1, 2, 3], err: '' });
  const common = {
    limit: '2',
    from: '2026-11-01T00:00:00+01:00',
    to: '2026-11-02T13:00:00+01:00',
  };
  expect(asked.map((each) => Object.fromEntries(parametersOf(each)))).toEqual([
    common,
    { ...common, startToken: token },
  ]);
});

const MANY = Array.from({ length: 50 }, (_, i) => `token-${i + 1}`);

test.each([
  [
    'a circle of tokens',
    { '': page([1], 'a'), a: page([2], 'b'), b: page([1], 'a') },
    [1, 2],
    'a page twice',
  ],
  [
    'the same page under new tokens',
    { '': page([1, 2], 'a'), a: page([1, 2], 'b') },
    [1, 2],
    'a page twice',
  ],
  [
    'empty pages',
    Object.fromEntries(['', ...MANY].map((token, i) => [token, page([], MANY[i])])),
    [],
    '11 empty pages in a row',
  ],
  [
    'an aggregation',
    { '': page([1], 'a'), a: json(200, { metadata: { aggregation: 'day' }, result: [] }) },
    [1],
    'aggregation "day" instead of a page of 1000 records: choose a smaller --limit',
  ],
] as const)('%s instead of further pages: status 1', async (_what, pages, written, message) => {
  const { status, ids, err } = await queryPages(pages);
  expect({ status, ids }).toEqual({ status: 1, ids: written });
  expect(err).toContain(message);
  expect(err).toMatch(/ \(\d rows? written\)\n$/);
});

test('empty pages in between lose nothing', async () => {
  const pages = { '': page([1], 'a'), a: page([], 'b'), b: page([], 'c'), c: page([2]) };
  const { status, ids, err } = await queryPages(pages);
  expect({ status, ids, err }).toEqual({ status: 0, ids: [1, 2], err: '' });
});

test('a page that fails is requested again, and no record is lost or doubled', async () => {
  const a = inTurn(
    json(503, {}, { 'retry-after': '0' }),
    json(401, {}),
    json(429, {}, { 'retry-after': '1' }),
    page([2], 'b'),
  );
  const { status, ids } = await queryPages({ '': page([1], 'a'), a, b: page([3]) });
  expect({ status, ids }).toEqual({ status: 0, ids: [1, 2, 3] });
});

test('a refused page ends the query with status 1, the reason and the number of rows', async () => {
  const { status, ids, err } = await queryPages({ '': page([1, 2], 'a'), a: json(403, {}) });
  expect({ status, ids }).toEqual({ status: 1, ids: [1, 2] });
  expect(err).toBe(
    'library-stats-exporter: riverside: login: auth: GET /v1/login: status 403 (2 rows written)\n',
  );
});

test('a malformed record fails its page, and its value is not printed', async () => {
  const bad = json(200, { metadata: {}, result: [{ id: 'l-9' }, { id: { patron: 'Ada' } }] });
  const { status, ids, err } = await queryPages({ '': page([1], 'a'), a: bad });
  expect({ status, ids }).toEqual({ status: 1, ids: [1] });
  expect(err).toContain('malformed: record 1: "id": expected a string (1 row');
  expect(err).not.toContain('Ada');
});

test('a token in an aggregated answer is an error, because there are no pages', async () => {
  const part = json(200, { metadata: { aggregation: 'day', startToken: 'a' }, result: [] });
  const { status, err } = await queryPages({ '': part }, '--aggregation=day');
  expect(status).toBe(1);
  expect(err).toContain('"metadata.startToken" is present: the answer is incomplete');
});
