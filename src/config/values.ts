/**
 * The types of values in the configuration, as zod schemas. Each has `expected` for messages and the
 * reference, and `harmless` if its values may be shown.
 */
import { z } from 'zod';
import { DURATION_PATTERN, parseDuration } from '../base/duration.ts';
import { HOLIDAY_REGIONS } from '../counting/calendar/opening-hours.ts';

interface ValueMeta {
  /** Completes "expected …". */
  readonly expected?: string;
  /** Allowlist: only values and lines of such keys appear in messages. */
  readonly harmless?: boolean;
  /** The key of a mapping whose value may be written in place of the mapping. */
  readonly shorthand?: string;
  readonly description?: string | undefined;
}

/** Returns the type without defaults, optionality and conversions. */
export function innerType(type: z.ZodType): z.ZodType {
  const inner = unwrap(type);
  return inner === undefined ? type : innerType(inner);
}

/** Returns the type inside another one that only adds a default, optionality or a conversion. */
function unwrap(type: z.ZodType): z.ZodType | undefined {
  if (type instanceof z.ZodPreprocess) {
    return type.def.out as z.ZodType;
  }
  return type instanceof z.ZodOptional ||
    type instanceof z.ZodDefault ||
    type instanceof z.ZodPrefault
    ? (type.unwrap() as z.ZodType)
    : undefined;
}

/** Returns the type of what is at a path that the schema allows. */
export function typeAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType {
  return path.reduce<z.ZodType>((container, step) => {
    const type = innerType(container);
    const inner =
      type instanceof z.ZodObject
        ? type.shape[String(step)]
        : type instanceof z.ZodRecord
          ? type.valueType
          : (type as z.ZodArray).element;
    return inner as z.ZodType;
  }, schema);
}

/** Zod copies what is said about a type at each question: of 10,000 customers, that takes a fifth of a second. */
const metas = new WeakMap<z.ZodType, ValueMeta>();

/** Returns what is said about a type, and about the types inside it where it says nothing itself. */
export function metaOf(type: z.ZodType): ValueMeta {
  const known = metas.get(type);
  if (known !== undefined) {
    return known;
  }
  const inner = unwrap(type);
  const meta = { ...(inner && metaOf(inner)), ...type.meta() };
  metas.set(type, meta);
  return meta;
}

/** Makes a mapping accept what is left when all its entries are commented out. */
export function mapping<Type extends z.ZodObject | z.ZodRecord>(type: Type) {
  return z.preprocess((value) => (value === null ? {} : value), type);
}

/** Makes a mapping accept a text as the value of one of its keys, which other keys may accompany. */
export function shorthand<Type extends z.ZodObject>(key: string, expected: string, type: Type) {
  return z
    .preprocess((value) => (typeof value === 'string' ? { [key]: value } : value), type)
    .meta({ shorthand: key, expected });
}

/** Matches a number in decimal, as YAML 1.2 and JSON write it. */
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** Returns the number that a text is; other values as they are. Files have text alone, quoted or not. */
function numberFrom(value: unknown): unknown {
  return typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
}

/** Matches control characters, lone surrogates, line separators, and what changes the direction of text. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;
/** Matches a visible character. Letters of other scripts that look like a space are invisible. */
const VISIBLE = /[^\p{C}\p{Z}\p{M}\u115F\u1160\u2800\u3164\uFFA0]/u;

/** Returns the type of text that is used as it is, such as a secret. */
export function opaque(expected: string): z.ZodString {
  return z.string().min(1).meta({ expected });
}

/** Returns the type of trimmed text in Unicode's normal form C, with a visible character unless empty. */
export function text(expected: string, { minLength = 1, maxLength = 256 } = {}): z.ZodString {
  return z
    .string()
    .trim()
    .normalize('NFC')
    .min(minLength)
    .max(maxLength)
    .refine((value) => !UNSAFE.test(value) && (value === '' || VISIBLE.test(value)))
    .meta({ expected, harmless: true });
}

/** Returns the type of a path. The text of a certificate or key in its place is refused. */
export function path(expected: string): z.ZodString {
  return opaque(expected).refine((value) => !value.includes('-----BEGIN'));
}

/** Returns the type of an integer, in decimal. */
export function integer(min: number, max: number) {
  const expected = `an integer from ${min} to ${max}`;
  return z.preprocess(numberFrom, z.int().min(min).max(max)).meta({ expected, harmless: true });
}

/** Returns the type of a number that may have a fraction, in decimal. */
export function decimal(min: number, max: number) {
  const expected = `a number from ${min} to ${max}`;
  return z.preprocess(numberFrom, z.number().min(min).max(max)).meta({ expected, harmless: true });
}

/** Returns the type of a boolean. As in YAML 1.2, `yes`, `no`, `on` and `off` are none. */
export function trueOrFalse() {
  return z
    .preprocess((value) => TRUTH_VALUES.get(value) ?? value, z.boolean())
    .meta({ expected: 'true or false', harmless: true });
}

const TRUTH_VALUES: ReadonlyMap<unknown, boolean> = new Map(
  Object.entries({ true: true, True: true, TRUE: true, false: false, False: false, FALSE: false }),
);

/** Returns the type of one of the words. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  return z.enum(words).meta({ expected: `one of ${words.join(', ')}`, harmless: true });
}

/** Returns the type of a list of words, each at most once; its values are in the order of `words`. */
export function listOf<const Word extends string>(words: readonly Word[], minLength: 0 | 1) {
  const number = minLength === 0 ? 'any' : 'one or more';
  return z
    .array(oneOf(words))
    .min(minLength)
    .overwrite((list) => words.filter((word) => list.includes(word)))
    .meta({ expected: `a list of ${number} of ${words.join(', ')}`, harmless: true });
}

/** Returns the type of a duration such as `90s`, within limits and with a default. */
export function duration(min: string, max: string, defaultText: string): z.ZodDefault<z.ZodString> {
  const [minMs, maxMs] = [milliseconds(min), milliseconds(max)];
  return z
    .string()
    .regex(DURATION_PATTERN)
    .refine((value) => milliseconds(value) >= minMs && milliseconds(value) <= maxMs)
    .meta({ expected: `a duration from ${min} to ${max}, such as ${defaultText}`, harmless: true })
    .default(defaultText);
}

/** Returns the milliseconds of a duration; NaN if the text is none. */
export function milliseconds(duration: string): number {
  return parseDuration(duration) ?? NaN;
}

/** Returns the type of a local time such as `04:00`. */
export function timeOfDay(): z.ZodString {
  return z
    .string()
    .regex(/^([01]\d|2[0-3]):([0-5]\d)$/)
    .meta({ expected: 'a time of day from "00:00" to "23:59"', harmless: true });
}

/** Returns the type of a URL of the service, which may have a path. */
export function serviceUrl(example: string): z.ZodString {
  const expected = `an http(s) URL without user or query, such as ${example}`;
  return url(/^https?:\/\/[^/?#@\\\s]+(\/[^?#\\\s]*)?$/).meta({ expected, harmless: true });
}

/** Returns the type of the URL of a proxy. It may hold a user and a password, so it is never shown. */
export function proxyUrl(): z.ZodString {
  const example = 'http://proxy.example.org:3128';
  const expected = `an http(s) URL without path or query, such as ${example}`;
  return url(/^https?:\/\/[^/?#\\\s]+\/?$/).meta({ expected });
}

/** Returns the type of a URL. It is stricter than the URL standard, which corrects what it can. */
function url(pattern: RegExp): z.ZodString {
  return z
    .string()
    .regex(pattern)
    .refine((value) => URL.canParse(value) && new URL(value).port !== '0');
}

/** Returns the type of an IANA time zone that Node.js knows. */
export function timezone(): z.ZodString {
  // Node.js looks a name up in 0.07 ms. Thousands of customers share a few zones.
  const known = new Map<string, boolean>();
  return z
    .string()
    .refine((name) => {
      const isKnown = known.get(name) ?? isTimezone(name);
      known.set(name, isKnown);
      return isKnown;
    })
    .meta({ expected: 'an IANA time zone such as Europe/Copenhagen', harmless: true });
}

/** Returns false for offsets and names in lower case, which Node.js knows, too. */
function isTimezone(value: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return /^[A-Z]/.test(value);
  } catch {
    return false;
  }
}

/** Returns the type of a region of HOLIDAY_REGIONS; its values are in lower case. */
export function holidayRegion(): z.ZodString {
  const regions = new Set(
    [...HOLIDAY_REGIONS].flatMap(([country, states]) => [
      country,
      ...states.map((state) => `${country}-${state}`),
    ]),
  );
  return z
    .string()
    .toLowerCase()
    .refine((value) => regions.has(value))
    .meta({
      expected: 'a country or country-state such as dk or de-by',
      harmless: true,
    });
}
