/**
 * The types of values in the configuration, as zod schemas. Each carries `expected` for messages and
 * the reference, and `harmless` where a value may be quoted (see {@link ValueMeta}).
 */
import { z } from 'zod';
import { DURATION_PATTERN, parseDuration } from '../base/duration.ts';
import { HOLIDAY_REGIONS } from '../counting/holiday-regions.ts';
import { suggest } from './suggest.ts';

export interface ValueMeta {
  /** Completes "expected …". */
  readonly expected?: string;
  /** Allowlist: only values and lines of such keys appear in messages. */
  readonly harmless?: boolean;
  /** For a key that is known, but refused: what to do instead. */
  readonly unsupported?: string;
}

/** What is wrong with a value, as the params of an issue of zod. */
export interface Fault {
  /** Completes "got …" and quotes nothing. Default: the value itself, where it may be shown. */
  readonly got?: string;
  /** May quote the value; left out where the value must not be shown. */
  readonly hint?: string | undefined;
}

type StringMeta = ValueMeta & { readonly [jsonSchemaKeyword: string]: unknown };

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
    (value) => {
      // Somebody wrote the certificate or key itself, which must not be shown as a path.
      const isPem = value.includes('-----BEGIN');
      return isPem ? { got: 'the content of one' } : unsafeFault(value);
    },
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
  const expected = words.length === 1 ? words.join() : `one of ${words.join(', ')}`;
  return z.enum(words).meta({ expected, harmless: true });
}

/** A list of words, each at most once. */
export function setOf<const Word extends string>(words: readonly Word[], minLength: 0 | 1) {
  return z
    .array(oneOf(words))
    .min(minLength)
    .superRefine((list, context) => {
      for (const [i, word] of list.entries()) {
        if (list.indexOf(word) < i) {
          context.addIssue({ code: 'custom', path: [i], params: { got: 'the same word twice' } });
        }
      }
    })
    .meta({
      expected: `a list of ${minLength === 0 ? 'any' : 'one or more'} of ${words.join(', ')}`,
      harmless: true,
      uniqueItems: true,
    });
}

export function duration(min: string, max: string, example: string): z.ZodString {
  const minMs = parseDuration(min) ?? 0;
  const maxMs = parseDuration(max) ?? Infinity;
  return checkedString(
    (value) => {
      const ms = parseDuration(value);
      if (ms === undefined) {
        const isBare = /^\d+$/.test(value);
        return isBare ? { got: 'a number without a unit', hint: `did you mean ${value}s?` } : {};
      }
      return ms < minMs || ms > maxMs ? {} : undefined;
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

/** `appended` is the path that the exporter appends itself. */
export function serviceUrl(appended: string, example: string): z.ZodString {
  return checkedString(
    (value) => {
      const fault = urlFault(value);
      if (fault !== undefined) {
        return { got: fault };
      }
      const { username, password, pathname } = new URL(value);
      if (username !== '' || password !== '') {
        return { got: 'one with a user or a password' };
      }
      return pathname.replace(/\/+$/, '').endsWith(appended)
        ? { got: `one that ends with ${appended}, which is appended automatically` }
        : undefined;
    },
    {
      expected: `a URL such as ${example}`,
      harmless: true,
      pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\\\\\s]+(/[^?#\\\\\\s]*)?$',
      maxLength: MAX_URL_LENGTH,
      examples: [example],
    },
  );
}

/** May hold a user and a password, so it is never shown. */
export function proxyUrl(): z.ZodString {
  const example = 'http://proxy.example.org:3128';
  return checkedString(
    (value) => {
      const fault = urlFault(value);
      const hasPath = fault === undefined && new URL(value).pathname !== '/';
      return fault === undefined && !hasPath ? undefined : { got: fault ?? 'one with a path' };
    },
    {
      expected: `a URL without a path, such as ${example}`,
      pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\\\\\s]+/?$',
      maxLength: MAX_URL_LENGTH,
      examples: [example],
    },
  );
}

/** Stricter than the URL standard, which corrects what it can. */
function urlFault(value: string): string | undefined {
  if (value.length > MAX_URL_LENGTH) {
    return `one of more than ${MAX_URL_LENGTH} characters`;
  }
  if (/[\s\\]/.test(value)) {
    return 'one with a space or a backslash';
  }
  if (!/^https?:\/\/[^/]/i.test(value)) {
    return 'one without https:// or http:// and a host';
  }
  if (!URL.canParse(value)) {
    return 'an invalid URL';
  }
  if (/[?#]/.test(value)) {
    return 'one with a query or a fragment';
  }
  return new URL(value).port === '0' ? 'port 0' : undefined;
}

/** Creates the schema of a time zone, which remembers what it has checked: many customers share one. */
export function timezone(): z.ZodString {
  let names: ReadonlySet<string> | undefined;
  const rare = new Map<string, Fault | undefined>();
  return checkedString(
    (value) => {
      names ??= new Set(Intl.supportedValuesOf('timeZone'));
      if (names.has(value)) {
        return undefined;
      }
      if (!rare.has(value)) {
        rare.set(value, timezoneFault(value, [...names]));
      }
      return rare.get(value);
    },
    {
      expected: 'an IANA time zone such as Europe/Copenhagen',
      harmless: true,
      // Only Node.js knows which names there are.
      pattern: '^(?![Uu][Tt][Cc][+-]|[Gg][Mm][Tt][+-])[A-Za-z][A-Za-z0-9_+/-]*$',
      examples: ['Europe/Copenhagen'],
    },
  );
}

/** Old names that IANA keeps, such as US/Eastern, and UTC are valid. */
function timezoneFault(value: string, names: readonly string[]): Fault | undefined {
  if (/^[+-]|^(UTC|GMT)[+-]/i.test(value)) {
    return { got: 'an offset, which has no daylight saving time' };
  }
  const spelling = names.find((name) => name.toLowerCase() === value.toLowerCase());
  const nearest = spelling ?? suggest(value, names);
  return spelling === undefined && isTimezone(value)
    ? undefined
    : { hint: nearest && `did you mean ${nearest}?` };
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
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
      const isKnown = states && (state.length === 0 || states.includes(state.join('-')));
      return isKnown === true ? undefined : { hint: regionHint(country) };
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

function regionHint(country: string): string {
  const states = HOLIDAY_REGIONS.get(country);
  if (states === undefined) {
    return `known countries: ${[...HOLIDAY_REGIONS.keys()].join(', ')}`;
  }
  return states.length === 0
    ? `${country} has no states`
    : `known: ${[country, ...states.map((state) => `${country}-${state}`)].join(', ')}`;
}
