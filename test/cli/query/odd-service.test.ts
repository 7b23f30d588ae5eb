/** `query` against services whose pages lead nowhere, or that do not answer well in the middle. */
import { afterAll, describe, expect, test } from 'vitest';
import { Workspace } from '../../acceptance/daemon.ts';
import { inTurn, json, startFakeService } from '../../service/support/fake-service.ts';
import type { Answer, Asked } from '../../service/support/fake-service.ts';
import { ran } from '../terminal.ts';
import { configFile, objectsOf, SECRET } from './service.ts';

const workspace = new Workspace();
afterAll(async () => {
  await workspace.close();
});

/** A page with the records of these numbers; with a token, it promises more. */
function page(ids: readonly number[], startToken?: string): Answer {
  const result = ids.map((id) => ({ id: `l-${id}`, name: 'Station' }));
  return json(200, { metadata: { count: ids.length, startToken }, result });
}

/** A page with the records of these numbers, under a new token each time. */
function endlessly(...ids: readonly number[]): Answer {
  let tokens = 0;
  return (asked, response) => {
    tokens += 1;
    page(ids, `token-${tokens}`)(asked, response);
  };
}

/** The answer to each start token; that to the first page is under the empty one. */
async function queryPages(pages: Readonly<Record<string, Answer>>, ...flags: readonly string[]) {
  await using fake = await startFakeService();
  fake.data = (asked, response) => {
    const answer = pages[parametersOf(asked).get('startToken') ?? ''] ?? json(400, {});
    answer(asked, response);
  };
  const config = `--config.file=${configFile(workspace, fake.url, ['riverside'])}`;
  const args = ['query', 'login', config, '--customer=riverside', '--format=ndjson', ...flags];
  const { status, out, err } = await ran(...args);
  expect(err + out).not.toContain(SECRET);
  const ids = objectsOf(out).map(({ id }) => Number(String(id).slice(2)));
  return { status, ids, err, asked: fake.asked.filter(({ method }) => method === 'GET') };
}

function parametersOf({ url }: Asked): URLSearchParams {
  return new URL(url, 'http://service').searchParams;
}

test('every page is asked for with the same limit and window, and an opaque token as it is', async () => {
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

test('raw records are asked for by the page even if nobody says so', async () => {
  const { asked } = await queryPages({ '': page([1]) });
  expect(asked.map(({ url }) => url)).toEqual(['/v1/login?limit=1000']);
});

describe('pages that lead nowhere end it with status 1 and the number of records', () => {
  test.each([
    ['the token that was asked with', { '': page([1], 'a'), a: page([2], 'a') }, [1, 2]],
    ['a circle', { '': page([1], 'a'), a: page([2], 'b'), b: page([3], 'a') }, [1, 2, 3]],
  ] as const)('%s', async (_what, pages, written) => {
    const { status, ids, err } = await queryPages(pages);
    expect({ status, ids }).toEqual({ status: 1, ids: written });
    expect(err).toMatch(
      new RegExp(`the token of a page that was read already, .*; ${written.length} rows were wr`),
    );
  });

  test('the same page under ever new tokens', async () => {
    const again = endlessly(1, 2);
    const pages = { '': again, 'token-1': again };
    const { status, ids, err } = await queryPages(pages);
    expect({ status, ids }).toEqual({ status: 1, ids: [1, 2] });
    expect(err).toMatch(/the service gave the same page again .*; 2 rows were written\n$/);
  });

  test('empty pages that promise more, without end', async () => {
    const more = endlessly();
    const names = ['', ...Array.from({ length: 50 }, (_, i) => `token-${i + 1}`)];
    const { status, asked, err } = await queryPages(
      Object.fromEntries(names.map((name) => [name, more])),
    );
    expect(status).toBe(1);
    expect(asked).toHaveLength(11);
    expect(err).toMatch(
      /the service gave 11 empty pages that promise more; 0 rows were written\n$/,
    );
  });

  test('an aggregation in place of a page of any size', async () => {
    const forced = json(200, { metadata: { aggregation: '\u001b[2Jday' }, result: [] });
    const { status, ids, asked, err } = await queryPages({ '': page([1], 'a'), a: forced });
    expect({ status, ids }).toEqual({ status: 1, ids: [1] });
    expect(asked.slice(1).map((each) => parametersOf(each).get('limit'))).toEqual(
      [1000, 500, 250, 125, 62, 31, 15, 7, 3, 1].map(String),
    );
    expect(err).toContain('in place of a page of 1000 records; 1 row was written');
    expect(err).not.toContain('\u001b');
  });
});

test('an empty page that keeps its promise is told once, and nothing is lost', async () => {
  const pages = { '': page([1], 'a'), a: page([], 'b'), b: page([], 'c'), c: page([2]) };
  const { status, ids, err } = await queryPages(pages);
  expect({ status, ids }).toEqual({ status: 0, ids: [1, 2] });
  expect(err).toBe('a page is empty, and the service promises more: reading on\n');
});

test('a page that is not given at once is asked for again, and no record is lost or doubled', async () => {
  const a = inTurn(
    json(503, {}, { 'retry-after': '0' }),
    json(401, {}),
    json(429, {}, { 'retry-after': '1' }),
    page([2], 'b'),
  );
  const { status, ids } = await queryPages({ '': page([1], 'a'), a, b: page([3]) });
  expect({ status, ids }).toEqual({ status: 0, ids: [1, 2, 3] });
});

test('a page that never comes ends it with status 1, its reason and the number of records', async () => {
  const { status, ids, err } = await queryPages({ '': page([1, 2], 'a'), a: json(403, {}) });
  expect({ status, ids }).toEqual({ status: 1, ids: [1, 2] });
  expect(err).toBe(
    'library-stats-exporter: riverside: login: auth: GET /v1/login: status 403; 2 rows were written\n',
  );
});

test('a record that is wrong spoils its page, and its value is not told', async () => {
  const bad = json(200, { metadata: {}, result: [{ id: 'l-9' }, { id: { patron: 'Ada' } }] });
  const { status, ids, err } = await queryPages({ '': page([1], 'a'), a: bad });
  expect({ status, ids }).toEqual({ status: 1, ids: [1] });
  expect(err).toContain('malformed: record 1: "id": expected a string, got an object; 1 row was');
  expect(err).not.toContain('Ada');
});

test('a token in an aggregated answer, to which no page belongs, is told', async () => {
  const part = json(200, { metadata: { aggregation: 'day', startToken: 'a' }, result: [] });
  const { status, err } = await queryPages({ '': part }, '--aggregation=day');
  expect(status).toBe(1);
  expect(err).toContain('"metadata.startToken" is present: the answer is incomplete');
});
