/**
 * Decodes pages of raw records (service-interface.md, 2.1 and 2.3), all or nothing. Undocumented fields are
 * ignored, and fields about patrons are not even looked at unless the question includes them.
 */
import type { Endpoint, Page, PageQuestion, RawRecord } from '../base/model.ts';
import { Secret } from '../base/secret.ts';
import { decodeAggregation, decodeEnvelope, isAbsent, isObject, unexpected } from './decode.ts';
import type { AnswerContent, JsonObject } from './decode.ts';

type FieldType = 'string' | 'int';
type Field = readonly [name: string, type: FieldType];

const COMMON_FIELDS = {
  customerId: 'int',
  branchId: 'int',
  clientId: 'int',
  deviceId: 'int',
} as const;

/** In the order of the document. */
const FIELDS: Record<Endpoint, Record<string, FieldType>> = {
  peoplecount: {
    id: 'string',
    amount: 'int',
    name: 'string',
    localTime: 'string',
    serverTime: 'string',
    clientTime: 'string',
    category: 'string',
    libraryControllerState: 'string',
    ...COMMON_FIELDS,
  },
  login: {
    id: 'string',
    patronAge: 'int',
    patronGender: 'string',
    patronAddress2: 'string',
    name: 'string',
    localTime: 'string',
    serverTime: 'string',
    clientTime: 'string',
    category: 'string',
    ...COMMON_FIELDS,
  },
};

const PATRON_FIELDS: ReadonlySet<string> = new Set(['patronAge', 'patronGender', 'patronAddress2']);

/** It must fit into the URL of a request. */
const MAX_START_TOKEN_LENGTH = 8_192;

/** The names of a raw record's values, in the order in which a page has them. */
export function recordFields(endpoint: Endpoint, includePatronFields: boolean): readonly string[] {
  return fieldsOf(endpoint, includePatronFields).map(([name]) => name);
}

/** Decodes a page with status 200. Throws a ServiceError `malformed`. */
export function decodePage(
  question: PageQuestion,
  answer: AnswerContent,
  secrets: readonly Secret[],
): Page {
  const { metadata, result } = decodeEnvelope(answer);
  if (!isAbsent(metadata['aggregation'])) {
    return { aggregation: decodeAggregation(metadata, secrets) };
  }
  if (!Array.isArray(result)) {
    throw unexpected('"result": ', 'an array of records', result);
  }
  const fields = fieldsOf(question.endpoint, question.includePatronFields);
  return {
    aggregation: undefined,
    records: result.map((record: unknown, index) => decodeRecord(record, index, fields)),
    startToken: decodeStartToken(metadata),
  };
}

function decodeStartToken(metadata: JsonObject): Secret | undefined {
  const startToken = metadata['startToken'];
  if (isAbsent(startToken)) {
    return undefined;
  }
  if (typeof startToken !== 'string' || startToken.length > MAX_START_TOKEN_LENGTH) {
    const expected = `a string of at most ${MAX_START_TOKEN_LENGTH} characters`;
    throw unexpected('"metadata.startToken": ', expected, startToken);
  }
  return new Secret(startToken);
}

function decodeRecord(record: unknown, index: number, fields: readonly Field[]): RawRecord {
  if (!isObject(record)) {
    throw unexpected(`record ${index}: `, 'an object', record);
  }
  return fields.map(([name, type]) => {
    const value = record[name];
    // The document does not say which fields may be missing. Only the id is required here.
    if (name !== 'id' && (value === undefined || value === null)) {
      return null;
    }
    if (type === 'string' && typeof value === 'string') {
      return value;
    }
    if (type === 'int' && isInteger(value)) {
      return value;
    }
    const expected = type === 'string' ? 'a string' : 'an integer';
    throw unexpected(`record ${index}: "${name}": `, expected, value);
  });
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function fieldsOf(endpoint: Endpoint, includePatronFields: boolean): readonly Field[] {
  return Object.entries(FIELDS[endpoint]).filter(
    ([name]) => includePatronFields || !PATRON_FIELDS.has(name),
  );
}
