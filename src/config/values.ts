/**
 * The types of values in the configuration, as zod schemas. Each has messages for all its problems, and
 * `harmless` if its values may be shown.
 */
import { z } from 'zod';
import { parseDuration } from '../base/duration.ts';
import { HOLIDAY_REGIONS } from '../counting/calendar/opening-hours.ts';

/** Stands in a message for what was found, which only the file can say. */
export const FOUND = '{found}';
/** Allowlist: only values and lines of such keys appear in messages. */
export const HARMLESS = { harmless: true };

/** Returns the message about a value that is something else. */
export function expected(what: string): string {
  return `expected ${what}, got ${FOUND}`;
}

/** Returns the type of a mapping with these keys alone. The message about another one lists them. */
export function section<Shape extends z.ZodRawShape>(what: string, shape: Shape) {
  const keys = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? keys : expected(what)),
  });
}

/** Returns true for a mapping of a YAML file. */
export function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Makes a mapping accept what is left when all its entries are commented out. */
export function mapping<Type extends z.ZodObject | z.ZodRecord>(type: Type) {
  return z.preprocess((value) => (value === null ? {} : value), type);
}

type Normalize = (text: string) => string;

/**
 * Returns the type of a text, quoted or not: files have no other values. Where it is invalid, the rules of several
 * keys are checked all the same, so that one problem hides no others.
 */
export function hidden(what: string, isValid: (text: string) => boolean, normalize?: Normalize) {
  const error = expected(what);
  return z
    .string(error)
    .overwrite(normalize ?? ((text) => text))
    .refine(isValid, error);
}

/** Returns the type of a text that may be shown. */
function shown(...options: Parameters<typeof hidden>): z.ZodString {
  return hidden(...options).meta(HARMLESS);
}

/** Matches control characters, lone surrogates, line separators, and what changes the direction of text. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;
/** Matches a visible character. Letters of other scripts that look like a space are invisible. */
const VISIBLE = /[^\p{C}\p{Z}\p{M}\u115F\u1160\u2800\u3164\uFFA0]/u;

/** Returns the type of trimmed text in Unicode's normal form C, with a visible character unless empty. */
export function text(what: string, maxLength = 256, minLength = 1): z.ZodString {
  function isValid(value: string): boolean {
    const isFitting = value.length >= minLength && value.length <= maxLength;
    return isFitting && !UNSAFE.test(value) && (value === '' || VISIBLE.test(value));
  }
  return shown(what, isValid, (value) => value.trim().normalize('NFC'));
}

/** Returns the type of a path. */
export function path(what: string): z.ZodString {
  return hidden(what, isPath);
}

/** Returns false also for the text of a certificate or key in the place of a path. */
export function isPath(value: string): boolean {
  return value !== '' && !value.includes('-----BEGIN');
}

/** Matches a number in decimal, as YAML 1.2 and JSON write it. */
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** Returns the type of a number, in decimal. */
export function number(kind: 'an integer' | 'a number', min: number, max: number) {
  function isValid(digits: string): boolean {
    const value = Number(digits);
    const isAllowed = kind === 'a number' || Number.isInteger(value);
    return NUMBER.test(digits) && isAllowed && value >= min && value <= max;
  }
  return hidden(`${kind} from ${min} to ${max}`, isValid).transform(Number).meta(HARMLESS);
}

/** Returns the type of a boolean. As in YAML 1.2, `yes`, `no`, `on` and `off` are none. */
export function trueOrFalse() {
  return hidden('true or false', (word) => /^(?:true|false)$/i.test(word))
    .transform((word) => word.toLowerCase() === 'true')
    .meta(HARMLESS);
}

/** Returns the type of one of the words. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  return z.enum(words, expected(`one of ${words.join(', ')}`)).meta(HARMLESS);
}

/** Returns the type of a list of words, each at most once; its values are in the order of `words`. */
export function listOf<const Word extends string>(words: readonly Word[], minLength: 0 | 1) {
  const amount = minLength === 0 ? 'any' : 'one or more';
  const error = expected(`a list of ${amount} of ${words.join(', ')}`);
  return z
    .array(oneOf(words), error)
    .min(minLength, { error, abort: true })
    .overwrite((list) => words.filter((word) => list.includes(word)))
    .meta(HARMLESS);
}

/** Returns the type of a duration such as `90s`, within limits and with a default. */
export function duration(min: string, max: string, standard: string): z.ZodDefault<z.ZodString> {
  function isValid(value: string): boolean {
    const ms = milliseconds(value);
    return ms >= milliseconds(min) && ms <= milliseconds(max);
  }
  const what = `a duration from ${min} to ${max}, such as ${standard}`;
  return shown(what, isValid).default(standard);
}

/** Returns the milliseconds of a duration; NaN if the text is none. */
export function milliseconds(text: string): number {
  return parseDuration(text) ?? NaN;
}

/** Returns the type of a local time such as `04:00`. */
export function timeOfDay(): z.ZodString {
  const pattern = /^([01]\d|2[0-3]):([0-5]\d)$/;
  return shown('a time of day from "00:00" to "23:59"', (value) => pattern.test(value));
}

/** Returns the type of a URL of the service, which may have a path. */
export function serviceUrl(example: string): z.ZodString {
  const what = `an http(s) URL without user or query, such as ${example}`;
  return shown(what, isUrl(/^https?:\/\/[^/?#@\\\s]+(\/[^?#\\\s]*)?$/));
}

/** Returns the type of the URL of a proxy. It may hold a user and a password, so it is never shown. */
export function proxyUrl(): z.ZodString {
  const example = 'http://proxy.example.org:3128';
  const what = `an http(s) URL without path or query, such as ${example}`;
  return hidden(what, isUrl(/^https?:\/\/[^/?#\\\s]+\/?$/));
}

/** Returns a test that is stricter than the URL standard, which corrects what it can. */
function isUrl(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text) && URL.canParse(text) && new URL(text).port !== '0';
}

/** Returns the type of an IANA time zone that Node.js knows. */
export function timezone(): z.ZodString {
  // Node.js looks a name up in 0.07 ms. Thousands of customers share a few zones.
  const known = new Map<string, boolean>();
  return shown('an IANA time zone such as Europe/Copenhagen', (name) => {
    const isKnown = known.get(name) ?? isTimezone(name);
    known.set(name, isKnown);
    return isKnown;
  });
}

/** Returns false for offsets and names in lower case, which Node.js knows, too. */
function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return /^[A-Z]/.test(name);
  } catch {
    return false;
  }
}

/** Returns the type of a region of HOLIDAY_REGIONS; its values are in lower case. */
export function holidayRegion(): z.ZodString {
  const what = 'a country or country-state such as dk or de-by';
  return shown(what, isHolidayRegion, (region) => region.toLowerCase());
}

/** Returns whether a text is one of HOLIDAY_REGIONS. */
function isHolidayRegion(region: string): boolean {
  const [country = '', ...states] = region.split('-');
  const known = HOLIDAY_REGIONS.get(country);
  return known !== undefined && (region === country || known.includes(states.join('-')));
}
