/** What an answer may look like, and what is malformed, with the exact message. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { Endpoint } from '../../src/base/model.ts';
import { decodeAggregated, decodeRefusal, decodeToken } from '../../src/service/decode.ts';

const METADATA = { aggregation: 'minute', count: 1 };
const INTEGER = 'expected an integer from 0 to 9007199254740991';
const KEY = 'expected an integer or a string of at most 64 characters';

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
    const value = rows({ key: 'b', out: 2, in: 1 }, { key: -7, in: 0, out: 2 ** 53 - 3 });
    expect(decode(value)).toEqual({
      aggregation: 'minute',
      rows: [
        { key: 'b', counts: [1, 2] },
        { key: -7, counts: [0, 2 ** 53 - 3] },
      ],
    });
  });

  test('of logins has one count per row', () => {
    expect(decode(rows({ key: 'a', value: 4 }), 'login').rows).toEqual([{ key: 'a', counts: [4] }]);
  });

  test.for(['Branch', 'BRANCH', 'branch'])('by %s is by branch', (aggregation) => {
    expect(decode({ metadata: { aggregation }, result: [] }).aggregation).toBe('branch');
  });

  test('may be empty, repeat keys, and have unknown fields', () => {
    expect(decode(rows()).rows).toEqual([]);
    const row = { key: 'k'.repeat(64), in: 1, out: 0, inside: 'x' };
    expect(decode({ ...rows(row, row), more: [] }).rows).toHaveLength(2);
  });

  test.for([null, ''])('is complete with the startToken %j', (startToken) => {
    expect(decode({ metadata: { ...METADATA, startToken }, result: [] }).rows).toEqual([]);
  });

  test('takes nothing from __proto__', () => {
    const row = '{"__proto__":{"in":5,"out":5,"key":1},"key":1,"in":1,"out":1}';
    const text = `{"__proto__":{"result":[]},"metadata":{"aggregation":"day"},"result":[${row}]}`;
    const response = decode(text);
    expect(response.rows).toEqual([{ key: 1, counts: [1, 1] }]);
    expect(Object.getPrototypeOf(response.rows[0])).toBe(Object.prototype);
    const without = text.replace('"key":1,"in":1,"out":1}]', '"key":1}]');
    expect(problem(() => decode(without))).toBe(`row 0: "in": ${INTEGER}, got nothing`);
  });

  test.for([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON ;charset="utf-8"',
    'application/problem+json',
  ])('may have the content type %s', (contentType) => {
    expect(decodeAggregated('login', answer(rows(), contentType), []).rows).toEqual([]);
  });

  test('may begin with a byte-order mark', () => {
    expect(decode(`\ufeff${JSON.stringify(rows())}`).rows).toEqual([]);
  });
});

describe('an answer is malformed', () => {
  test.for(['', 'text/html', 'text/json', 'application/jsonp', 'text/html; application/json'])(
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
    ['HTML', '<html>'],
    ['two answers', '{}{}'],
    ['NaN', '{"metadata":NaN}'],
    ['nested lists', '['.repeat(4_000_000)],
    ['nested objects', '{"a":'.repeat(1_000_000)],
  ] as const)('as %s', ([, text]) => {
    expect(problem(() => decode(text))).toBe('expected complete JSON in UTF-8');
  });

  test.for([
    ['invalid UTF-8', Buffer.from([0xc3, 0x28])],
    ['surrogates', Buffer.from([0xed, 0xa0, 0x80])],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
  ] as const)('as %s', ([, body]) => {
    const content = { contentType: 'application/json', body };
    expect(problem(() => decodeAggregated('login', content, []))).toBe(
      'expected complete JSON in UTF-8',
    );
  });

  test('when it is deep', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(problem(() => decode(`{"metadata":${deep},"result":[]}`))).not.toBe('');
  });

  test.for([
    [[], 'expected a JSON object, got an array'],
    ['null', 'expected a JSON object, got null'],
    ['7', 'expected a JSON object, got a number'],
    [{ error: 'no' }, 'expected a result, got an error object with status 200'],
    [{ result: [] }, '"metadata": expected an object, got nothing'],
    [{ metadata: [], result: [] }, '"metadata": expected an object, got an array'],
    [
      { metadata: {}, result: [] },
      '"metadata.aggregation": expected the name of an aggregation, got nothing',
    ],
    [
      { metadata: { aggregation: 1 }, result: [] },
      '"metadata.aggregation": expected the name of an aggregation, got a number',
    ],
    [
      { metadata: { aggregation: 'x'.repeat(65) }, result: [] },
      '"metadata.aggregation" is longer than 64 characters',
    ],
    [
      { metadata: { ...METADATA, startToken: 'abc' }, result: [] },
      '"metadata.startToken" is present: the answer is incomplete',
    ],
    [{ metadata: METADATA }, '"result": expected an array of rows, got nothing'],
    [{ metadata: METADATA, result: {} }, '"result": expected an array of rows, got an object'],
    [rows(null), 'row 0: expected an object, got null'],
    [rows([1, 2]), 'row 0: expected an object, got an array'],
    [rows({ key: 1, in: 1 }), `row 0: "out": ${INTEGER}, got nothing`],
    [rows({ key: 1, value: 1 }), `row 0: "in": ${INTEGER}, got nothing`],
    [
      rows({ key: 1, in: 1, out: 2 }, { key: 2, in: 1, out: 2 ** 53 - 2 }),
      '"out": expected a sum of at most 9007199254740991, got a number that is too large',
    ],
  ] as const)('as %j', ([value, message]) => {
    expect(problem(() => decode(value))).toBe(message);
  });

  test.for([
    ['"7"', 'a string'],
    ['""', 'an empty string'],
    ['null', 'null'],
    ['true', 'a boolean'],
    ['-1', 'a negative number'],
    ['1.5', 'a fraction'],
    ['9007199254740992', 'a number that is too large'],
    ['1e400', 'a number that is too large'],
    ['{}', 'an object'],
    ['[1]', 'an array'],
  ] as const)('when a count is %s', ([count, found]) => {
    const good = '{"key":1,"in":1,"out":1}';
    const text = `{"metadata":{"aggregation":"minute"},"result":[${good},{"key":2,"in":1,"out":${count}}]}`;
    expect(problem(() => decode(text))).toBe(`row 1: "out": ${INTEGER}, got ${found}`);
  });

  test.for([
    [undefined, 'nothing'],
    [null, 'null'],
    [{}, 'an object'],
    [1.5, 'a fraction'],
    [2 ** 53, 'a number that is too large'],
    ['k'.repeat(65), 'a string'],
    [true, 'a boolean'],
  ] as const)('when a key is %j', ([key, found]) => {
    expect(problem(() => decode(rows({ key, in: 1, out: 1 })))).toBe(
      `row 0: "key": ${KEY}, got ${found}`,
    );
  });

  test('when it has more than 50,000 rows', () => {
    const row = { key: 1, in: 1, out: 1 };
    expect(decode(rows(...Array(50_000).fill(row))).rows).toHaveLength(50_000);
    expect(problem(() => decode(rows(...Array(50_001).fill(row))))).toBe(
      '"result": expected at most 50000 rows, got 50001',
    );
  });
});

describe('a token answer', () => {
  const good = { access_token: 'abc.def', expires_in: 3600, token_type: 'Bearer' };

  test('has a token and its life', () => {
    expect(decodeToken(answer(good))).toEqual({ value: 'abc.def', expiresInSeconds: 3600 });
    expect(decodeToken(answer({ ...good, expires_in: '1800' })).expiresInSeconds).toBe(1800);
  });

  test.for([undefined, null, 'soon', {}, [3600]])('may have no life: %j', (life) => {
    expect(decodeToken(answer({ ...good, expires_in: life })).expiresInSeconds).toBeUndefined();
  });

  test.for(['bearer', 'BEARER'])('may be of the type %s', (type) => {
    expect(decodeToken(answer({ ...good, token_type: type })).value).toBe('abc.def');
  });

  test.for([undefined, null, 'mac', 'DPoP', 7])('is malformed with the type %j', (type) => {
    expect(problem(() => decodeToken(answer({ ...good, token_type: type })))).toBe(
      '"token_type": expected "Bearer"',
    );
  });

  test.for([undefined, null, '', 7, 'a b', 'a\r\nX-Header: y', 'ä', 'a'.repeat(20_000)])(
    'is malformed with the token %j',
    (value) => {
      expect(problem(() => decodeToken(answer({ ...good, access_token: value })))).toBe(
        '"access_token": expected a string of visible ASCII characters',
      );
    },
  );
});

describe('a refusal', () => {
  test('is an error code of RFC 6749 or `other`, never the words of the service', () => {
    expect(decodeRefusal(answer({ error: 'invalid_client' }))).toBe('invalid_client');
    expect(decodeRefusal(answer({ error: 'no client with the secret abc' }))).toBe('other');
  });

  test.for([{}, { error: '' }, { error: {} }, [], 'not json'])('is none in %j', (value) => {
    expect(decodeRefusal(answer(value))).toBeUndefined();
  });

  test('is none in HTML', () => {
    expect(decodeRefusal(answer({ error: 'invalid_client' }, 'text/html'))).toBeUndefined();
  });
});
