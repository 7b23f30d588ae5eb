/** The shapes that belong to this configuration: URLs, zones, times, labels. Pure; reads no file. */
import { DURATION_PATTERN, parseDuration } from '../base/duration.ts';
import { HOLIDAY_REGIONS } from '../counting/holiday-regions.ts';
import { holidaysProblem } from '../counting/opening-hours.ts';
import { nearest } from './nearest.ts';
import { ONE_LINE, inAnyCase, literally } from './schema.ts';
import type { JsonSchema } from './schema.ts';
import { Refusal, scalar, TEXT_TYPES, within } from './shapes.ts';
import type { Shape } from './shapes.ts';
import type { LocalTimeOfDay } from './types.ts';

interface DurationRules {
  readonly least: string;
  readonly most: string;
  readonly example: string;
}

/** Milliseconds. */
export function duration({ least, most, example }: DurationRules): Shape<number> {
  return scalar({
    expects: `a duration from ${least} to ${most}, as in ${example}`,
    accepts: TEXT_TYPES,
    parse(text) {
      const ms = parseDuration(text);
      if (ms === undefined) {
        return /^\d+$/.test(text)
          ? new Refusal('has no unit', `has no unit: did you mean ${text}s?`)
          : new Refusal('is not a duration');
      }
      const limits = [parseDuration(least) ?? 0, parseDuration(most) ?? Infinity] as const;
      const checked = within(ms, ...limits);
      return checked instanceof Refusal
        ? new Refusal(ms < limits[0] ? 'is too short' : 'is too long')
        : checked;
    },
    // A number alone has no unit.
    schema: { type: 'string', minLength: 1, pattern: DURATION_PATTERN, examples: [example] },
  });
}

const LONGEST_URL = 2_048;

/** Without a slash at the end. `appended` is what the program adds itself. */
export function serviceUrl(appended: string, example: string): Shape<string> {
  return scalar({
    expects: `a URL, as in ${example}`,
    accepts: ['text'],
    parse(text) {
      const url = httpUrl(text, 'https://');
      if (url instanceof Refusal) {
        return url;
      }
      if (url.username !== '' || url.password !== '') {
        return new Refusal('holds a user or a password');
      }
      const address = `${url.origin}${url.pathname}`.replace(/\/+$/, '');
      return address.endsWith(appended)
        ? new Refusal(`ends with ${appended}, which is appended by itself`)
        : address;
    },
    schema: {
      maxLength: LONGEST_URL,
      pattern: `^${inAnyCase('http')}[Ss]?://[^/?#@\\\\\\s]+(/[^?#\\\\\\s]*)?$`,
      not: { pattern: `${literally(appended)}/*$` },
      examples: [example],
    },
  });
}

/** A proxy can need a user and a password; both are hidden in every message. */
export function proxyUrl(): Shape<string> {
  return scalar({
    expects: 'a URL without a path, as in http://proxy.example.org:3128',
    accepts: ['text'],
    parse(text) {
      const url = httpUrl(text, 'http://');
      if (url instanceof Refusal) {
        return url;
      }
      return url.pathname === '/' ? url.href.replace(/\/$/, '') : new Refusal('has a path');
    },
    schema: {
      maxLength: LONGEST_URL,
      pattern: `^${inAnyCase('http')}[Ss]?://[^/?#\\\\\\s]+/?$`,
      examples: ['http://proxy.example.org:3128'],
    },
  });
}

/** Stricter than the URL standard, which mends whatever it can. */
function httpUrl(text: string, beginning: string): URL | Refusal {
  if (text.length > LONGEST_URL) {
    return new Refusal(`is longer than ${LONGEST_URL} characters`);
  }
  if (text === '' || /[\s\\]/.test(text)) {
    return new Refusal(text === '' ? 'is empty' : 'holds a space or a backslash');
  }
  if (!/^https?:\/\/[^/]/i.test(text)) {
    return new Refusal(`does not begin with ${beginning} and a host`);
  }
  if (!URL.canParse(text)) {
    return new Refusal('is not a URL');
  }
  return /[?#]/.test(text) ? new Refusal('has a query or a fragment') : new URL(text);
}

/** Whether a URL goes to this machine, where plain http cannot be overheard. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** What JSON Schema can say of plain http that goes to another machine by its name. */
export const INSECURE_URL: JsonSchema = {
  type: 'string',
  pattern: `^${inAnyCase('http')}://(?!([A-Za-z0-9.-]+\\.)?${inAnyCase('localhost')}(:|/|$))[A-Za-z][A-Za-z0-9.-]*(:|/|$)`,
};

const MOST_RARE = 1_000;

export function timezone(): Shape<string> {
  let names: ReadonlySet<string> | undefined;
  /** What is wrong for one customer is often wrong for thousands, and a neighbour is dear to find. */
  const rare = new Map<string, string | Refusal>();
  return scalar({
    expects: 'an IANA name, as in Europe/Copenhagen',
    accepts: ['text'],
    parse(text) {
      names ??= new Set(Intl.supportedValuesOf('timeZone'));
      const known = names.has(text) ? text : (rare.get(text) ?? rareTimezone(text, [...names]));
      if (!names.has(text) && rare.size < MOST_RARE) {
        rare.set(text, known);
      }
      return known;
    },
    // Which names there are is for the running Node.js to know.
    schema: {
      pattern: '^(?![Uu][Tt][Cc][+-]|[Gg][Mm][Tt][+-])[A-Za-z][A-Za-z0-9_+/-]*$',
      examples: ['Europe/Copenhagen'],
    },
  });
}

/** Names that IANA keeps for old ones, as US/Eastern and UTC, are good too. */
function rareTimezone(text: string, names: readonly string[]): string | Refusal {
  if (/^[+-]|^(UTC|GMT)[+-]/i.test(text)) {
    return new Refusal('is an offset, which knows no summer time');
  }
  if (!isTimezone(text)) {
    const guess = nearest(text, names);
    const wrong = 'is not a time zone that is known here';
    return new Refusal(wrong, guess && `${wrong}: did you mean ${guess}?`);
  }
  const spelling = names.find((name) => name.toLowerCase() === text.toLowerCase());
  const wrong = 'is not written as IANA does';
  return spelling === undefined ? text : new Refusal(wrong, `${wrong}: write ${spelling}`);
}

function isTimezone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

export function timeOfDay(): Shape<LocalTimeOfDay> {
  return scalar({
    expects: 'hours and minutes from "00:00" to "23:59", as in "04:00"',
    accepts: ['text'],
    parse(text) {
      const match = TIME_OF_DAY.exec(text);
      return match === null
        ? new Refusal('is not a time of day')
        : { hour: Number(match[1]), minute: Number(match[2]) };
    },
    schema: { pattern: TIME_OF_DAY.source, examples: ['04:00'] },
  });
}

/** In lower case. */
export function holidayRegion(): Shape<string> {
  return scalar({
    expects: 'a country, or country-state, as in dk or de-by',
    accepts: ['text'],
    parse(text) {
      const region = text.toLowerCase();
      const problem = holidaysProblem(region);
      return problem === undefined
        ? region
        : new Refusal('is not a region whose holidays are known', problem);
    },
    schema: { pattern: holidayPattern(), examples: ['dk', 'de-by'] },
  });
}

function holidayPattern(): string {
  const countries = Array.from(HOLIDAY_REGIONS, ([country, states]) =>
    states.length === 0
      ? inAnyCase(country)
      : `${inAnyCase(country)}(-(${states.map(inAnyCase).join('|')}))?`,
  );
  return `^(${countries.join('|')})$`;
}

const RESERVED_LABELS: readonly string[] = ['customer', 'timezone', 'job', 'instance'];

export const LABEL_SCHEMA: JsonSchema = {
  pattern: `^(?!__|(?:${RESERVED_LABELS.join('|')})$)[a-zA-Z_][a-zA-Z0-9_]*$`,
};

export function labelProblem(name: string): string | undefined {
  if (RESERVED_LABELS.includes(name) || name.startsWith('__')) {
    return 'is a reserved label: choose another name';
  }
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)
    ? undefined
    : 'is not a label name: use letters, digits and _, and begin with a letter or _';
}

const LONGEST_BRANCH_ID = 64;

export const BRANCH_SCHEMA: JsonSchema = {
  minLength: 1,
  maxLength: LONGEST_BRANCH_ID,
  pattern: ONE_LINE,
};

export function branchProblem(id: string): string | undefined {
  return id === '' || id.length > LONGEST_BRANCH_ID || /\p{Cc}/u.test(id) || !id.isWellFormed()
    ? "is not a branch's id: give the service's, as in 101"
    : undefined;
}
