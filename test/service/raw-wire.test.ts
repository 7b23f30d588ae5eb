/** Pages of raw records: documented fields only, whole or not at all. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { Endpoint, PageQuestion, RawPage } from '../../src/base/model.ts';
import { decodePage, rawFields } from '../../src/service/raw-wire.ts';

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

function decode(value: unknown, question: Partial<PageQuestion> = {}) {
  return decodePage(
    { endpoint: 'login', limit: 10, includePatronFields: false, ...question },
    { contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) },
  );
}

function page(...result: readonly unknown[]): object {
  return { metadata: { count: result.length, limit: 10 }, result };
}

function complaintOf(value: unknown): string {
  try {
    decode(value);
  } catch (error) {
    if (error instanceof ServiceError && error.reason === 'malformed') {
      return error.message;
    }
    throw error;
  }
  throw new Error('Nothing was thrown');
}

test.for([
  [
    'peoplecount',
    'id amount name localTime serverTime clientTime category libraryControllerState ' +
      'customerId branchId clientId deviceId',
  ],
  [
    'login',
    'id patronAge patronGender patronAddress2 name localTime serverTime clientTime category ' +
      'customerId branchId clientId deviceId',
  ],
] as const satisfies readonly (readonly [Endpoint, string])[])(
  'the fields of %s are those of the document, in its order',
  ([endpoint, names]) => {
    expect(rawFields(endpoint, true).join(' ')).toBe(names);
  },
);

describe('a page', () => {
  test('has the records in their order, without what tells of a patron', () => {
    const { id, name, localTime, serverTime, clientTime } = LOGIN;
    const times = [localTime, serverTime, clientTime];
    expect(decode(page(LOGIN, { ...LOGIN, id: 'l-0' }))).toEqual({
      aggregation: undefined,
      records: [
        [id, name, ...times, 'login', 1, 2, 3, 4],
        ['l-0', name, ...times, 'login', 1, 2, 3, 4],
      ],
      startToken: undefined,
    });
    expect(rawFields('login', false)).toHaveLength(10);
  });

  test('has all documented fields where they are asked for', () => {
    const asked = decode(page(LOGIN), { includePatronFields: true });
    expect(asked).toMatchObject({ records: [Object.values(LOGIN)] });
  });

  test('has nothing that the document does not name, whatever it may tell', () => {
    const patron = { patronName: 'Ada', patronAddress1: 'Kirkham 7', cardNumber: 4711 };
    for (const includePatronFields of [true, false]) {
      const text = JSON.stringify(decode(page({ ...LOGIN, ...patron }), { includePatronFields }));
      expect(text).not.toMatch(/Ada|Kirkham|4711/);
    }
  });

  test('takes values that are missing for none, but not a missing id', () => {
    expect(decode(page({ id: 'l-1', name: null }))).toMatchObject({
      records: [['l-1', ...Array<null>(9).fill(null)]],
    });
    expect(complaintOf(page({ ...LOGIN, id: null }))).toBe(
      'record 0: "id" is null; it must be a string',
    );
  });

  test('says where the next one starts, and never shows it', () => {
    const token = 'opaque+/=';
    const found = decode({ metadata: { startToken: token }, result: [LOGIN] });
    expect((found as RawPage).startToken?.reveal()).toBe(token);
    expect(JSON.stringify(found)).not.toContain(token);
  });

  test.for([null, ''])('is the last one with the startToken %j', (startToken) => {
    expect(decode({ metadata: { startToken }, result: [] })).toMatchObject({
      startToken: undefined,
    });
  });

  test('can be an aggregation in its place, whose rows are not looked at', () => {
    const forced = { metadata: { aggregation: 'day' }, result: [{ key: 'x', value: 1 }] };
    expect(decode(forced)).toEqual({ aggregation: 'day' });
  });
});

test.for([
  [{ error: 'no' }, 'an error object came with status 200, where an answer was expected'],
  [{ result: [] }, '"metadata" is missing; it must be an object'],
  [{ metadata: {} }, '"result" is missing; it must be an array of records'],
  [
    { metadata: { startToken: 7 }, result: [] },
    '"metadata.startToken" is a number; it must be a string of at most 8192 characters',
  ],
  [
    { metadata: { startToken: 'x'.repeat(8193) }, result: [] },
    '"metadata.startToken" is a string; it must be a string of at most 8192 characters',
  ],
  [{ metadata: { aggregation: 3 }, result: [] }, '"metadata.aggregation" is a number;'],
  [page(LOGIN, null), 'record 1 is null; it must be an object'],
  [
    page({ ...LOGIN, branchId: '2' }),
    'record 0: "branchId" is a string; it must be a whole number',
  ],
  [page({ ...LOGIN, branchId: 1.5 }), 'record 0: "branchId" is a fraction;'],
  [page({ ...LOGIN, localTime: 7 }), 'record 0: "localTime" is a number; it must be a string'],
  [page({ ...LOGIN, name: { patronAge: 7 } }), 'record 0: "name" is an object;'],
] as const)('%j is malformed', ([value, words]) => {
  expect(complaintOf(value)).toContain(words);
});
