/** What an answer may look like, and what is malformed. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { Endpoint, PageQuestion, RawPage } from '../../src/base/model.ts';
import {
  decodeAggregated,
  decodePage,
  decodeRefusal,
  decodeToken,
  recordFields,
} from '../../src/service/decode.ts';

const METADATA = { aggregation: 'minute', count: 1 };

function answer(value: unknown, contentType: string | undefined = 'application/json') {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { contentType, body: Buffer.from(text) };
}

function decode(value: unknown, endpoint: Endpoint = 'peoplecount') {
  return decodeAggregated(endpoint, answer(value), []);
}

function rows(...result: readonly unknown[]): object {
  return { metadata: METADATA, result };
}

function problem(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ServiceError && error.reason === 'malformed' && error.status === 200) {
      return error.message;
    }
    throw error;
  }
  throw new Error('Nothing was thrown');
}

describe('an aggregated answer', () => {
  test('has its rows in order, with counts in the order in, out', () => {
    const people = { metadata: { aggregation: 'BRANCH' }, result: [] as unknown[] };
    people.result = [
      { key: 'b', out: 2, in: 1 },
      { key: -7, in: 0, out: 1_000_000_000, x: [] },
    ];
    expect(decode(people)).toEqual({
      aggregation: 'branch',
      rows: [
        { key: 'b', counts: [1, 2] },
        { key: -7, counts: [0, 1_000_000_000] },
      ],
    });
    expect(decode(rows({ key: 'a', value: 4 }), 'login').rows).toEqual([{ key: 'a', counts: [4] }]);
  });

  test.for([null, ''])('is complete with the startToken %j', (startToken) => {
    expect(decode({ metadata: { ...METADATA, startToken }, result: [] }).rows).toEqual([]);
  });

  test('takes nothing from __proto__', () => {
    const row = '{"__proto__":{"in":5,"out":5,"key":1},"key":1,"in":1,"out":1}';
    const text = `{"__proto__":{"result":[]},"metadata":{"aggregation":"day"},"result":[${row}]}`;
    expect(decode(text).rows).toEqual([{ key: 1, counts: [1, 1] }]);
    expect(problem(() => decode(text.replace('"in":1,"out":1}]', '"x":1}]')))).toContain('"in"');
  });

  test.for(['application/json; charset=utf-8', 'Application/JSON ;x', 'application/problem+json'])(
    'may have the content type %s',
    (contentType) => {
      expect(decodeAggregated('login', answer(rows(), contentType), []).rows).toEqual([]);
    },
  );
});

describe('an answer is malformed', () => {
  test.for(['', 'text/html', 'application/jsonp', 'text/html; application/json'])(
    'with the content type "%s"',
    (contentType) => {
      expect(problem(() => decodeAggregated('login', answer(rows(), contentType), []))).toBe(
        'expected the content type application/json',
      );
    },
  );

  test.for([
    ['nothing', ''],
    ['a half', '{"metadata":{"aggregation":"minute"},"result":['],
    ['two answers', '{}{}'],
    ['invalid UTF-8', Buffer.from([0xc3, 0x28])],
    ['nested lists', '['.repeat(4_000_000)],
  ] as const)('as %s', ([, text]) => {
    const content = { contentType: 'application/json', body: Buffer.from(text) };
    expect(problem(() => decodeAggregated('login', content, []))).toBe(
      'expected complete JSON in UTF-8',
    );
  });

  test.for([
    [[], 'expected a JSON object'],
    ['null', 'expected a JSON object'],
    [{ error: 'no' }, '"metadata": expected an object'],
    [{ metadata: [], result: [] }, '"metadata": expected an object'],
    [{ metadata: {}, result: [] }, '"metadata.aggregation": expected the name of an aggregation'],
    [
      { metadata: { aggregation: 'x'.repeat(65) }, result: [] },
      '"metadata.aggregation": expected the name of an aggregation',
    ],
    [
      { metadata: { ...METADATA, startToken: 'abc' }, result: [] },
      '"metadata.startToken" is present: the answer is incomplete',
    ],
    [{ metadata: METADATA, result: {} }, '"result": expected an array'],
    [rows(null), 'row 0: expected an object'],
    [rows({ key: 1, value: 1 }), 'row 0: "in": expected an integer from 0 to 1000000000'],
  ] as const)('in its shape: %#', ([value, message]) => {
    expect(problem(() => decode(value))).toBe(message);
  });

  test.for(['"7"', '""', 'null', 'true', '-1', '1.5', '1000000001', '1e400', '{}', '[1]'])(
    'when a count is %s',
    (count) => {
      const row = `{"key":2,"in":1,"out":${count}}`;
      const text = `{"metadata":{"aggregation":"minute"},"result":[${row}]}`;
      expect(problem(() => decode(text))).toBe(
        'row 0: "out": expected an integer from 0 to 1000000000',
      );
    },
  );

  test.for([undefined, null, {}, 1.5, 2 ** 53, 'k'.repeat(65), true])('when a key is %j', (key) => {
    expect(problem(() => decode(rows({ key, in: 1, out: 1 })))).toBe(
      'row 0: "key": expected an integer or a short string',
    );
  });
});

test('an answer with a changed byte or value is decoded whole or malformed', () => {
  const good = rows({ key: 'a', in: 3, out: 1 }, { key: 7, in: 0, out: 12 });
  const text = JSON.stringify(good);
  const values = [...text.matchAll(/"[^"]*"(?!:)|\d+|\{[^{}]*\}|\[.*\]/g)];
  const changed = fc.oneof(
    fc.tuple(fc.nat(text.length - 1), fc.uint8Array({ maxLength: 3 })).map(([position, bytes]) => {
      const before = Buffer.from(text.slice(0, position));
      return Buffer.concat([before, bytes, Buffer.from(text.slice(position + 1))]);
    }),
    fc.tuple(fc.constantFrom(...values), fc.jsonValue()).map(([{ 0: old, index }, value]) => {
      const rest = text.slice(index + old.length);
      return Buffer.from(text.slice(0, index) + JSON.stringify(value) + rest);
    }),
  );
  function countsIn(content: Buffer): readonly number[] {
    try {
      const decoded = decodeAggregated('peoplecount', { ...answer(good), body: content }, []);
      return decoded.rows.flatMap((row) => row.counts);
    } catch (error) {
      if (error instanceof ServiceError && error.reason === 'malformed') {
        return [];
      }
      throw error;
    }
  }
  fc.assert(
    fc.property(changed, (content) => {
      const bad = countsIn(content).filter((count) => !Number.isInteger(count) || count < 0);
      expect(bad).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
});

describe('a token answer', () => {
  const good = { access_token: 'abc.def', expires_in: 3600, token_type: 'Bearer' };

  test('has a token, and a life if that is a number', () => {
    const bearer = { ...good, token_type: 'BEARER' };
    expect(decodeToken(answer(bearer))).toEqual({ value: 'abc.def', expiresInSeconds: 3600 });
    expect(decodeToken(answer({ ...good, expires_in: 'soon' })).expiresInSeconds).toBeUndefined();
  });

  test.for([
    { ...good, token_type: undefined },
    { ...good, token_type: 'mac' },
    ...[undefined, '', 7, 'a b', 'a\r\nX-Header: y', 'ä', 'a'.repeat(20_000)].map((value) => ({
      ...good,
      access_token: value,
    })),
  ])('is malformed with another type, or a token that no header can carry: %#', (value) => {
    expect(problem(() => decodeToken(answer(value)))).toMatch(/^"(token_type|access_token)": /);
  });
});

test('a refusal is an error code of RFC 6749 or `other`, never the words of the service', () => {
  expect(decodeRefusal(answer({ error: 'invalid_client' }))).toBe('invalid_client');
  expect(decodeRefusal(answer({ error: 'no client with the secret abc' }))).toBe('other');
  for (const value of [{}, { error: '' }, { error: {} }, [], 'not json']) {
    expect(decodeRefusal(answer(value))).toBeUndefined();
  }
  expect(decodeRefusal(answer({ error: 'invalid_client' }, 'text/html'))).toBeUndefined();
});

describe('a page of raw records', () => {
  const LOGIN = {
    id: 'l-1',
    patronAge: 44,
    patronGender: 'F',
    patronAddress2: 'Nordby',
    name: 'Station 1',
    localTime: '2026-11-01T10:00:00+01:00',
    serverTime: '2026-11-01T09:00:01Z',
    clientTime: '2026-11-01T09:00:00Z',
    category: 'login',
    customerId: 1,
    branchId: 2,
    clientId: 3,
    deviceId: 4,
  };

  function page(value: unknown, question: Partial<PageQuestion> = {}) {
    return decodePage(
      { endpoint: 'login', limit: 10, includePatronFields: false, ...question },
      answer(value),
      [],
    );
  }

  test('has the fields of the document, in its order', () => {
    expect(recordFields('login', true)).toEqual(Object.keys(LOGIN));
    expect(recordFields('peoplecount', true).join(' ')).toBe(
      'id amount name localTime serverTime clientTime category libraryControllerState ' +
        'customerId branchId clientId deviceId',
    );
  });

  test('has the fields about patrons only if they are requested, and never others', () => {
    const more = { ...LOGIN, patronName: 'Ada', cardNumber: 4711 };
    const { id, name, localTime, serverTime, clientTime } = LOGIN;
    const record = [id, name, localTime, serverTime, clientTime, 'login', 1, 2, 3, 4];
    expect(page({ metadata: {}, result: [more] })).toEqual({
      aggregation: undefined,
      records: [record],
      startToken: undefined,
    });
    const all = page({ metadata: {}, result: [more] }, { includePatronFields: true });
    expect(all).toMatchObject({ records: [Object.values(LOGIN)] });
  });

  test('has null for missing values', () => {
    const record = { id: 'l-1', name: null };
    expect(page({ metadata: {}, result: [record] })).toMatchObject({
      records: [['l-1', ...Array<null>(9).fill(null)]],
    });
  });

  test('has the token of the next page as a secret', () => {
    const decoded = page({ metadata: { startToken: 'opaque+/=' }, result: [LOGIN] });
    expect((decoded as RawPage).startToken?.reveal()).toBe('opaque+/=');
    expect(JSON.stringify(decoded)).not.toContain('opaque');
  });

  test('is the name of the aggregation that the service forced', () => {
    const forced = { metadata: { aggregation: 'day' }, result: [{ key: 'x', value: 1 }] };
    expect(page(forced)).toEqual({ aggregation: 'day' });
  });

  test.for([
    [{ metadata: {} }, '"result": expected an array'],
    [
      { metadata: { startToken: 'x'.repeat(8193) }, result: [] },
      '"metadata.startToken": expected a short string',
    ],
    [{ metadata: {}, result: [LOGIN, null] }, 'record 1: expected an object'],
    [{ metadata: {}, result: [{ ...LOGIN, id: null }] }, 'record 0: "id": expected a string'],
    [
      { metadata: {}, result: [{ ...LOGIN, branchId: '2' }] },
      'record 0: "branchId": expected an integer',
    ],
    [
      { metadata: {}, result: [{ ...LOGIN, localTime: 7 }] },
      'record 0: "localTime": expected a string',
    ],
  ] as const)('is malformed: %#', ([value, message]) => {
    expect(problem(() => page(value))).toBe(message);
  });
});
