/**
 * Decodes the answers of the data endpoints and of the token endpoint: bytes in, our types out, or a
 * ServiceError `malformed` that names the field and the row and never a value. All or nothing. By hand,
 * since every poll runs through it.
 */
import { ServiceError } from '../base/errors.ts';
import type { AggregatedResponse, Endpoint, Key, Row } from '../base/model.ts';
import type { Secret } from '../base/secret.ts';

/** The part of an answer that decoding needs. `contentType` is the plain header. */
export interface AnswerContent {
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

export interface DecodedToken {
  readonly value: string;
  /** Undefined if the answer has no number. */
  readonly expiresInSeconds: number | undefined;
}

export type JsonObject = Readonly<Record<string, unknown>>;

const MAX_ROWS = 50_000;
const MAX_KEY_LENGTH = 64;
const MAX_AGGREGATION_LENGTH = 64;
const MAX_TOKEN_LENGTH = 16_384;

/** The fields of a row in the order of `Row.counts` (service-interface.md, 2.2 and 2.4). */
const COUNT_FIELDS = {
  peoplecount: ['in', 'out'],
  login: ['value'],
} as const satisfies Record<Endpoint, readonly string[]>;

/** The error codes of RFC 6749, 5.2. No other text of an error answer is shown. */
const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unauthorized_client',
  'unsupported_grant_type',
]);

/** The names of a row's key and counts, in the order in which a response has them. */
export function rowFields(endpoint: Endpoint): readonly string[] {
  return ['key', ...COUNT_FIELDS[endpoint]];
}

/**
 * Decodes an aggregated answer with status 200. `secrets` are the token and the client secret in use: an
 * answer that repeats one where it would be shown is malformed.
 */
export function decodeAggregated(
  endpoint: Endpoint,
  answer: AnswerContent,
  secrets: readonly Secret[],
): AggregatedResponse {
  const { metadata, result } = decodeEnvelope(answer);
  const aggregation = decodeAggregation(metadata, secrets);
  if (!isAbsent(metadata['startToken'])) {
    throw malformed('"metadata.startToken" is present: the answer is incomplete');
  }
  if (!Array.isArray(result)) {
    throw unexpected('"result": ', 'an array of rows', result);
  }
  if (result.length > MAX_ROWS) {
    throw malformed(`"result": expected at most ${MAX_ROWS} rows, got ${result.length}`);
  }
  const fields = COUNT_FIELDS[endpoint];
  const plainSecrets = secrets.map((secret) => secret.reveal());
  const rows = result.map((row: unknown, index) => decodeRow(row, index, fields, plainSecrets));
  fields.forEach((field, i) => checkSum(rows, field, i));
  return { aggregation, rows };
}

/** The two parts of every data answer (service-interface.md, 2.5). */
export function decodeEnvelope(answer: AnswerContent): {
  readonly metadata: JsonObject;
  readonly result: unknown;
} {
  const envelope = parseObject(answer);
  if ('error' in envelope && !('result' in envelope)) {
    throw malformed('expected a result, got an error object with status 200');
  }
  const metadata = envelope['metadata'];
  if (!isObject(metadata)) {
    throw unexpected('"metadata": ', 'an object', metadata);
  }
  return { metadata, result: envelope['result'] };
}

/** The aggregation that the service used, in lower case. */
export function decodeAggregation(metadata: JsonObject, secrets: readonly Secret[]): string {
  const aggregation = metadata['aggregation'];
  if (typeof aggregation !== 'string' || aggregation === '') {
    throw unexpected('"metadata.aggregation": ', 'the name of an aggregation', aggregation);
  }
  if (aggregation.length > MAX_AGGREGATION_LENGTH) {
    throw malformed(`"metadata.aggregation" is longer than ${MAX_AGGREGATION_LENGTH} characters`);
  }
  if (secrets.some((secret) => aggregation.includes(secret.reveal()))) {
    throw malformed('"metadata.aggregation" repeats the token or the client secret');
  }
  return aggregation.toLowerCase();
}

/** True for a metadata field without a value: serializers may write absent fields as null or empty. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** Decodes a token answer with status 200. */
export function decodeToken(answer: AnswerContent): DecodedToken {
  const token = parseObject(answer);
  const value = token['access_token'];
  // Only what a header can carry: anything else would be an injection.
  if (
    typeof value !== 'string' ||
    value.length > MAX_TOKEN_LENGTH ||
    !/^[\u0021-\u007e]+$/.test(value)
  ) {
    throw malformed('"access_token": expected a string of visible ASCII characters');
  }
  const type = token['token_type'];
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw malformed('"token_type": expected "Bearer"');
  }
  const life = token['expires_in'];
  const seconds = typeof life === 'string' && /^\d+$/.test(life) ? Number(life) : life;
  return { value, expiresInSeconds: typeof seconds === 'number' ? seconds : undefined };
}

/**
 * The error code with which the token endpoint refused: a name of RFC 6749, `other` for any other error
 * object, undefined without one. Never the service's own words, which may repeat a secret.
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

function decodeRow(
  row: unknown,
  index: number,
  fields: readonly string[],
  secrets: readonly string[],
): Row {
  if (!isObject(row)) {
    throw unexpected(`row ${index}: `, 'an object', row);
  }
  const key = row['key'];
  if (!isKey(key)) {
    const expected = `an integer or a string of at most ${MAX_KEY_LENGTH} characters`;
    throw unexpected(`row ${index}: "key": `, expected, key);
  }
  // A key may become the value of a label.
  if (secrets.some((secret) => String(key).includes(secret))) {
    throw malformed(`row ${index}: "key" repeats the token or the client secret`);
  }
  const counts = fields.map((field) => {
    const count = row[field];
    if (!isCount(count)) {
      const expected = `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`;
      throw unexpected(`row ${index}: "${field}": `, expected, count);
    }
    return count;
  });
  return { key, counts };
}

function isKey(value: unknown): value is Key {
  return typeof value === 'string' ? value.length <= MAX_KEY_LENGTH : Number.isSafeInteger(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && typeof value === 'number' && value >= 0;
}

/** A sum beyond the safe integers would no longer be exact. */
function checkSum(rows: readonly Row[], field: string, i: number): void {
  const sum = rows.reduce((total, { counts }) => total + (counts[i] ?? 0), 0);
  if (!Number.isSafeInteger(sum)) {
    throw unexpected(`"${field}": `, `a sum of at most ${Number.MAX_SAFE_INTEGER}`, sum);
  }
}

export function malformed(message: string): ServiceError {
  return new ServiceError('malformed', message, { status: 200 });
}

/** The error for a value of the wrong kind. It names the kind, not the value, which may be a token. */
export function unexpected(place: string, expected: string, value: unknown): ServiceError {
  return malformed(`${place}expected ${expected}, got ${describe(value)}`);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function parseObject({ contentType, body }: AnswerContent): JsonObject {
  if (!/^\s*application\/(?:[\w.!#$&^+-]+\+)?json\s*(?:;|$)/i.test(contentType ?? '')) {
    throw malformed('expected the content type application/json');
  }
  let value: unknown;
  try {
    value = JSON.parse(UTF8.decode(body));
  } catch {
    // The parser's own message quotes the text.
    throw malformed('expected complete JSON in UTF-8');
  }
  if (!isObject(value)) {
    throw unexpected('', 'a JSON object', value);
  }
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (value === undefined) {
    return 'nothing';
  }
  if (value === null) {
    return 'null';
  }
  if (Array.isArray(value)) {
    return 'an array';
  }
  if (value === '') {
    return 'an empty string';
  }
  if (typeof value === 'number') {
    return describeNumber(value);
  }
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function describeNumber(value: number): string {
  if (Number.isFinite(value) && !Number.isInteger(value)) {
    return 'a fraction';
  }
  if (!Number.isSafeInteger(value)) {
    return 'a number that is too large';
  }
  return value < 0 ? 'a negative number' : 'a number';
}
