/**
 * The service's own field names, and what makes an answer of it a whole good one. Pure: bytes in,
 * our nouns out, or a ServiceError `malformed` that names the field and the row and never a value.
 * Must not know how the bytes came. Decoding is by hand: it is on the hot path of every poll.
 */
import type { Endpoint, Key, AggregatedResponse, Row } from '../base/model.ts';
import { describe, isObject, malformed, parseObject } from './json.ts';
import type { AnswerContent, JsonObject } from './json.ts';

export interface DecodedToken {
  readonly value: string;
  /** As the service said it; undefined where it said no number. */
  readonly expiresInSeconds: number | undefined;
}

const LONGEST_READING_ROWS = 50_000;
const LONGEST_KEY = 64;
const LONGEST_AGGREGATION = 64;
const LONGEST_TOKEN = 16_384;

/** The fields of a row, in the order of `Row.counts` (service-interface.md, 2.2 and 2.4). */
const COUNT_FIELDS = {
  peoplecount: ['in', 'out'],
  login: ['value'],
} as const satisfies Record<Endpoint, readonly string[]>;

/** The names that RFC 6749 (5.2) gives to errors: all that is ever shown of a refusal. */
const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unauthorized_client',
  'unsupported_grant_type',
]);

/** The names of a row's key and counts, in the order in which a reading has them. */
export function rowFields(endpoint: Endpoint): readonly string[] {
  return ['key', ...COUNT_FIELDS[endpoint]];
}

/** A whole reading from an answer with status 200. Throws a ServiceError `malformed`. */
export function decodeReading(endpoint: Endpoint, answer: AnswerContent): AggregatedResponse {
  const { metadata, result } = decodeEnvelope(answer);
  const aggregation = decodeAggregation(metadata);
  if (!isAbsent(metadata['startToken'])) {
    throw malformed('"metadata.startToken" says that this is only a part of the answer');
  }
  return { aggregation, rows: decodeRows(endpoint, result) };
}

/** The two parts that every data answer has (service-interface.md, 2.5). */
export function decodeEnvelope(answer: AnswerContent): {
  readonly metadata: JsonObject;
  readonly result: unknown;
} {
  const envelope = parseObject(answer);
  if ('error' in envelope && !('result' in envelope)) {
    throw malformed('an error object came with status 200, where an answer was expected');
  }
  const metadata = envelope['metadata'];
  if (!isObject(metadata)) {
    throw malformed(`"metadata" is ${describe(metadata)}; it must be an object`);
  }
  return { metadata, result: envelope['result'] };
}

/** The aggregation that the service says it used, in lower case: how it writes a name is its own affair. */
export function decodeAggregation(metadata: JsonObject): string {
  const aggregation = metadata['aggregation'];
  if (typeof aggregation !== 'string' || aggregation === '') {
    throw malformed(
      `"metadata.aggregation" is ${describe(aggregation)}; it must name the aggregation used`,
    );
  }
  if (aggregation.length > LONGEST_AGGREGATION) {
    throw malformed(`"metadata.aggregation" is longer than ${LONGEST_AGGREGATION} characters`);
  }
  return aggregation.toLowerCase();
}

/** Whether a field of the metadata says nothing: a serializer may write what is not there as well. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** The token from an answer with status 200. Throws a ServiceError `malformed`. */
export function decodeToken(answer: AnswerContent): DecodedToken {
  const token = parseObject(answer);
  const value = token['access_token'];
  // Only what a header can carry: anything else would be an injection or an exception later.
  if (
    typeof value !== 'string' ||
    value.length > LONGEST_TOKEN ||
    !/^[\u0021-\u007e]+$/.test(value)
  ) {
    throw malformed(
      '"access_token" is not a token; it must be a string of visible ASCII characters',
    );
  }
  const type = token['token_type'];
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw malformed('"token_type" is not "Bearer", and no other type is understood');
  }
  return { value, expiresInSeconds: secondsOf(token['expires_in']) };
}

/**
 * What the token endpoint said when it refused: a name of RFC 6749, `other` for any other error
 * object, undefined where there was none. Never the service's own words: they may repeat a secret.
 */
export function decodeRefusal(answer: AnswerContent): string | undefined {
  try {
    const error = parseObject(answer)['error'];
    if (typeof error !== 'string' || error === '') {
      return undefined;
    }
    return OAUTH_ERRORS.has(error) ? error : 'other';
  } catch {
    return undefined;
  }
}

function decodeRows(endpoint: Endpoint, result: unknown): readonly Row[] {
  if (!Array.isArray(result)) {
    throw malformed(`"result" is ${describe(result)}; it must be an array of rows`);
  }
  if (result.length > LONGEST_READING_ROWS) {
    throw malformed(
      `"result" has ${result.length} rows; more than ${LONGEST_READING_ROWS} are not taken`,
    );
  }
  const fields = COUNT_FIELDS[endpoint];
  const rows = result.map((row: unknown, index) => decodeRow(row, index, fields));
  fields.forEach((field, kind) => checkSum(rows, field, kind));
  return rows;
}

/** Rows that are right one by one may add up to what can no longer be told from its neighbours. */
function checkSum(rows: readonly Row[], field: string, kind: number): void {
  const sum = rows.reduce((total, { counts }) => total + (counts[kind] ?? 0), 0);
  if (!Number.isSafeInteger(sum)) {
    throw malformed(
      `"${field}" of all rows is ${describe(sum)}; it must add up to ${Number.MAX_SAFE_INTEGER} at most`,
    );
  }
}

function decodeRow(row: unknown, index: number, fields: readonly string[]): Row {
  if (!isObject(row)) {
    throw malformed(`row ${index} is ${describe(row)}; it must be an object`);
  }
  const key = row['key'];
  if (!isKey(key)) {
    throw malformed(
      `row ${index}: "key" is ${describe(key)}; ` +
        `it must be a string of at most ${LONGEST_KEY} characters or a whole number`,
    );
  }
  const counts = fields.map((field) => {
    const count = row[field];
    if (!isCount(count)) {
      throw malformed(
        `row ${index}: "${field}" is ${describe(count)}; ` +
          `it must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
      );
    }
    return count;
  });
  return { key, counts };
}

function isKey(value: unknown): value is Key {
  return typeof value === 'string' ? value.length <= LONGEST_KEY : Number.isSafeInteger(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && typeof value === 'number' && value >= 0;
}

function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' ? seconds : undefined;
}
