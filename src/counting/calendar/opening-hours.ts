/** Opening hours in OpenStreetMap's syntax: what is accepted, and when a library is open. */
import Library from 'opening_hours';
import regions from './holiday-regions.json' with { type: 'json' };
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { floorToMinute } from './calendar.ts';
import type { Span } from './calendar.ts';
import { Zone } from './zone.ts';

export type OpeningHoursParser = (text: string, holidays: string | undefined) => OpeningHours;

const MAX_TEXT_CHARACTERS = 1_000;
/** The next change is looked for so far ahead. */
const HORIZON_MS = 366 * DAY_MS;
/** So many years are verified where the date of Easter matters: it may be a month later in another one. */
const EASTER_YEARS = 30;

/** Warnings of the library about style. Any other warning means that it guessed, which is refused. */
const STYLE_WARNINGS: ReadonlySet<string> = new Set([
  'additional_rule_separator_not_used_after_time_wrapping_midnight',
  'additional_rule_which_evaluates_to_closed',
  'combine_rules',
  'date_past',
  'date_range_past',
  'default_state',
  'empty_comment',
  'nothing_useful',
  'period_one',
  'period_one_year_plus',
  'public_holiday',
  'separator_for_readability',
  'switched',
  'year_past',
]);

/** The syntax allows these, but they leave open when the library is open. */
const UNSUPPORTED: readonly (readonly [RegExp, string])[] = [
  [
    /\b(sunrise|sunset|dawn|dusk)\b/i,
    'sunrise, sunset, dawn and dusk are not supported: write times, as in 08:00-20:00',
  ],
  [/\d\s*\+(?!\s*\d)/, 'open ends are not supported: write the closing time, as in 10:00-18:00'],
  // The tables of the opening_hours library end after some years.
  [/\bSH\b/i, 'school holidays (SH) are not supported: write the dates'],
  [/\bunknown\b/i, '"unknown" is not supported: write times, or remove this key'],
];

/**
 * Parses opening hours. `holidays` says whose public holidays PH means: a country or country-state
 * of {@link HOLIDAY_REGIONS}, in lower case. Throws an Error that says what was expected; its message
 * may quote a part of the text.
 */
export function parseOpeningHours(text: string, holidays: string | undefined): OpeningHours {
  if (text.length > MAX_TEXT_CHARACTERS) {
    throw new Error(`expected at most ${MAX_TEXT_CHARACTERS} characters, got ${text.length}`);
  }
  const rules = withoutComments(text);
  const problem = UNSUPPORTED.find(([pattern]) => pattern.test(rules))?.[1];
  if (problem !== undefined) {
    throw new Error(problem);
  }
  return new OpeningHours(withWallDate(() => compile(rules, holidays)));
}

/**
 * Returns the rules with spaces in place of comments, so that problems keep their places. For the library,
 * hours with a comment and without `open` are unknown: neither open nor closed.
 */
function withoutComments(text: string): string {
  const comment = /"[^"]*"(?:\s*:)?/g;
  // The library takes very long to read spaces at the start.
  return text.replaceAll(comment, (found) => ' '.repeat(found.length)).trim();
}

/** Parses each pair of text and holidays once: a thousand branches often keep the same hours. */
export function createOpeningHoursParser(): OpeningHoursParser {
  const parsed = new Map<string, OpeningHours>();
  return function parse(text, holidays) {
    const key = JSON.stringify([text, holidays]);
    const hours = parsed.get(key) ?? parseOpeningHours(text, holidays);
    parsed.set(key, hours);
    return hours;
  };
}

function compile(text: string, holidays: string | undefined): Library {
  let library: Library;
  let warnings: ReturnType<Library['getStructuredWarnings']>;
  try {
    library = new Library(text, placeOf(holidays), { mode: 0 } as Options);
    if (/easter/i.test(text)) {
      checkEaster(library);
    }
    warnings = library.getStructuredWarnings();
  } catch (error) {
    throw new Error(explain(String(error), holidays));
  }
  checkSeparators(library);
  const warning = warnings.find(({ type }) => !STYLE_WARNINGS.has(type));
  if (warning !== undefined) {
    const better = library.prettifyValue({});
    const advice = better === text ? firstSentence(warning.message) : `write it as ${better}`;
    throw new Error(`ambiguous: ${advice}`);
  }
  return library;
}

/** Days, times or a state of a rule: the place among its tokens, and the text. */
type Selector = readonly [place: readonly [start: number, end: number, type: string], text: string];

/**
 * Throws if separators are missing: the library makes one rule of `Mo-Fr 10:00-18:00 Sa 10:00-14:00`, with all
 * times on all days. Its documented option `get_internals` is not in its types.
 */
function checkSeparators(library: Library): void {
  const options: object = { get_internals: true };
  const [rules] = library.prettifyValue(options) as unknown as [readonly Selector[][]];
  for (const rule of rules) {
    const parts: Selector[][] = [];
    for (const selector of rule.toSorted(([a], [b]) => a[0] - b[0])) {
      const [first, last] = [parts.at(-1)?.[0] ?? selector, parts.at(-1)?.at(-1) ?? selector];
      // Days after days with times, or times after times with days, begin another rule.
      if (
        parts.length === 0 ||
        (isTime(first) !== isTime(last) && isTime(first) === isTime(selector))
      ) {
        parts.push([]);
      }
      parts.at(-1)?.push(selector);
    }
    const joined = textOf(rule.toSorted((a, b) => Number(isTime(a)) - Number(isTime(b))));
    const better = parts.map(textOf).join('; ');
    if (parts.length > 1) {
      throw new Error(`write ; between rules, as in ${better}. Without it, this means ${joined}`);
    }
    if (new Set(rule.map(([[, , type]]) => type)).size < rule.length) {
      throw new Error(`ambiguous: write it as ${better}`);
    }
  }
}

function isTime([[, , type]]: Selector): boolean {
  return type === 'time' || type === 'state';
}

/** Returns a rule with commas between selectors of one type. */
function textOf(selectors: readonly Selector[]): string {
  const byType = Map.groupBy(selectors, ([[, , type]]) => type);
  return Array.from(byType.values(), (alike) => alike.map(([, text]) => text).join()).join(' ');
}

/** Throws if days before or after Easter are in another year: always, or if the rule has a year. */
function checkEaster(library: Library): void {
  for (let month = 0; month < 12 * EASTER_YEARS; month += 3) {
    library.getState(new Date(Date.UTC(2026, month, 1)));
  }
}

function firstSentence(message: string): string {
  return message.replace(/[.!?]\s.*$/s, '').replace(/\.$/, '');
}

type Options = NonNullable<ConstructorParameters<typeof Library>[2]>;
type Place = NonNullable<ConstructorParameters<typeof Library>[1]>;

/**
 * Returns the place in the form of Nominatim: the state by its ISO code. Coordinates matter only for
 * sunrise.
 */
function placeOf(holidays: string | undefined): Place | undefined {
  if (holidays === undefined) {
    return undefined;
  }
  const address = {
    country_code: holidays.slice(0, 2),
    state: '',
    'ISO3166-2-lvl4': holidays,
  };
  return { lat: 0, lon: 0, address };
}

function explain(message: string, holidays: string | undefined): string {
  if (message.startsWith('Country code missing')) {
    return 'PH needs the key holidays, as in holidays: dk';
  }
  if (message.includes('no holidays (PH) defined') && holidays !== undefined) {
    const regions = HOLIDAY_REGIONS.get(holidays)?.map((state) => `${holidays}-${state}`) ?? [];
    return `${holidays} has no public holidays of its own: set holidays to one of ${regions.join(', ')}`;
  }
  // There may be several; the first one is at the first mistake.
  const [, before = '', reason = ''] = /^(.*?) <--- \((.*)\)/s.exec(message) ?? [];
  return reason === '' || reason.startsWith('Unexpected token')
    ? "invalid syntax: expected OpenStreetMap's, as in Mo-Fr 08:00-20:00; Sa 10:00-16:00"
    : `invalid syntax at character ${before.length}: ${firstSentence(reason)}`;
}

/** Whether it is open at a wall-clock time, and until when at least. */
function nextChange(library: Library, wallMs: number): { open: boolean; nextMs: number } {
  const from = new Date(wallMs);
  const horizonMs = wallMs + HORIZON_MS;
  const next = library.getNextChange(from, new Date(horizonMs));
  return { open: library.getState(from), nextMs: next?.getTime() ?? horizonMs };
}

/** From `fromMs` until `untilMs` nothing changes. */
interface Interval {
  readonly zone: Zone;
  readonly open: boolean;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** One text in any zone. The last interval of each zone is kept: an evaluation is slow. */
export class OpeningHours {
  readonly #library: Library;
  readonly #intervals = new Map<string, Interval>();

  constructor(library: Library) {
    this.#library = library;
  }

  /** In the repeated hour of a day on which clocks are set back, a library is open twice. */
  isOpenAt(instantMs: number, timezone: string): boolean {
    return this.#intervalAt(instantMs, timezone).open;
  }

  /** Until when isOpenAt returns the same, at least: it may do so for longer. */
  nextChangeAfter(instantMs: number, timezone: string): number {
    return this.#intervalAt(instantMs, timezone).untilMs;
  }

  /** Returns the opening times within a span. */
  openSpans({ startMs, endMs }: Span, timezone: string): readonly Span[] {
    const spans: Span[] = [];
    for (let atMs = startMs; atMs < endMs;) {
      const untilMs = Math.min(endMs, this.nextChangeAfter(atMs, timezone));
      if (this.isOpenAt(atMs, timezone)) {
        spans.push({ startMs: atMs, endMs: untilMs });
      }
      atMs = untilMs;
    }
    return spans;
  }

  #intervalAt(instantMs: number, timezone: string): Interval {
    const last = this.#intervals.get(timezone);
    if (last !== undefined && instantMs >= last.fromMs && instantMs < last.untilMs) {
      return last;
    }
    const zone = last?.zone ?? new Zone(timezone);
    const interval = withWallDate(() => this.#evaluate(instantMs, zone));
    this.#intervals.set(timezone, interval);
    return interval;
  }

  /** Opening hours are wall-clock times, which continue elsewhere where clocks are set. */
  #evaluate(fromMs: number, zone: Zone): Interval {
    const offsetMs = zone.offsetMsAt(fromMs);
    try {
      const { open, nextMs } = nextChange(this.#library, fromMs + offsetMs);
      const untilMs = Math.min(nextMs - offsetMs, zone.nextTransitionAfter(fromMs));
      return { zone, open, fromMs, untilMs };
    } catch {
      // The iterator fails in the weeks before a holiday that is observed in the year before, as
      // New Year's Day of 2028 in the United States. The state at one instant is right even then.
      const open = this.#library.getState(new Date(fromMs + offsetMs));
      return { zone, open, fromMs, untilMs: floorToMinute(fromMs) + MINUTE_MS };
    }
  }
}

const SystemDate = Date;

/**
 * A Date whose local fields are its UTC fields: the opening_hours library reads local time, which
 * here is the wall-clock time of any zone, without gaps and repeated hours.
 */
const WallDate = createWallDate();

/**
 * Runs a synchronous calculation of the library with `Date` replaced by {@link WallDate} and without
 * its console output. Nothing else can run meanwhile.
 */
function withWallDate<Result>(calculate: () => Result): Result {
  const { error, warn } = console;
  const { Date: before } = globalThis;
  globalThis.Date = WallDate;
  Object.assign(console, { error() {}, warn() {} });
  try {
    return calculate();
  } finally {
    globalThis.Date = before;
    Object.assign(console, { error, warn });
  }
}

function createWallDate(): DateConstructor {
  class Wall extends SystemDate {
    /** Without arguments it is 1970: the library cannot read the clock. */
    constructor(...parts: readonly number[]) {
      const [year = 0, month = 0, ...rest] = parts;
      super(parts.length > 1 ? SystemDate.UTC(year, month, ...rest) : year);
    }
  }
  for (const name of Object.getOwnPropertyNames(SystemDate.prototype)) {
    if (name.includes('UTC')) {
      Object.defineProperty(Wall.prototype, name.replace('UTC', ''), {
        value: Reflect.get(SystemDate.prototype, name),
      });
    }
  }
  // `Date()` without `new` is a string; the library does not call it.
  return Wall as DateConstructor;
}

/**
 * States by country, for all whose public holidays the library `opening_hours` has; most of them as in
 * ISO 3166-2, in lower case. The library does not export this list, and takes the country's holidays for
 * a state that it does not know, so it cannot be asked. A test compares the list with the library's source.
 */
export const HOLIDAY_REGIONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(regions).map(([country, states]) => [country, states.split(' ').filter(Boolean)]),
);
