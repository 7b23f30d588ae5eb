/**
 * The fields of raw records (service-interface.md, 2.1 and 2.3), and what makes a page of them a
 * whole good one. Pure, as wire.ts is. Only documented fields are taken: what a service sends beside
 * them may tell of a patron, and those are not even looked at unless they are asked for.
 */
import type { Endpoint, Page, PageQuestion, RawRecord } from '../base/model.ts';
import { Secret } from '../base/secret.ts';
import { describe, isObject, malformed } from './json.ts';
import type { AnswerContent, JsonObject } from './json.ts';
import { decodeAggregation, decodeEnvelope, isAbsent } from './wire.ts';

type FieldType = 'string' | 'int';

/** In the order of the document. */
const RAW_FIELDS = {
  peoplecount: {
    id: 'string',
    amount: 'int',
    name: 'string',
    localTime: 'string',
    serverTime: 'string',
    clientTime: 'string',
    category: 'string',
    libraryControllerState: 'string',
    customerId: 'int',
    branchId: 'int',
    clientId: 'int',
    deviceId: 'int',
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
    customerId: 'int',
    branchId: 'int',
    clientId: 'int',
    deviceId: 'int',
  },
} as const satisfies Record<Endpoint, Record<string, FieldType>>;

const PATRON_FIELDS: ReadonlySet<string> = new Set(['patronAge', 'patronGender', 'patronAddress2']);

/** What fits into the address of a request. */
const LONGEST_START_TOKEN = 8_192;

/** The names of a raw record's values, in the order in which a page has them. */
export function rawFields(endpoint: Endpoint, includePatronFields: boolean): readonly string[] {
  return fieldsOf(endpoint, includePatronFields).map(([name]) => name);
}

/** A page from an answer with status 200. Throws a ServiceError `malformed`. */
export function decodePage(question: PageQuestion, answer: AnswerContent): Page {
  const { metadata, result } = decodeEnvelope(answer);
  if (!isAbsent(metadata['aggregation'])) {
    return { aggregation: decodeAggregation(metadata) };
  }
  if (!Array.isArray(result)) {
    throw malformed(`"result" is ${describe(result)}; it must be an array of records`);
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
  if (typeof startToken !== 'string' || startToken.length > LONGEST_START_TOKEN) {
    throw malformed(
      `"metadata.startToken" is ${describe(startToken)}; ` +
        `it must be a string of at most ${LONGEST_START_TOKEN} characters`,
    );
  }
  return new Secret(startToken);
}

function decodeRecord(record: unknown, index: number, fields: readonly Field[]): RawRecord {
  if (!isObject(record)) {
    throw malformed(`record ${index} is ${describe(record)}; it must be an object`);
  }
  return fields.map(([name, type]) => {
    const value = record[name];
    // Only the id is always there: the document does not say which of the others may be missing.
    if (name !== 'id' && (value === undefined || value === null)) {
      return null;
    }
    if (type === 'string' && typeof value === 'string') {
      return value;
    }
    if (type === 'int' && isWhole(value)) {
      return value;
    }
    const right = type === 'string' ? 'a string' : 'a whole number';
    throw malformed(`record ${index}: "${name}" is ${describe(value)}; it must be ${right}`);
  });
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

type Field = readonly [name: string, type: FieldType];

function fieldsOf(endpoint: Endpoint, includePatronFields: boolean): readonly Field[] {
  return Object.entries(RAW_FIELDS[endpoint]).filter(
    ([name]) => includePatronFields || !PATRON_FIELDS.has(name),
  );
}
