/**
 * An answer's bytes as JSON, not trusted: content type, UTF-8, syntax. What is wrong is told by its
 * kind and never by its value. Knows none of the service's fields.
 */
import { ServiceError } from '../base/errors.ts';

/** The part of an answer that decoding needs. `contentType` is the header as it came. */
export interface AnswerContent {
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** An error to be thrown when an answer with status 200 is not a whole good one. */
export function malformed(message: string): ServiceError {
  return new ServiceError('malformed', message, { status: 200 });
}

/** The object that the answer is. Throws a ServiceError `malformed`. */
export function parseObject(answer: AnswerContent): JsonObject {
  if (!isJson(answer.contentType)) {
    throw malformed('the content type is not JSON; it must be application/json');
  }
  const value = parseJson(decodeUtf8(answer.body));
  if (!isObject(value)) {
    throw malformed(`the answer is ${describe(value)}; it must be an object`);
  }
  return value;
}

function isJson(contentType: string | undefined): boolean {
  return /^\s*application\/(?:[\w.!#$&^+-]+\+)?json\s*(?:;|$)/i.test(contentType ?? '');
}

/** It keeps nothing from one text to the next. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(body: Uint8Array): string {
  try {
    return UTF8.decode(body);
  } catch {
    throw malformed('the answer is not valid UTF-8');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw malformed('the answer is not whole and valid JSON');
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a value is, without showing it: it may be anything, even a token. */
export function describe(value: unknown): string {
  if (value === undefined) {
    return 'missing';
  }
  if (value === null) {
    return 'null';
  }
  if (Array.isArray(value)) {
    return 'an array';
  }
  if (typeof value === 'string') {
    return value === '' ? 'an empty string' : 'a string';
  }
  if (typeof value === 'number') {
    return describeNumber(value);
  }
  return typeof value === 'boolean' ? 'a boolean' : 'an object';
}

function describeNumber(value: number): string {
  if (!Number.isInteger(value)) {
    return Number.isFinite(value) ? 'a fraction' : 'too large a number';
  }
  if (!Number.isSafeInteger(value)) {
    return 'too large a number';
  }
  return value < 0 ? 'a negative number' : 'a number';
}
