/** Colours, texts for values, and the properties of columns and lines. Contains no query. */
import {
  FieldColorBuilder,
  MappingType,
  SpecialValueMatch,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type {
  DynamicConfigValue,
  FieldColorModeId,
  Threshold,
  ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';

/**
 * Colours of text, with a contrast of 4.5 in both themes. There is no such orange or yellow; `text` is that of
 * the theme.
 */
export const GOOD = 'semi-dark-green';
export const BAD = 'red';

/** Backgrounds, on which Grafana writes white or black, with the same contrast. */
export const ON_GREEN = '#19730E';
export const ON_ORANGE = '#FFB357';
export const ON_RED = '#C4162A';
export const ON_GREY = '#5C6370';

/** Steps of the share of the largest value: backgrounds on which Grafana's text can be read in both themes. */
export const BLUES: Threshold[] = [
  base('#DCEAFF'),
  step(25, '#B8D4FF'),
  step(50, '#93BEFF'),
  step(75, '#1F60C4'),
];

/** Steps for values that are neither good nor bad. */
export const PLAIN: Threshold[] = [base('blue')];
/** Share of the capacity, on bars. */
export const FULLNESS_STEPS: Threshold[] = [base('blue'), step(0.8, 'orange'), step(1, 'red')];
/** Steps for numbers that need no colour. */
export const COLOURLESS: Threshold[] = [base('text')];
/** A number that should be 0. */
export const NONE_IS_GOOD: Threshold[] = [base(GOOD), step(1, BAD)];

/** Texts for values, each with its colour. */
export type Words = Readonly<Record<string, readonly [text: string, color: string]>>;

export const OPEN_OR_CLOSED: Words = { 0: ['closed', 'text'], 1: ['open', GOOD] };
export const FAILED_OR_OK: Words = { 0: ['failed', BAD], 1: ['ok', GOOD] };
export const REFUSED_OR_ACCEPTED: Words = { 0: ['refused', BAD], 1: ['accepted', GOOD] };
/** Monday is 1. */
export const WEEKDAYS: Words = {
  1: ['Mo', 'text'],
  2: ['Tu', 'text'],
  3: ['We', 'text'],
  4: ['Th', 'text'],
  5: ['Fr', 'text'],
  6: ['Sa', 'text'],
  7: ['Su', 'text'],
};

/** Colours by the value itself. */
export function thresholds(steps: Threshold[]): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

/** How series are coloured. */
export function colours(mode: FieldColorModeId): FieldColorBuilder {
  return new FieldColorBuilder().mode(mode);
}

/** An empty answer has several causes, so no text may name one. Without a colour it would have that of a value. */
export const NOT_KNOWN: ValueMapping = {
  type: MappingType.SpecialValue,
  options: {
    match: SpecialValueMatch.Null,
    result: { text: 'not known', color: 'text', index: 99 },
  },
};

/** Texts in place of a panel's values. */
export function mappings(words: Words): ValueMapping[] {
  const options = Object.entries(words).map(
    ([value, [text, color]], index) => [value, { text, color, index }] as const,
  );
  return [{ type: MappingType.ValueToText, options: Object.fromEntries(options) }, NOT_KNOWN];
}

/**
 * A column of names: Grafana would take digits for numbers. Where there is none the cell is blank; without a
 * space it would say what an empty panel says.
 */
export const AS_IT_IS: DynamicConfigValue[] = [
  { id: 'unit', value: 'string' },
  { id: 'mappings', value: [forAbsent(' '), forText('', ' ')] },
];

/** A column in a unit. */
export function inUnit(unit: string): DynamicConfigValue[] {
  return [{ id: 'unit', value: unit }];
}

/** A column whose text has the colours of the steps. */
export function coloured(steps: Threshold[]): DynamicConfigValue[] {
  return [
    { id: 'thresholds', value: { mode: ThresholdsMode.Absolute, steps } },
    { id: 'custom.cellOptions', value: { type: 'color-text' } },
  ];
}

/** A column with a coloured background. */
export function background(color: string): DynamicConfigValue[] {
  return [
    { id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } },
    ...inColour(color),
  ];
}

/** A column of times as "2 hours ago", of milliseconds of the Unix time. */
export const AGO: DynamicConfigValue[] = [
  { id: 'unit', value: 'dateTimeFromNow' },
  ...dashFor(-1),
  { id: 'custom.width', value: 145 },
];

/** A column of numbers with a dash where there is none; -1 stands for none. */
export function dashFor(none: number, color = 'text'): DynamicConfigValue[] {
  return [{ id: 'mappings', value: [forText(none, '–', color), forAbsent('–', color)] }];
}

function forText(value: number | string, text: string, color = 'text'): ValueMapping {
  return {
    type: MappingType.ValueToText,
    options: { [value]: { text, color, index: 0 } },
  };
}

function forAbsent(text: string, color = 'text'): ValueMapping {
  const result = { text, color, index: 1 };
  return { type: MappingType.SpecialValue, options: { match: SpecialValueMatch.Null, result } };
}

/** A column of shares as bars, with the number beside each. */
export function shareBars(steps: Threshold[]): DynamicConfigValue[] {
  return [
    { id: 'unit', value: 'percentunit' },
    { id: 'min', value: 0 },
    { id: 'max', value: 1 },
    { id: 'thresholds', value: { mode: ThresholdsMode.Absolute, steps } },
    {
      id: 'custom.cellOptions',
      value: { type: 'gauge', mode: 'basic', valueDisplayMode: 'text' },
    },
  ];
}

/** A column with texts in place of values. */
export function inWords(words: Words): DynamicConfigValue[] {
  return [
    { id: 'mappings', value: mappings(words) },
    { id: 'custom.cellOptions', value: { type: 'color-text' } },
  ];
}

/** A column of names that link to the dashboard of the library. */
export function toCustomer(): DynamicConfigValue[] {
  const url =
    '/d/library-customer?${datasource:queryparam}&${job:queryparam}' +
    '&var-customer=${__value.raw:percentencode}&${__url_time_range}';
  return [{ id: 'links', value: [{ title: 'Open this library', url }] }];
}

/** A line or column of one colour. */
export function inColour(color: string): DynamicConfigValue[] {
  return [{ id: 'color', value: { mode: 'fixed', fixedColor: color } }];
}

/** One edge of an interval, filled down to the series `above`. */
export function band(above?: string): DynamicConfigValue[] {
  return [
    { id: 'custom.lineWidth', value: 0 },
    { id: 'custom.fillOpacity', value: above === undefined ? 0 : 15 },
    ...(above === undefined ? [] : [{ id: 'custom.fillBelowTo', value: above }]),
    { id: 'custom.hideFrom', value: { legend: true, tooltip: false, viz: false } },
    ...inColour('blue'),
  ];
}

/** A dashed line for comparison. */
export function dashed(color = 'text'): DynamicConfigValue[] {
  return [
    { id: 'custom.lineStyle', value: { fill: 'dash', dash: [6, 6] } },
    { id: 'custom.fillOpacity', value: 0 },
    ...inColour(color),
  ];
}

/** A line in steps among bars: each step is as long as the bar that ends with it. */
export function asLine(): DynamicConfigValue[] {
  return [
    { id: 'custom.drawStyle', value: 'line' },
    { id: 'custom.lineInterpolation', value: 'stepBefore' },
    { id: 'custom.lineWidth', value: 2 },
    { id: 'custom.stacking', value: { mode: 'none' } },
    ...dashed(),
  ];
}

/** The lowest step, without a lower end. */
export function base(color: string): Threshold {
  return { value: null, color };
}

/** Returns a colour from the value on. */
export function step(value: number, color: string): Threshold {
  return { value, color };
}
