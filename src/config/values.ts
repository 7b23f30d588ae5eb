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
  readonly description?: string | undefined;
}

/** The type without defaults and optionality. */
export function innerType(type: z.ZodType): z.ZodType {
  return type instanceof z.ZodOptional ||
    type instanceof z.ZodDefault ||
    type instanceof z.ZodPrefault
    ? innerType(type.unwrap() as z.ZodType)
    : type;
}

/** The type of what is at a path that the schema allows. */
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

export function metaOf(type: z.ZodType): ValueMeta {
  return { ...innerType(type).meta(), ...type.meta() };
}

/** Control characters, lone surrogates, line separators, and what changes the direction of text. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;
/** Letters of other scripts that look like a space count as invisible. */
const VISIBLE = /[^\p{C}\p{Z}\p{M}\u115F\u1160\u2800\u3164\uFFA0]/u;

/** What is sent or stored as it is, such as a secret. */
export function opaque(expected: string): z.ZodString {
  return z.string().min(1).meta({ expected });
}

/** Trimmed, in Unicode's normal form C, with a visible character. */
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

export function path(expected: string): z.ZodString {
  // The text of a certificate or key in place of its path must not be shown.
  return opaque(expected).refine((value) => !value.includes('-----BEGIN'));
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

/** Each word at most once, in the order of `words`. */
export function listOf<const Word extends string>(words: readonly Word[], minLength: 0 | 1) {
  const number = minLength === 0 ? 'any' : 'one or more';
  return z
    .array(oneOf(words))
    .min(minLength)
    .overwrite((list) => words.filter((word) => list.includes(word)))
    .meta({ expected: `a list of ${number} of ${words.join(', ')}`, harmless: true });
}

export function duration(min: string, max: string, usual: string): z.ZodDefault<z.ZodString> {
  const [minMs, maxMs] = [milliseconds(min), milliseconds(max)];
  return z
    .string()
    .regex(DURATION_PATTERN)
    .refine((value) => milliseconds(value) >= minMs && milliseconds(value) <= maxMs)
    .meta({ expected: `a duration from ${min} to ${max}, such as ${usual}`, harmless: true })
    .default(usual);
}

/** Of a duration; NaN of another text. */
export function milliseconds(duration: string): number {
  return parseDuration(duration) ?? NaN;
}

export function timeOfDay(): z.ZodString {
  return z
    .string()
    .regex(/^([01]\d|2[0-3]):([0-5]\d)$/)
    .meta({ expected: 'a time of day from "00:00" to "23:59"', harmless: true });
}

export function serviceUrl(example: string): z.ZodString {
  const expected = `an http(s) URL without user or query, such as ${example}`;
  return url(/^https?:\/\/[^/?#@\\\s]+(\/[^?#\\\s]*)?$/).meta({ expected, harmless: true });
}

/** May hold a user and a password, so it is never shown. */
export function proxyUrl(): z.ZodString {
  const example = 'http://proxy.example.org:3128';
  const expected = `an http(s) URL without path or query, such as ${example}`;
  return url(/^https?:\/\/[^/?#\\\s]+\/?$/).meta({ expected });
}

/** Stricter than the URL standard, which corrects what it can. */
function url(pattern: RegExp): z.ZodString {
  return z
    .string()
    .regex(pattern)
    .refine((value) => URL.canParse(value) && new URL(value).port !== '0');
}

export function timezone(): z.ZodString {
  return z
    .string()
    .refine(isTimezone)
    .meta({ expected: 'an IANA time zone such as Europe/Copenhagen', harmless: true });
}

/** Node.js knows offsets, too, and ignores case. */
function isTimezone(value: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return /^[A-Z]/.test(value);
  } catch {
    return false;
  }
}

/** In lower case. */
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
