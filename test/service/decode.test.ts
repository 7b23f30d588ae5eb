/** What a response may look like, and what is malformed. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { PageQuery } from '../../src/base/model.ts';
import {
  decodeAggregated,
  decodePage,
  decodeTokenError,
  decodeToken,
  recordFields,
} from '../../src/service/decode.ts';

const METADATA = { aggregation: 'minute', count: 1 };
const PEOPLE = { endpoint: 'peoplecount', aggregation: 'day' } as const;
const LOGINS = { endpoint: 'login', aggregation: 'day' } as const;

/** Strings and bytes are sent as they are, other values as JSON. */
function response(value: unknown, contentType: string | undefined = 'application/json') {
  const isText = typeof value === 'string' || value instanceof Uint8Array;
  return { contentType, body: Buffer.from(isText ? value : JSON.stringify(value)) };
}

function decode(value: unknown, contentType?: string) {
  return decodeAggregated(PEOPLE, response(value, contentType), []);
}

function rows(...result: readonly unknown[]): object {
  return { metadata: METADATA, result };
}

/** What is wrong, after which no row is used. */
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

describe('an aggregated response', () => {
  test('of nothing, or of null, has no rows', () => {
    const none = { rows: [], aggregation: 'day', metadata: {} };
    expect([decode(''), decode({ result: null })]).toEqual([none, none]);
    const metadata = { aggregation: 'Quarter', count: 0 };
    const quarter = { ...none, aggregation: 'quarter', metadata: { count: 0 } };
    expect(decode({ metadata, result: null })).toEqual(quarter);
  });

  test('has its rows in order, with counts in the order in, out', () => {
    const result = [
      { key: 'b', out: 2, in: 1 },
      { key: -7, in: 0, out: 1_000_000_000, x: [] },
      { key: 'k'.repeat(64), in: 0, out: 1 },
    ];
    const metadata = { aggregation: 'BRANCH', to: 7, count: 3, startToken: null };
    expect(decode({ metadata, result })).toEqual({
      aggregation: 'branch',
      metadata: { count: 3 },
      rows: [
        { key: 'b', counts: [1, 2] },
        { key: -7, counts: [0, 1_000_000_000] },
        { key: 'k'.repeat(64), counts: [0, 1] },
      ],
    });
    const longest = { aggregation: 'x'.repeat(64), startToken: '' };
    const content = response({ metadata: longest, result: [{ key: 1, value: 4 }] });
    const { aggregation, rows: logins } = decodeAggregated(LOGINS, content, []);
    expect([aggregation, logins]).toEqual([longest.aggregation, [{ key: 1, counts: [4] }]]);
  });

  test.for([
    ['2026-11-01T04:00:00.000+01:00', true],
    ['x'.repeat(40), true],
    ['x'.repeat(41), false],
    ['of-the-client-secret', false],
    [1_793_505_600, false],
  ] as const)('has the metadata from: %j: %j', ([time, isShown]) => {
    const metadata = { ...METADATA, from: time, to: time, count: '1', limit: 5 };
    // A short secret occurs in times by chance.
    const secrets = ['client-secret', '2026'];
    const decoded = decodeAggregated(LOGINS, response({ metadata, result: [] }), secrets);
    expect(decoded.metadata).toEqual(isShown ? { from: time, to: time, limit: 5 } : { limit: 5 });
  });

  test.for([
    ['secret-7', 'by-secret-7', 'a', '"metadata.aggregation"'],
    ['secret-7', 'day', 'a secret-7 b', 'row 0: "key"'],
  ] as const)('is malformed if it repeats %s: %s, %s', ([secret, aggregation, key, place]) => {
    const content = response({ metadata: { aggregation }, result: [{ key, in: 1, out: 1 }] });
    expect(problem(() => decodeAggregated(PEOPLE, content, ['another-secret', secret]))).toBe(
      `${place} repeats the token or the client secret`,
    );
  });

  test('takes nothing from __proto__', () => {
    const row = '{"__proto__":{"in":5,"out":5,"key":1},"key":1,"in":1,"out":1}';
    const text = `{"__proto__":{"result":[]},"metadata":{"aggregation":"day"},"result":[${row}]}`;
    expect(decode(text).rows).toEqual([{ key: 1, counts: [1, 1] }]);
    expect(problem(() => decode(text.replace('"in":1,"out":1}]', '"x":1}]')))).toContain('"in"');
  });

  test.for([
    ['Text/HTML ;a=b\r\nx;c', ', got text/html; check service.base_url'],
    ['secret/type', ''],
  ] as const)('that is no JSON is malformed, with the content type "%s"', ([contentType, got]) => {
    expect(problem(() => decode('<html>', contentType))).toBe(
      `expected complete JSON in UTF-8${got}`,
    );
    expect(decode(rows(), contentType).rows).toEqual([]);
  });

  const NO_COUNT = 'expected an integer from 0 to 1000000000';

  test.for<[string, readonly unknown[]]>([
    ['expected complete JSON in UTF-8', ['{', '{}{}', Buffer.of(0xc3, 0x28), '['.repeat(4e6)]],
    ['expected a JSON object', [[], 'null']],
    ['"metadata": expected an object', [{ error: 'no' }, { metadata: [], result: [] }]],
    [
      '"metadata.aggregation": expected the name of an aggregation',
      [undefined, 7, 'x'.repeat(65), ' day', 'day '].map((aggregation) => ({
        metadata: { aggregation },
        result: [],
      })),
    ],
    [
      '"metadata.startToken" is present: the response is incomplete',
      [{ metadata: { ...METADATA, startToken: 'abc' }, result: [] }],
    ],
    ['"result": expected an array', [{ metadata: METADATA, result: {} }]],
    ['row 1: expected an object', [rows({ key: 'a', in: 3, out: 1 }, null)]],
    [`row 0: "in": ${NO_COUNT}`, [rows({ key: 1, value: 1 })]],
    [
      `row 0: "out": ${NO_COUNT}`,
      ['"7"', 'null', '-1', '1.5', '1000000001', '1e400'].map((count) =>
        JSON.stringify(rows({ key: 2, in: 1, out: 'COUNT' })).replace('"COUNT"', count),
      ),
    ],
    [
      'row 0: "key": expected an integer or a short string',
      [undefined, 1.5, 2 ** 53, 'k'.repeat(65)].map((key) => rows({ key, in: 1, out: 1 })),
    ],
  ])('is malformed: %s', ([message, responses]) => {
    expect(responses.map((value) => problem(() => decode(value)))).toEqual(
      responses.map(() => message),
    );
  });
});

describe('a token response', () => {
  const good = { access_token: 'abc.def', expires_in: 3600, token_type: 'Bearer' };

  test('has a token, and a life if that is a number', () => {
    const bearer = { ...good, token_type: 'BEARER' };
    expect(decodeToken(response(bearer))).toEqual({ value: 'abc.def', expiresInSeconds: 3600 });
    expect(decodeToken(response({ ...good, expires_in: 'soon' })).expiresInSeconds).toBeUndefined();
    const longest = { ...good, access_token: 'a'.repeat(16_384) };
    expect(decodeToken(response(longest)).value).toHaveLength(16_384);
  });

  test.for([
    ['token_type', [undefined, 'mac']],
    ['access_token', ['', 7, 'a b', 'a\r\nX-Header: y', 'ä', 'a'.repeat(16_385)]],
  ] as const)('is malformed with another type, or a token for no header: %s', ([field, values]) => {
    for (const value of values) {
      const token = response({ ...good, [field]: value });
      expect(problem(() => decodeToken(token))).toContain(`"${field}": expected`);
    }
  });

  test('that refuses is an error code of RFC 6749 or `other`, never the words of the service', () => {
    expect(decodeTokenError(response({ error: 'invalid_client' }))).toBe('invalid_client');
    expect(decodeTokenError(response({ error: 'no client with the secret abc' }))).toBe('other');
    for (const value of [{}, { error: '' }, { error: {} }, [], 'not json']) {
      expect(decodeTokenError(response(value))).toBeUndefined();
    }
  });
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

  const QUERY = { endpoint: 'login', limit: 10, includePatronFields: false } as const;

  function page(result: unknown, metadata: object = {}, query: PageQuery = QUERY) {
    return decodePage(query, response({ metadata, result }), ['12345678']);
  }

  test('of an empty response has no records', () => {
    const empty = { aggregation: undefined, records: [], metadata: {}, startToken: undefined };
    expect([page(null), decodePage(QUERY, response(''), [])]).toEqual([empty, empty]);
  });

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
    expect(page([more])).toEqual({
      aggregation: undefined,
      metadata: {},
      records: [[id, name, localTime, serverTime, clientTime, 'login', 1, 2, 3, 4]],
      startToken: undefined,
    });
    const all = page([more], {}, { ...QUERY, includePatronFields: true });
    expect(all).toMatchObject({ records: [Object.values(LOGIN)] });
    // Missing values are null.
    const records = [['l-1', ...Array<null>(9).fill(null)]];
    expect(page([{ id: 'l-1', name: null }])).toMatchObject({ records });
  });

  test('has the token of the next page as a secret', () => {
    const decoded = page([LOGIN], { startToken: 'opaque+/=' });
    const { startToken } = decoded as Extract<typeof decoded, { records: unknown }>;
    expect(startToken?.reveal()).toBe('opaque+/=');
    expect(JSON.stringify(decoded)).not.toContain('opaque');
    expect(page([], { startToken: 'x'.repeat(8_192) })).toHaveProperty('startToken');
    expect(page([], { startToken: null })).toHaveProperty('startToken', undefined);
  });

  test('is the name of the aggregation that the service forced', () => {
    expect(page([{ key: 'x', value: 1 }], { aggregation: 'day' })).toEqual({ aggregation: 'day' });
  });

  test.for([
    ['"metadata.startToken": expected a short string', [], { startToken: 'x'.repeat(8193) }],
    ['"metadata.startToken": expected a short string', [], { startToken: 7 }],
    ['record 1: expected an object', [LOGIN, null], {}],
    ['record 0: "id": expected a string', [{ ...LOGIN, id: undefined }], {}],
    ['record 0: "localTime": expected a string', [{ ...LOGIN, localTime: 7 }], {}],
    // An id may become a label.
    [
      'record 0: "deviceId" repeats the token or the client secret',
      [{ ...LOGIN, deviceId: 9_123_456_780 }],
      {},
    ],
  ] as const)('is malformed: %s', ([message, result, metadata]) => {
    expect(problem(() => page(result, metadata))).toBe(message);
  });
});
