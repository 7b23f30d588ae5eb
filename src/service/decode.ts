/**
 * Decodes the responses of the data endpoints and of the token endpoint: bytes in, our types out, or a
 * ServiceError `malformed` that names the field and the row and never a value. All or nothing.
 * Hand-written instead of zod: every poll runs through it.
 */
import { ServiceError } from '../base/errors.ts';
import { PEOPLE_RECORD_FIELDS } from '../base/model.ts';
import type {
  AggregatedQuery,
  AggregatedResponse,
  Endpoint,
  Key,
  Page,
  PageQuery,
  RawRecord,
  ResponseMetadata,
  Row,
} from '../base/model.ts';
import { Secret } from '../base/secret.ts';
import { titleOf } from './transport.ts';
import type { ExchangeResponse, ExchangeRequest } from './transport.ts';

/** The part of a response that decoding needs. */
export type ResponseContent = Pick<ExchangeResponse, 'contentType' | 'body'>;

type JsonObject = Readonly<Record<string, unknown>>;

/** Keeps the sums of a response's rows exact: below 2 to the power of 53. */
const MAX_COUNT = 1_000_000_000;
const MAX_KEY_LENGTH = 64;
/** A shorter secret occurs in keys by chance, such as `20` in every time. */
const MIN_SEARCHED_SECRET_LENGTH = 8;
const MAX_TOKEN_LENGTH = 16_384;
/** It must fit into the URL of a request. */
const MAX_START_TOKEN_LENGTH = 8_192;

/** The fields of a row in the order of `Row.counts` (docs/service.md#people-counts, #logins). */
const COUNT_FIELDS = {
  peoplecount: ['in', 'out'],
  login: ['value'],
} as const satisfies Record<Endpoint, readonly string[]>;

/** The fields of raw records; those of logins in the order of docs/service.md#logins. */
const RECORD_FIELDS: Readonly<Record<Endpoint, readonly string[]>> = {
  peoplecount: PEOPLE_RECORD_FIELDS,
  login: (
    'id patronAge patronGender patronAddress2 name localTime serverTime clientTime category ' +
    'customerId branchId clientId deviceId'
  ).split(' '),
};
/** The others are strings. */
const INTEGER_FIELDS = ['amount', 'patronAge', 'customerId', 'branchId', 'clientId', 'deviceId'];
const PATRON_FIELDS = ['patronAge', 'patronGender', 'patronAddress2'];

/** The error codes of RFC 6749, 5.2 and 4.1.2.1. No other text of an error response is shown. */
const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unauthorized_client',
  'unsupported_grant_type',
  'server_error',
  'temporarily_unavailable',
]);

/** The types of pages that a wrong address or a proxy returns. Others may repeat a secret: not shown. */
const SHOWN_CONTENT_TYPES: readonly string[] = [
  'text/html',
  'text/plain',
  'text/xml',
  'application/xml',
  'application/octet-stream',
];

/** Returns what `decode` returns, and adds the request to its error, after which the connection is closed. */
export function decodeFor<T>(
  request: ExchangeRequest,
  response: Pick<ExchangeResponse, 'discardConnection'>,
  decode: () => T,
): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof ServiceError) {
      response.discardConnection?.();
      throw new ServiceError(error.reason, `${titleOf(request)}: ${error.message}`, error);
    }
    throw error;
  }
}

/** Returns the names of a row's key and counts, in the order in which a response has them. */
export function rowFields(endpoint: Endpoint): readonly string[] {
  return ['key', ...COUNT_FIELDS[endpoint]];
}

/** Returns the names of a raw record's values, in the order in which a page has them. */
export function recordFields(endpoint: Endpoint, includePatronFields: boolean): readonly string[] {
  return RECORD_FIELDS[endpoint].filter(
    (name) => includePatronFields || !PATRON_FIELDS.includes(name),
  );
}

/**
 * Decodes an aggregated response with status 200 or 204. Throws a ServiceError: `malformed`. `secrets` are the
 * token and the client secret in use: a response that repeats one of at least 8 characters where it would be
 * shown is malformed.
 */
export function decodeAggregated(
  { endpoint, aggregation: requested }: Pick<AggregatedQuery, 'endpoint' | 'aggregation'>,
  response: ResponseContent,
  secrets: readonly string[],
): AggregatedResponse {
  const { metadata, result } = decodeEnvelope(response);
  if (!isAbsent(metadata['startToken'])) {
    throw malformed('"metadata.startToken" is present: the response is incomplete');
  }
  const aggregation =
    result === undefined && isAbsent(metadata['aggregation'])
      ? requested
      : decodeAggregation(metadata, secrets);
  const fields = COUNT_FIELDS[endpoint];
  const zeros = fields.map(() => 0);
  const rows = (result ?? []).map((row, index) => decodeRow(row, index, fields, zeros, secrets));
  return { aggregation, rows, metadata: decodeMetadata(metadata, secrets) };
}

/**
 * Decodes a page of raw records with status 200 or 204. Throws a ServiceError: `malformed`. Undocumented fields are
 * ignored, and fields about patrons are not even looked at unless the query includes them.
 */
export function decodePage(
  { endpoint, includePatronFields }: PageQuery,
  response: ResponseContent,
  secrets: readonly string[],
): Page {
  const { metadata, result } = decodeEnvelope(response);
  if (!isAbsent(metadata['aggregation'])) {
    return { aggregation: decodeAggregation(metadata, secrets) };
  }
  const fields = recordFields(endpoint, includePatronFields);
  return {
    aggregation: undefined,
    records: (result ?? []).map((record, index) => decodeRecord(record, index, fields, secrets)),
    metadata: decodeMetadata(metadata, secrets),
    startToken: decodeStartToken(metadata['startToken']),
  };
}

function decodeRecord(
  record: unknown,
  index: number,
  fields: readonly string[],
  secrets: readonly string[],
): RawRecord {
  if (!isObject(record)) {
    throw malformed(`record ${index}: expected an object`);
  }
  return fields.map((name) => {
    const value = record[name];
    // The document does not say which fields may be missing. Only the id is required here.
    if (name !== 'id' && (value === undefined || value === null)) {
      return null;
    }
    const isInteger = INTEGER_FIELDS.includes(name);
    // An id may become the value of a label.
    if (isInteger && repeatsSecret(String(value), secrets)) {
      throw malformed(`record ${index}: "${name}" repeats the token or the client secret`);
    }
    if ((isInteger && isSafeInteger(value)) || (!isInteger && typeof value === 'string')) {
      return value;
    }
    const expected = isInteger ? 'an integer' : 'a string';
    throw malformed(`record ${index}: "${name}": expected ${expected}`);
  });
}

function decodeStartToken(token: unknown): Secret | undefined {
  if (isAbsent(token)) {
    return undefined;
  }
  if (typeof token !== 'string' || token.length > MAX_START_TOKEN_LENGTH) {
    throw malformed('"metadata.startToken": expected a short string');
  }
  return new Secret(token);
}

/**
 * Returns the two parts of every data response (docs/service.md#responses). A service may send nothing, or
 * null for `result`, where there are no rows: then `result` is undefined.
 */
function decodeEnvelope(response: ResponseContent): {
  readonly metadata: JsonObject;
  readonly result: readonly unknown[] | undefined;
} {
  if (response.body.length === 0) {
    return { metadata: {}, result: undefined };
  }
  const { metadata, result } = parseObject(response, 'service.base_url');
  if (result === null) {
    return { metadata: isObject(metadata) ? metadata : {}, result: undefined };
  }
  if (!isObject(metadata)) {
    throw malformed('"metadata": expected an object');
  }
  if (!Array.isArray(result)) {
    throw malformed('"result": expected an array');
  }
  return { metadata, result };
}

/** Returns the times and integers, so that nothing else can be shown. A field of another form is absent. */
function decodeMetadata(
  { from, to, count, limit }: JsonObject,
  secrets: readonly string[],
): ResponseMetadata {
  return {
    ...(isTime(from, secrets) && { from }),
    ...(isTime(to, secrets) && { to }),
    ...(isSafeInteger(count) && { count }),
    ...(isSafeInteger(limit) && { limit }),
  };
}

function isTime(value: unknown, secrets: readonly string[]): value is string {
  return (
    typeof value === 'string' && /^[\w:.+-]{1,40}$/.test(value) && !repeatsSecret(value, secrets)
  );
}

/** Returns the aggregation that the service used, in lower case. */
function decodeAggregation(metadata: JsonObject, secrets: readonly string[]): string {
  const aggregation = metadata['aggregation'];
  if (typeof aggregation !== 'string' || !/^[\w-]{1,64}$/.test(aggregation)) {
    throw malformed('"metadata.aggregation": expected the name of an aggregation');
  }
  if (repeatsSecret(aggregation, secrets)) {
    throw malformed('"metadata.aggregation" repeats the token or the client secret');
  }
  return aggregation.toLowerCase();
}

/** True for a metadata field without a value: serializers may write absent fields as null or empty. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/**
 * Decodes a token response with status 200. `expiresInSeconds` is undefined if the response has no number.
 * Throws a ServiceError: `malformed`.
 */
export function decodeToken(response: ResponseContent): {
  readonly value: string;
  readonly expiresInSeconds: number | undefined;
} {
  const token = parseObject(response, 'service.auth_url');
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
  const seconds = token['expires_in'];
  return { value, expiresInSeconds: typeof seconds === 'number' ? seconds : undefined };
}

/**
 * Returns the error code of a response of the token endpoint: a name of RFC 6749, `other` for any other
 * error object, undefined without one. Never the service's own words, which may repeat a secret.
 */
export function decodeTokenError(response: ResponseContent): string | undefined {
  try {
    const error = parseObject(response, 'service.auth_url')['error'];
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
  zeros: readonly number[],
  secrets: readonly string[],
): Row {
  if (!isObject(row)) {
    throw malformed(`row ${index}: expected an object`);
  }
  const key = row['key'];
  if (!isKey(key)) {
    throw malformed(`row ${index}: "key": expected an integer or a short string`);
  }
  // A key may become the value of a label.
  if (repeatsSecret(String(key), secrets)) {
    throw malformed(`row ${index}: "key" repeats the token or the client secret`);
  }
  // A list that grows takes places for 17, and a past has thousands of rows: no closure, likewise.
  const counts = zeros.slice();
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i] ?? '';
    const count = row[field];
    if (!isSafeInteger(count) || count < 0 || count > MAX_COUNT) {
      throw malformed(`row ${index}: "${field}": expected an integer from 0 to ${MAX_COUNT}`);
    }
    counts[i] = count;
  }
  return { key, counts };
}

function repeatsSecret(text: string, secrets: readonly string[]): boolean {
  for (const secret of secrets) {
    if (secret.length >= MIN_SEARCHED_SECRET_LENGTH && text.includes(secret)) {
      return true;
    }
  }
  return false;
}

function isKey(value: unknown): value is Key {
  return typeof value === 'string' ? value.length <= MAX_KEY_LENGTH : isSafeInteger(value);
}

function isSafeInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function malformed(message: string): ServiceError {
  return new ServiceError('malformed', message, { status: 200 });
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Parses a body. `setting` is the address that is wrong if the response is no JSON. */
function parseObject({ contentType = '', body }: ResponseContent, setting: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(UTF8.decode(body));
  } catch {
    // The parser's own message quotes the text.
    const type = contentType.replace(/;.*/s, '').trim().toLowerCase();
    const got = SHOWN_CONTENT_TYPES.includes(type) ? `, got ${type}; check ${setting}` : '';
    throw malformed(`expected complete JSON in UTF-8${got}`);
  }
  if (!isObject(value)) {
    throw malformed('expected a JSON object');
  }
  return value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
