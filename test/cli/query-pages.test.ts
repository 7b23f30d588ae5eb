/** `query` against a service whose pages do not end, or fail in the middle. */
import { afterAll, expect, test } from 'vitest';
import { objectsOf, Workspace } from '../acceptance/daemon.ts';
import { inTurn, json, startFakeService } from '../service/support/fake-service.ts';
import type { Answer, Asked } from '../service/support/fake-service.ts';
import { ran } from './terminal.ts';
import { configFlag, SECRET } from './simulated-world.ts';

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
  const config = configFlag(workspace, fake.url, { riverside: 'Europe/Copenhagen' });
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
    'a page twice',
  ],
  ['the same page again', { '': page([1, 2], 'a'), a: page([1, 2], 'b') }, 'a page twice'],
  [
    'empty pages without end',
    {
      '': page([1, 2], MANY[0]),
      ...Object.fromEntries(MANY.map((token, i) => [token, page([], MANY[i + 1])])),
    },
    '11 empty pages in a row',
  ],
  [
    'an aggregation',
    { '': page([1, 2], 'a'), a: json(200, { metadata: { aggregation: 'day' }, result: [] }) },
    'aggregation "day" instead of a page of 1000 records: choose a smaller --limit',
  ],
  [
    'a refusal',
    { '': page([1, 2], 'a'), a: json(403, {}) },
    ': riverside: login: auth: GET /v1/login: status 403',
  ],
  [
    'a malformed record',
    {
      '': page([1, 2], 'a'),
      a: json(200, { metadata: {}, result: [{ id: 'l-9' }, { id: { patron: 'Ada' } }] }),
    },
    'malformed: record 1: "id": expected a string (2 rows written)',
  ],
] as const)(
  '%s ends the query with status 1 and the number of rows',
  async (_what, pages, message) => {
    const { status, ids, err } = await queryPages(pages);
    expect({ status, ids }).toEqual({ status: 1, ids: [1, 2] });
    expect(err).toContain(message);
    expect(err).toMatch(/ \(2 rows written\)\n$/);
    expect(err).not.toContain('Ada');
  },
);

test('after failed and empty pages, no record is lost or doubled', async () => {
  const a = inTurn(
    json(503, {}, { 'retry-after': '0' }),
    json(401, {}),
    json(429, {}, { 'retry-after': '1' }),
    page([2], 'b'),
  );
  const pages = { '': page([1], 'a'), a, b: page([], 'c'), c: page([3]) };
  const { status, ids } = await queryPages(pages);
  expect({ status, ids }).toEqual({ status: 0, ids: [1, 2, 3] });
});
