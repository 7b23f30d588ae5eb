/** Colours, words for values, and how a column or a line looks. Contains no query. */
import { PROBLEMS } from '../src/counting/problems.ts';

/** Properties of a field by their names in Grafana's overrides. */
export type Looks = Readonly<Record<string, unknown>>;

/** Colours of text: a contrast of 4.5 in both themes. There is no such orange. `text` is that of the theme. */
export const GOOD = 'semi-dark-green';
export const BAD = 'red';
/** Backgrounds, on which Grafana writes white or black, with the same contrast. */
export const ON_GREEN = '#19730E';
export const ON_ORANGE = '#FFB357';
export const ON_RED = '#C4162A';
export const ON_GREY = '#5C6370';

/**
 * The page with a section for each alert and problem. mixin.libsonnet has it from rules.json, and can replace it
 * in alerts.
 */
export const RUNBOOKS_URL = 'https://library-stats-exporter.example.org/docs/alerts.md';

/** Colours of values: the lowest one, and those from a value on. */
export function steps(
  lowest: string,
  ...others: readonly (readonly [from: number, color: string])[]
) {
  const higher = others.map(([value, color]) => ({ value, color }));
  return { mode: 'absolute', steps: [{ value: null, color: lowest }, ...higher] };
}

export const PLAIN = steps('blue');
export const COLOURLESS = steps('text');
export const NONE_IS_GOOD = steps(GOOD, [1, BAD]);
/** Shares of the largest value, from light to dark. */
export const BLUES = {
  ...steps('#DCEAFF', [25, '#B8D4FF'], [50, '#93BEFF'], [75, '#1F60C4']),
  mode: 'percentage',
};

/** Words for values, each with its colour. */
type Words = Readonly<Record<string | number, readonly [text: string, color: string]>>;

/** Words in place of values. */
export function words(list: Words) {
  const options = Object.entries(list).map(
    ([value, [text, color]], index) => [value, { text, color, index }] as const,
  );
  return { type: 'value', options: Object.fromEntries(options) };
}

/** Text in place of no value. Without a colour it would have that of a value. */
export function forNone(text: string, color = 'text') {
  const result = { text, color, index: 99 };
  return { type: 'special', options: { match: 'null', result } };
}

/** No answer has several causes, so no text names one. */
export const NOT_KNOWN = forNone('not known');
export const FAILED_OR_OK = [words({ 0: ['failed', BAD], 1: ['ok', GOOD] }), NOT_KNOWN];

/** Words for values from one on and below another. */
export function level(from: number, below: number, text: string, color: string) {
  const to = below === Infinity ? null : below - 1e-9;
  return { type: 'range', options: { from, to, result: { text, color } } };
}

/** One colour. */
function inColour(color: string): Looks {
  return { color: { mode: 'fixed', fixedColor: color } };
}
export const BLUE = inColour('blue');
/** A number for comparison. */
export const TEXT = inColour('text');

/** A column of names or months: Grafana would take digits for numbers. Where there is none the cell is blank. */
const NAMES: Looks = {
  unit: 'string',
  mappings: [forNone(' '), words({ '': [' ', 'text'] })],
  'custom.minWidth': 130,
};

/** A column of milliseconds of the Unix time, as in "2 hours ago". */
export const AGO: Looks = { unit: 'dateTimeFromNow', 'custom.width': 145 };

/** A column whose text is in colours. */
export const COLOURED: Looks = { 'custom.cellOptions': { type: 'color-text' } };

/** A column of words in place of values. */
export function inWords(list: Words): Looks {
  return { mappings: [words(list), forNone('–')], ...COLOURED };
}

/** A cell that is filled with the colour of its value. */
export const FILLED: Looks = { 'custom.cellOptions': { type: 'color-background', mode: 'basic' } };

/** A column of problems in words, red where they make counts wrong. Each links to its runbook. */
const PROBLEM: Looks = {
  ...FILLED,
  mappings: [words(Object.fromEntries(Object.entries(PROBLEMS).map(wordsOf))), forNone('–')],
  'custom.minWidth': 160,
  links: [{ title: 'What to do', url: `${RUNBOOKS_URL}#\${__value.raw}`, targetBlank: true }],
};

function wordsOf([kind, problem]: [string, (typeof PROBLEMS)[keyof typeof PROBLEMS]]) {
  return [kind, [problem.words, problem.trusted ? ON_ORANGE : ON_RED]] as const;
}

/** A column of shares of the capacity as bars, with the number beside each. */
export const FULLNESS: Looks = {
  unit: 'percentunit',
  min: 0,
  max: 1,
  thresholds: steps('blue', [0.8, 'orange'], [1, 'red']),
  'custom.cellOptions': { type: 'gauge', mode: 'basic', valueDisplayMode: 'text' },
};

const TO_LIBRARY =
  '/d/library-customer?${datasource:queryparam}&${job:queryparam}' +
  '&var-customer=${__value.raw:percentencode}&${__url_time_range}';
/** A column of libraries, which link to their dashboard. */
const LIBRARY: Looks = { ...NAMES, links: [{ title: 'Open this library', url: TO_LIBRARY }] };

/** A dashed line for comparison. */
export const DASHED: Looks = {
  'custom.lineStyle': { fill: 'dash', dash: [6, 6] },
  'custom.fillOpacity': 0,
  ...TEXT,
};

/** A dashed line in steps among bars: each step is as long as the bar that ends with it. */
export const DASHED_AMONG_BARS: Looks = {
  ...DASHED,
  'custom.drawStyle': 'line',
  'custom.lineInterpolation': 'stepBefore',
  'custom.lineWidth': 2,
  'custom.stacking': { mode: 'none' },
};

/** The lower edge of an interval. */
export const LOWER: Looks = {
  'custom.lineWidth': 0,
  'custom.fillOpacity': 0,
  'custom.hideFrom': { legend: true, tooltip: false, viz: false },
  ...BLUE,
};

/** The upper edge, filled down to the line `lower`. */
export const UPPER: Looks = { ...LOWER, 'custom.fillOpacity': 15, 'custom.fillBelowTo': 'lower' };

/** How the column of a label looks. */
export function columnOf(label: string): Looks {
  return label === 'customer' ? LIBRARY : label === 'problem' ? PROBLEM : NAMES;
}
