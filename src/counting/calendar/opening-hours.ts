/** Opening hours in OpenStreetMap's syntax: what is accepted, and when a library is open. */
import type Library from 'opening_hours';
import regions from './holiday-regions.json' with { type: 'json' };
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { loadLibrary, WallDate } from '../../base/opening-hours-library.ts';
import { contains } from './calendar.ts';
import type { Span } from './calendar.ts';
import { Zone } from './zone.ts';

export type OpeningHoursParser = (text: string, holidays: string | undefined) => OpeningHours;

const MAX_TEXT_CHARACTERS = 1_000;
/** The next change is looked for so far ahead. */
const MAX_DAYS_AHEAD = 7;
/** The days of four weeks, and those in which the next change is looked for. */
const MAX_KEPT_DAYS = 40;
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
  return new OpeningHours(compile(rules, holidays));
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
    library = new (loadLibrary())(text, placeOf(holidays), { mode: 0 } as Options);
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
    library.getState(new WallDate(Date.UTC(2026, month, 1)));
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

/** One text in any zone. The opening times of each local day are kept: an evaluation is slow. */
export class OpeningHours {
  readonly #library: Library;
  readonly #zones = new Map<string, Zone>();
  /** In wall-clock time, by days since 1970. */
  readonly #days = new Map<number, readonly Span[]>();

  constructor(library: Library) {
    this.#library = library;
  }

  /** In the repeated hour of a day on which clocks are set back, a library is open twice. */
  isOpenAt(instantMs: number, timezone: string): boolean {
    const wallMs = instantMs + this.#zoneOf(timezone).offsetMsAt(instantMs);
    return this.#openOn(Math.floor(wallMs / DAY_MS)).some((span) => contains(span, wallMs));
  }

  /** Until when isOpenAt returns the same, at least: it may do so for longer. */
  nextChangeAfter(instantMs: number, timezone: string): number {
    let endMs = instantMs;
    for (let day = 0; day < MAX_DAYS_AHEAD; day += 1) {
      endMs += DAY_MS;
      const [first] = this.openSpans({ startMs: instantMs, endMs }, timezone);
      const changeMs = first?.startMs === instantMs ? first.endMs : first?.startMs;
      if (changeMs !== undefined && changeMs < endMs) {
        return changeMs;
      }
    }
    return endMs;
  }

  /** Returns the opening times within a span. They continue elsewhere where clocks are set. */
  openSpans({ startMs, endMs }: Span, timezone: string): readonly Span[] {
    const zone = this.#zoneOf(timezone);
    const spans: Span[] = [];
    for (let fromMs = startMs; fromMs < endMs;) {
      const offsetMs = zone.offsetMsAt(fromMs);
      const untilMs = Math.min(endMs, zone.nextTransitionAfter(fromMs));
      const lastDay = Math.floor((untilMs + offsetMs - 1) / DAY_MS);
      for (let day = Math.floor((fromMs + offsetMs) / DAY_MS); day <= lastDay; day += 1) {
        for (const open of this.#openOn(day)) {
          const openMs = Math.max(fromMs, open.startMs - offsetMs);
          const closeMs = Math.min(untilMs, open.endMs - offsetMs);
          if (openMs < closeMs) {
            const isAdjacent = spans.at(-1)?.endMs === openMs;
            const before = isAdjacent ? spans.pop() : undefined;
            spans.push({ startMs: before?.startMs ?? openMs, endMs: closeMs });
          }
        }
      }
      fromMs = untilMs;
    }
    return spans;
  }

  #zoneOf(timezone: string): Zone {
    const zone = this.#zones.get(timezone) ?? new Zone(timezone);
    this.#zones.set(timezone, zone);
    return zone;
  }

  #openOn(day: number): readonly Span[] {
    const known = this.#days.get(day);
    if (known !== undefined) {
      return known;
    }
    const open = evaluate(this.#library, day * DAY_MS);
    const [oldest] = this.#days.keys();
    if (oldest !== undefined && this.#days.size >= MAX_KEPT_DAYS) {
      this.#days.delete(oldest);
    }
    this.#days.set(day, open);
    return open;
  }
}

/** Returns the opening times of the day that starts at `startMs`, all in wall-clock time. */
function evaluate(library: Library, startMs: number): readonly Span[] {
  const endMs = startMs + DAY_MS;
  try {
    return library
      .getOpenIntervals(new WallDate(startMs), new WallDate(endMs))
      .map(([from, to]) => ({ startMs: from.getTime(), endMs: to.getTime() }));
  } catch {
    // The iterator fails on some days, as on 2028-12-31 with the holidays of the United States. The state at one
    // instant is right even then.
    const minutes: Span[] = [];
    for (let atMs = startMs; atMs < endMs; atMs += MINUTE_MS) {
      if (library.getState(new WallDate(atMs))) {
        minutes.push({ startMs: atMs, endMs: atMs + MINUTE_MS });
      }
    }
    return minutes;
  }
}

/**
 * States by country, for all whose public holidays the library `opening_hours` has; most of them as in
 * ISO 3166-2, in lower case. The library does not export this list, and takes the country's holidays for
 * a state that it does not know, so it cannot be asked. A test compares the list with the library's source.
 */
export const HOLIDAY_REGIONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(regions).map(([country, states]) => [country, states.split(' ').filter(Boolean)]),
);
