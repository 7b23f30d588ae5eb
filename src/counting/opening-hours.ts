/**
 * Opening hours in OpenStreetMap's syntax, read by the library `opening_hours`: what is accepted,
 * and what a person is told of the rest. Must not know customers or figures.
 */
import Library from 'opening_hours';
import { HOLIDAY_REGIONS } from './holiday-regions.ts';
import { changesFrom, OpeningSchedule, quietly } from './opening-schedule.ts';

export interface OpeningHours {
  isOpenAt(instantMs: number, timezone: string): boolean;
  /**
   * The first instant after `instantMs` at which isOpenAt answers differently, or has to be asked
   * again because more is not known; undefined if it does not change for a year at least.
   */
  nextChangeAfter(instantMs: number, timezone: string): number | undefined;
}

/** {@link parseOpeningHours}, or something that remembers what it returned. */
export type OpeningHoursParser = (text: string, holidays: string | undefined) => OpeningHours;

const LONGEST_TEXT = 1_000;

/** Warnings of the library about style. With any other it has guessed, and we do not guess. */
const HARMLESS_WARNINGS: ReadonlySet<string> = new Set([
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
  'use_multi',
  'year_past',
]);

/**
 * Opening hours that are understood in full. `holidays` says whose public holidays PH means: a
 * country or country-state of {@link HOLIDAY_REGIONS}, in lower case.
 *
 * Throws an Error whose message completes a sentence that begins with the key, and says what would
 * be right. It may quote a part of the text.
 */
export function parseOpeningHours(text: string, holidays: string | undefined): OpeningHours {
  refuseWhatHasNoAnswer(text);
  const problem = holidays === undefined ? undefined : holidaysProblem(holidays);
  if (problem !== undefined) {
    throw new Error(`has no holidays to go by: ${holidays} ${problem}`);
  }
  return new OpeningSchedule(quietly(() => compile(text, holidays)));
}

/** Parses each pair of text and holidays once: a thousand branches often keep the same hours. */
export function createOpeningHoursParser(): OpeningHoursParser {
  const known = new Map<string, OpeningHours>();
  return function parse(text, holidays) {
    const key = JSON.stringify([text, holidays]);
    const hours = known.get(key) ?? parseOpeningHours(text, holidays);
    known.set(key, hours);
    return hours;
  };
}

/** What is wrong with the name of a holiday region, or undefined. Completes a sentence. */
export function holidaysProblem(holidays: string): string | undefined {
  const [country = '', ...rest] = holidays.split('-');
  const states = HOLIDAY_REGIONS.get(country);
  if (states === undefined) {
    const known = [...HOLIDAY_REGIONS.keys()].join(', ');
    return `is not a country whose holidays are known: give one of ${known}, or country-state as in de-by`;
  }
  if (rest.length === 0 || states.includes(rest.join('-'))) {
    return undefined;
  }
  return states.length === 0
    ? `names a state, but the holidays of ${country} are known only as a whole: give ${country}`
    : `is not a state whose holidays are known: give ${country}, or one of ${statesOf(country)}`;
}

function statesOf(country: string): string {
  return (HOLIDAY_REGIONS.get(country) ?? []).map((state) => `${country}-${state}`).join(', ');
}

/** What the syntax allows, but leaves open whether it is open. */
function refuseWhatHasNoAnswer(text: string): void {
  if (text.length > LONGEST_TEXT) {
    throw new Error(`is longer than ${LONGEST_TEXT} characters: write shorter rules`);
  }
  const rules = text.replaceAll(/"[^"]*"/g, '');
  if (/\b(sunrise|sunset|dawn|dusk)\b/i.test(rules)) {
    throw new Error('depends on the sun, whose place is not configured: write times, as in 08:00');
  }
  if (/\d\s*\+(?!\s*\d)/.test(rules)) {
    throw new Error('has an open end: write when it closes, as in 10:00-18:00');
  }
  if (/\bSH\b/i.test(rules)) {
    // The library's tables of them end after some years, and then it answers nothing at all.
    throw new Error('uses school holidays (SH), known for some years only: write the days out');
  }
  if (/\bunknown\b/i.test(rules)) {
    throw new Error('says that it is unknown when it is open: write times, or leave the key out');
  }
}

function compile(text: string, holidays: string | undefined): Library {
  let guess: string | undefined;
  let library: Library;
  try {
    library = new Library(text, placeOf(holidays), { mode: 0 } as Options);
    // Some mistakes show only at an evaluation, and in one half of a year.
    for (const month of [0, 6]) {
      changesFrom(library, Date.UTC(2026, month, 1));
    }
    guess = guessOf(library, text);
  } catch (error) {
    throw new Error(explain(String(error), holidays));
  }
  if (guess !== undefined) {
    throw new Error(`can be read in more than one way: ${guess}`);
  }
  return library;
}

/** What the library had to guess, in words that say what would be right. */
function guessOf(library: Library, text: string): string | undefined {
  const warning = library
    .getStructuredWarnings()
    .find((candidate) => !HARMLESS_WARNINGS.has(candidate.type));
  if (warning === undefined) {
    return undefined;
  }
  const better = library.prettifyValue({});
  return better === text ? firstSentence(warning.message) : `write it as ${better}`;
}

function firstSentence(message: string): string {
  return message.replace(/[.!?]\s.*$/s, '').replace(/\.$/, '');
}

type Options = NonNullable<ConstructorParameters<typeof Library>[2]>;
type Place = NonNullable<ConstructorParameters<typeof Library>[1]>;

/** As the library takes it from Nominatim: the state by its ISO code, the numbers are not read. */
function placeOf(holidays: string | undefined): Place | undefined {
  if (holidays === undefined) {
    return undefined;
  }
  const address = {
    country_code: holidays.slice(0, 2),
    state: '',
    'ISO3166-2-lvl4': holidays.toUpperCase(),
  };
  return { lat: 0, lon: 0, address };
}

/** The library's errors are texts; those about holidays ask for a pull request. */
function explain(message: string, holidays: string | undefined): string {
  if (message.startsWith('Country code missing')) {
    return 'uses PH, but nothing says whose: set holidays, as in holidays: dk';
  }
  if (message.includes('no holidays (PH) defined') && holidays !== undefined) {
    return `uses PH, but ${holidays} has no holidays of its own: set holidays to one of ${statesOf(holidays)}`;
  }
  const where = /^(.*) <--- \((.*)\)\s*$/s.exec(message);
  const at = where === null ? '' : ` at character ${(where[1] ?? '').length}`;
  const words = firstSentence(where?.[2] ?? '');
  const better =
    words === '' || words.startsWith('Unexpected token')
      ? 'write it as in Mo-Fr 08:00-20:00; Sa 10:00-16:00'
      : words;
  return `is not in OpenStreetMap's syntax${at}: ${better}`;
}
