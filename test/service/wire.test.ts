/** Readings: what the service may write, and what is malformed. */
import { describe, expect, test } from 'vitest';
import type { Endpoint } from '../../src/base/model.ts';
import { decodeReading } from '../../src/service/wire.ts';
import { answer, complaint } from './support/answers.ts';

const METADATA = { aggregation: 'minute', count: 1 };

function complaintOf(value: unknown, endpoint: Endpoint = 'peoplecount'): string {
  return complaint(() => decodeReading(endpoint, answer(value)));
}

function rows(...result: readonly unknown[]): object {
  return { metadata: METADATA, result };
}

const COUNT = 'it must be a whole number from 0 to 9007199254740991';
const KEY = 'it must be a string of at most 64 characters or a whole number';

describe('a reading', () => {
  test.each(['Branch', 'BRANCH', 'branch'])('by %s is one by branch', (aggregation) => {
    const value = { metadata: { aggregation }, result: [] };
    expect(decodeReading('peoplecount', answer(value)).aggregation).toBe('branch');
  });

  test('has the rows in their order, with counts in the order in, out', () => {
    const value = rows({ key: 'b', out: 2, in: 1 }, { key: -7, in: 0, out: 2 ** 53 - 3 });
    expect(decodeReading('peoplecount', answer(value))).toEqual({
      aggregation: 'minute',
      rows: [
        { key: 'b', counts: [1, 2] },
        { key: -7, counts: [0, 2 ** 53 - 3] },
      ],
    });
  });

  test('does not add up to more than can be told from its neighbours', () => {
    const value = rows({ key: 'b', out: 2, in: 1 }, { key: -7, in: 0, out: 2 ** 53 - 2 });
    expect(complaintOf(value)).toBe(
      '"out" of all rows is too large a number; it must add up to 9007199254740991 at most',
    );
  });

  test('of logins has one count a row', () => {
    expect(decodeReading('login', answer(rows({ key: 'a', value: 4 }))).rows).toEqual([
      { key: 'a', counts: [4] },
    ]);
  });

  test('may be empty, if the service says so', () => {
    expect(decodeReading('login', answer(rows())).rows).toEqual([]);
  });

  test('may have one key twice, fields that nobody knows, and a key of 64 characters', () => {
    const row = { key: 'k'.repeat(64), in: 1, out: 0, inside: 'x' };
    expect(decodeReading('peoplecount', answer({ ...rows(row, row), more: [] })).rows).toHaveLength(
      2,
    );
  });

  test('takes nothing from __proto__', () => {
    const row = '{"__proto__":{"in":5,"out":5,"key":1},"key":1,"in":1,"out":1}';
    const text = `{"__proto__":{"result":[]},"metadata":{"aggregation":"day"},"result":[${row}]}`;
    const reading = decodeReading('peoplecount', answer(text));
    expect(reading.rows).toEqual([{ key: 1, counts: [1, 1] }]);
    expect(Object.getPrototypeOf(reading.rows[0])).toBe(Object.prototype);
    const empty = text.replace('"key":1,"in":1,"out":1}]', '"key":1}]');
    expect(complaintOf(empty)).toBe(`row 0: "in" is missing; ${COUNT}`);
    expect(complaintOf('{"__proto__":{"metadata":{"aggregation":"day"},"result":[]}}')).toContain(
      '"metadata" is missing',
    );
  });

  test.for([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON ;charset="utf-8"',
    'application/problem+json',
    'application/vnd.service.v1+json;x=y',
  ])('may have the content type %s', (contentType) => {
    expect(decodeReading('peoplecount', answer(rows(), contentType)).rows).toEqual([]);
  });

  test('may begin with a byte-order mark', () => {
    expect(decodeReading('peoplecount', answer(`\ufeff${JSON.stringify(rows())}`)).rows).toEqual(
      [],
    );
  });
});

describe('an answer is malformed', () => {
  test.for([
    undefined,
    '',
    'text/html',
    'text/json',
    'application/jsonp',
    'application/x-json-stream',
    'text/html; application/json',
  ])('with the content type %s', (contentType) => {
    const content = { ...answer(rows()), contentType };
    expect(complaint(() => decodeReading('peoplecount', content))).toBe(
      'the content type is not JSON; it must be application/json',
    );
  });

  test.for([
    ['nothing', '', 'the answer is not whole and valid JSON'],
    [
      'half',
      '{"metadata":{"aggregation":"minute"},"result":[',
      'the answer is not whole and valid JSON',
    ],
    ['HTML', '<html>', 'the answer is not whole and valid JSON'],
    ['lists in lists', '['.repeat(4_000_000), 'the answer is not whole and valid JSON'],
    ['objects in objects', '{"a":'.repeat(1_000_000), 'the answer is not whole and valid JSON'],
    ['a list', '[]', 'the answer is an array; it must be an object'],
    ['null', 'null', 'the answer is null; it must be an object'],
    ['a number', '7', 'the answer is a number; it must be an object'],
  ] as const)('as %s', ([, text, words]) => {
    expect(complaintOf(text)).toBe(words);
  });

  test('when it is deep without end and whole', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(complaintOf(`{"metadata":${deep},"result":[]}`)).not.toBe('');
  });

  test('when it is not UTF-8', () => {
    const body = Buffer.concat([
      Buffer.from('{"a":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]);
    const content = { contentType: 'application/json', body };
    expect(complaint(() => decodeReading('login', content))).toBe('the answer is not valid UTF-8');
  });

  test.for([
    [{ error: 'no' }, 'an error object came with status 200, where an answer was expected'],
    [{ result: [] }, '"metadata" is missing; it must be an object'],
    [{ metadata: [], result: [] }, '"metadata" is an array; it must be an object'],
    [
      { metadata: {}, result: [] },
      '"metadata.aggregation" is missing; it must name the aggregation used',
    ],
    [
      { metadata: { aggregation: null }, result: [] },
      '"metadata.aggregation" is null; it must name the aggregation used',
    ],
    [
      { metadata: { aggregation: 'x'.repeat(65) }, result: [] },
      '"metadata.aggregation" is longer than 64 characters',
    ],
    [
      { metadata: { ...METADATA, startToken: 'abc' }, result: [] },
      '"metadata.startToken" says that this is only a part of the answer',
    ],
    [{ metadata: METADATA }, '"result" is missing; it must be an array of rows'],
    [{ metadata: METADATA, result: {} }, '"result" is an object; it must be an array of rows'],
    [{ metadata: METADATA, result: null }, '"result" is null; it must be an array of rows'],
    [rows(null), 'row 0 is null; it must be an object'],
    [rows([1, 2]), 'row 0 is an array; it must be an object'],
  ] as const)('as %j', ([value, words]) => {
    expect(complaintOf(value)).toBe(words);
  });

  test.for([
    ['"7"', 'a string'],
    ['""', 'an empty string'],
    ['null', 'null'],
    ['true', 'a boolean'],
    ['-1', 'a negative number'],
    ['1.5', 'a fraction'],
    ['9007199254740992', 'too large a number'],
    ['1e400', 'too large a number'],
    ['{}', 'an object'],
    ['[1]', 'an array'],
  ] as const)('when a count is %s', ([count, words]) => {
    const good = '{"key":1,"in":1,"out":1}';
    const text = `{"metadata":{"aggregation":"minute"},"result":[${good},{"key":2,"in":1,"out":${count}}]}`;
    expect(complaintOf(text)).toBe(`row 1: "out" is ${words}; ${COUNT}`);
  });

  test('when a count is missing, or is that of the other endpoint', () => {
    expect(complaintOf(rows({ key: 1, in: 1 }))).toBe(`row 0: "out" is missing; ${COUNT}`);
    expect(complaintOf(rows({ key: 1, in: 1, out: 1 }), 'login')).toBe(
      `row 0: "value" is missing; ${COUNT}`,
    );
  });

  test.for([
    [undefined, 'missing'],
    [null, 'null'],
    [{}, 'an object'],
    [1.5, 'a fraction'],
    [2 ** 53, 'too large a number'],
    ['k'.repeat(65), 'a string'],
    [true, 'a boolean'],
  ] as const)('when a key is %j', ([key, words]) => {
    expect(complaintOf(rows({ key, in: 1, out: 1 }))).toBe(`row 0: "key" is ${words}; ${KEY}`);
  });

  test('when it has more rows than any library has minutes', () => {
    const row = { key: 1, in: 1, out: 1 };
    expect(
      decodeReading('peoplecount', answer(rows(...Array(50_000).fill(row)))).rows,
    ).toHaveLength(50_000);
    expect(complaintOf(rows(...Array(50_001).fill(row)))).toBe(
      '"result" has 50001 rows; more than 50000 are not taken',
    );
  });
});
