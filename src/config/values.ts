/**
 * The types of values in the configuration, as zod schemas. Each has `expected` for messages and the
 * reference, and `harmless` if its values may be shown.
 */
import { z } from 'zod';
import { DURATION_PATTERN, parseDuration } from '../base/duration.ts';
import { HOLIDAY_REGIONS } from '../counting/holiday-regions.ts';
import { suggest } from './suggest.ts';

interface ValueMeta {
  /** Completes "expected …". */
  readonly expected?: string;
  /** Allowlist: only values and lines of such keys appear in messages. */
  readonly harmless?: boolean;
  readonly description?: string | undefined;
}

/** What is wrong with a value, as the params of an issue of zod. */
export interface Fault {
  /** Completes "got …" without quoting the file. Default: the value itself, if it may be shown. */
  readonly got?: string;
  /** Shown after the value, if that may be shown. */
  readonly hint?: string | undefined;
}

type StringMeta = ValueMeta & { readonly [jsonSchemaKeyword: string]: unknown };

/** The type without defaults and optionality. */
export function innerType(type: z.ZodType): z.ZodType {
  let inner = type;
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault
  ) {
    inner = inner.unwrap() as z.ZodType;
  }
  return inner;
}

export function metaOf(type: z.ZodType): ValueMeta {
  return { ...innerType(type).meta(), ...type.meta() };
}

/** A string for which `check` returns what is wrong with it, or undefined. */
export function checkedString(
  check: (value: string) => Fault | undefined,
  meta: StringMeta,
  base: z.ZodString = z.string(),
): z.ZodString {
  return base
    .superRefine((value, context) => {
      const fault = check(value);
      if (fault !== undefined) {
        context.addIssue({ code: 'custom', params: { ...fault } });
      }
    })
    .meta(meta);
}

/** Control characters, lone surrogates, line separators, and what changes the direction of text. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;
/** Letters of other scripts that look like a space count as invisible. */
const VISIBLE = /[^\p{C}\p{Z}\p{M}\u115F\u1160\u2800\u3164\uFFA0]/u;

const MAX_PATH_LENGTH = 4_096;

interface TextOptions extends ValueMeta {
  readonly expected: string;
  readonly maxLength?: number;
  readonly minLength?: 0 | 1;
}

/** One line of text. */
export function text({ maxLength = 256, minLength = 1, ...meta }: TextOptions): z.ZodString {
  const base = z.string().min(minLength).max(maxLength);
  return checkedString(unsafeFault, meta, base);
}

function unsafeFault(value: string): Fault | undefined {
  return UNSAFE.test(value) ? { got: 'text with a control character or line end' } : undefined;
}

/** A name for people: trimmed, in Unicode's normal form C, with a visible character. */
export function displayName(options: TextOptions): z.ZodString {
  const { maxLength = 256, expected, ...meta } = options;
  return checkedString(
    (value) =>
      unsafeFault(value) ??
      (value !== '' && !VISIBLE.test(value) ? { got: 'no visible character' } : undefined),
    { expected, ...meta },
    z.string().trim().normalize('NFC').min(1).max(maxLength),
  );
}

export function path(expected: string): z.ZodString {
  return checkedString(
    // The text of a certificate or key in place of its path must not be shown.
    (value) => (value.includes('-----BEGIN') ? { got: 'the content of one' } : unsafeFault(value)),
    { expected },
    z.string().min(1).max(MAX_PATH_LENGTH),
  );
}

export function integer(min: number, max: number): z.ZodInt {
  const expected = `an integer from ${min} to ${max}`;
  return z.int().min(min).max(max).meta({ expected, harmless: true });
}

export function decimal(min: number, max: number): z.ZodNumber {
  const expected = `a number from ${min} to ${max}`;
  return z.number().min(min).max(max).meta({ expected, harmless: true });
}

export function trueOrFalse(): z.ZodBoolean {
  return z.boolean().meta({ expected: 'true or false', harmless: true });
}

export function oneOf<const Word extends string>(words: readonly Word[]) {
  return z.enum(words).meta({ expected: `one of ${words.join(', ')}`, harmless: true });
}

export function listOf<const Word extends string>(words: readonly Word[], minLength: 0 | 1) {
  const number = minLength === 0 ? 'any' : 'one or more';
  return z
    .array(oneOf(words))
    .min(minLength)
    .meta({ expected: `a list of ${number} of ${words.join(', ')}`, harmless: true });
}

/** Values of text by name. */
export function mapping(
  key: z.ZodString,
  value: z.ZodString,
  maxProperties: number,
  expected: string,
) {
  return z
    .record(key, value)
    .superRefine((entries, context) => {
      if (Object.keys(entries).length > maxProperties) {
        const got = `more than ${maxProperties} entries`;
        context.addIssue({ code: 'custom', params: { got } });
      }
    })
    .meta({ expected, maxProperties });
}

export function duration(min: string, max: string, example: string): z.ZodString {
  const minMs = parseDuration(min) ?? 0;
  const maxMs = parseDuration(max) ?? Infinity;
  return checkedString(
    (value) => {
      const ms = parseDuration(value) ?? NaN;
      const hint = /^\d+$/.test(value) ? `did you mean ${value}s?` : undefined;
      return ms >= minMs && ms <= maxMs ? undefined : { hint };
    },
    {
      expected: `a duration from ${min} to ${max}, such as ${example}`,
      harmless: true,
      pattern: DURATION_PATTERN,
      examples: [example],
    },
  );
}

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

export function timeOfDay(): z.ZodString {
  return checkedString((value) => (TIME_OF_DAY.test(value) ? undefined : {}), {
    expected: 'a time of day from "00:00" to "23:59"',
    harmless: true,
    pattern: TIME_OF_DAY.source,
    examples: ['04:00'],
  });
}

const MAX_URL_LENGTH = 2_048;
const SERVICE_URL = /^https?:\/\/[^/?#@\\\s]+(\/[^?#\\\s]*)?$/i;
/** May have a user and a password. */
const PROXY_URL = /^https?:\/\/[^/?#\\\s]+\/?$/i;

/** `appended` is the path that the exporter appends itself. */
export function serviceUrl(appended: string, example: string): z.ZodString {
  return url((value) => SERVICE_URL.test(value) && !value.replace(/\/+$/, '').endsWith(appended), {
    expected: `an http(s) URL without user, query or ${appended}, such as ${example}`,
    harmless: true,
    pattern: jsonPattern(SERVICE_URL),
    examples: [example],
  });
}

/** May hold a user and a password, so it is never shown. */
export function proxyUrl(): z.ZodString {
  const example = 'http://proxy.example.org:3128';
  const expected = `an http(s) URL without path or query, such as ${example}`;
  const pattern = jsonPattern(PROXY_URL);
  return url((value) => PROXY_URL.test(value), { expected, pattern, examples: [example] });
}

/** Stricter than the URL standard, which corrects what it can. */
function url(isAllowed: (value: string) => boolean, meta: StringMeta): z.ZodString {
  return checkedString(
    (value) =>
      value.length <= MAX_URL_LENGTH &&
      isAllowed(value) &&
      URL.canParse(value) &&
      new URL(value).port !== '0'
        ? undefined
        : {},
    { ...meta, maxLength: MAX_URL_LENGTH },
  );
}

/** JSON Schema has no flag to ignore case. */
function jsonPattern({ source }: RegExp): string {
  return source.replace('https?', '[Hh][Tt][Tt][Pp][Ss]?');
}

/** Remembers the faults it has found: many customers may have the same. */
export function timezone(): z.ZodString {
  const names = new Set(Intl.supportedValuesOf('timeZone'));
  const others = new Map<string, Fault | undefined>();
  return checkedString(
    (value) => {
      if (names.has(value)) {
        return undefined;
      }
      if (!others.has(value)) {
        others.set(value, timezoneFault(value, names));
      }
      return others.get(value);
    },
    {
      expected: 'an IANA time zone such as Europe/Copenhagen',
      harmless: true,
      // Only Node.js knows the names.
      pattern: '^(?![Uu][Tt][Cc][+-]|[Gg][Mm][Tt][+-])[A-Za-z][A-Za-z0-9_+/-]*$',
      examples: ['Europe/Copenhagen'],
    },
  );
}

/** Old names that IANA keeps, such as US/Eastern, and UTC are valid, but no offsets. */
function timezoneFault(value: string, names: ReadonlySet<string>): Fault | undefined {
  const nearest = suggest(value, names);
  const isWrongCase = nearest?.toLowerCase() === value.toLowerCase();
  const isOffset = /^[+-]|^(UTC|GMT)[+-]/i.test(value);
  return !isWrongCase && !isOffset && isKnownToIntl(value)
    ? undefined
    : { hint: nearest && `did you mean ${nearest}?` };
}

function isKnownToIntl(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** In lower case. */
export function holidayRegion(): z.ZodString {
  const countries = [...HOLIDAY_REGIONS.keys()];
  const expected = 'a country or country-state such as dk or de-by';
  const pattern = countries.flatMap((country) => [country, country.toUpperCase()]).join('|');
  return checkedString(
    (value) => {
      const [country = '', ...state] = value.split('-');
      const states = HOLIDAY_REGIONS.get(country);
      if (states !== undefined && (state.length === 0 || states.includes(state.join('-')))) {
        return undefined;
      }
      const known = states?.map((one) => `${country}-${one}`) ?? countries;
      return { hint: known.length === 0 ? undefined : `known: ${known.join(', ')}` };
    },
    {
      expected,
      harmless: true,
      pattern: `^(?:${pattern})(?:-.+)?$`,
      // Editors show this in place of the pattern.
      patternErrorMessage: `expected ${expected}`,
      examples: ['dk', 'de-by'],
    },
    z.string().toLowerCase(),
  );
}
