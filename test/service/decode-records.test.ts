/** Pages of raw records: documented fields only, complete or not at all. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { PageQuestion, RawPage } from '../../src/base/model.ts';
import { decodePage, recordFields } from '../../src/service/decode-records.ts';

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
    [],
  );
}

function page(...result: readonly unknown[]): object {
  return { metadata: { count: result.length, limit: 10 }, result };
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
] as const)('the fields of %s are those of the document, in its order', ([endpoint, names]) => {
  expect(recordFields(endpoint, true).join(' ')).toBe(names);
});

describe('a page', () => {
  test('has the records in order, without the fields about patrons', () => {
    const { id, name, localTime, serverTime, clientTime } = LOGIN;
    const rest = [name, localTime, serverTime, clientTime, 'login', 1, 2, 3, 4];
    expect(decode(page(LOGIN, { ...LOGIN, id: 'l-0' }))).toEqual({
      aggregation: undefined,
      records: [
        [id, ...rest],
        ['l-0', ...rest],
      ],
      startToken: undefined,
    });
    expect(recordFields('login', false)).toHaveLength(10);
  });

  test('has the fields about patrons if they are requested', () => {
    const decoded = decode(page(LOGIN), { includePatronFields: true });
    expect(decoded).toMatchObject({ records: [Object.values(LOGIN)] });
  });

  test('has no undocumented field', () => {
    const patron = { patronName: 'Ada', patronAddress1: 'Kirkham 7', cardNumber: 4711 };
    const decoded = decode(page({ ...LOGIN, ...patron }), { includePatronFields: true });
    expect(JSON.stringify(decoded)).not.toMatch(/Ada|Kirkham|4711/);
  });

  test('has null for missing values', () => {
    expect(decode(page({ id: 'l-1', name: null }))).toMatchObject({
      records: [['l-1', ...Array<null>(9).fill(null)]],
    });
  });

  test('has the token of the next page as a secret', () => {
    const decoded = decode({ metadata: { startToken: 'opaque+/=' }, result: [LOGIN] });
    expect((decoded as RawPage).startToken?.reveal()).toBe('opaque+/=');
    expect(JSON.stringify(decoded)).not.toContain('opaque');
  });

  test.for([null, ''])('is the last one with the startToken %j', (startToken) => {
    const decoded = decode({ metadata: { startToken }, result: [] });
    expect(decoded).toMatchObject({ startToken: undefined });
  });

  test('is the name of the aggregation that the service forced', () => {
    const forced = { metadata: { aggregation: 'day' }, result: [{ key: 'x', value: 1 }] };
    expect(decode(forced)).toEqual({ aggregation: 'day' });
  });
});

test.for([
  [{ error: 'no' }, 'expected a result, got an error object with status 200'],
  [{ result: [] }, '"metadata": expected an object, got nothing'],
  [{ metadata: {} }, '"result": expected an array of records, got nothing'],
  [
    { metadata: { startToken: 7 }, result: [] },
    '"metadata.startToken": expected a string of at most 8192 characters, got a number',
  ],
  [
    { metadata: { startToken: 'x'.repeat(8193) }, result: [] },
    '"metadata.startToken": expected a string of at most 8192 characters, got a string',
  ],
  [
    { metadata: { aggregation: 3 }, result: [] },
    '"metadata.aggregation": expected the name of an aggregation, got a number',
  ],
  [page(LOGIN, null), 'record 1: expected an object, got null'],
  [page({ ...LOGIN, id: null }), 'record 0: "id": expected a string, got null'],
  [page({ ...LOGIN, branchId: '2' }), 'record 0: "branchId": expected an integer, got a string'],
  [page({ ...LOGIN, branchId: 1.5 }), 'record 0: "branchId": expected an integer, got a fraction'],
  [page({ ...LOGIN, localTime: 7 }), 'record 0: "localTime": expected a string, got a number'],
  [page({ ...LOGIN, name: {} }), 'record 0: "name": expected a string, got an object'],
] as const)('%j is malformed', ([value, message]) => {
  expect(() => decode(value)).toThrow(new ServiceError('malformed', message, { status: 200 }));
});
