/** Colours, words for numbers, and the properties of single columns or lines. Knows no metric. */
import {
  FieldColorBuilder,
  MappingType,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type {
  DynamicConfigValue,
  FieldColorModeId,
  Threshold,
  ValueMap,
} from '@grafana/grafana-foundation-sdk/dashboard';

/** For figures that are neither good nor bad. */
export const PLAIN: Threshold[] = [base('blue')];
/** Of a capacity. */
export const FULLNESS_STEPS: Threshold[] = [base('green'), step(0.8, 'orange'), step(1, 'red')];
/** Five polls missed, and as old as the alert LibraryDataStale allows. */
export const AGE_STEPS: Threshold[] = [base('green'), step(300, 'orange'), step(900, 'red')];
/** Of last week: half is worth a look, and so is double. */
export const LAST_WEEK_STEPS: Threshold[] = [base('orange'), step(0.5, 'green'), step(2, 'orange')];
/** How many of something that ought not to be. */
export const NONE_IS_GOOD: Threshold[] = [base('green'), step(1, 'red')];

/** Numbers in words, each with its colour. */
export type Words = Readonly<Record<string, readonly [text: string, color: string]>>;

export const OPEN_OR_CLOSED: Words = { 0: ['closed', 'text'], 1: ['open', 'green'] };
export const FAILED_OR_GOOD: Words = { 0: ['failed', 'red'], 1: ['good', 'green'] };
export const REFUSED_OR_TAKEN: Words = { 0: ['refused', 'red'], 1: ['taken', 'green'] };
/** Sunday is 0 to PromQL, and 7 where the week is to begin on Monday. */
export const WEEKDAYS: Words = {
  0: ['Sunday', 'text'],
  1: ['Monday', 'text'],
  2: ['Tuesday', 'text'],
  3: ['Wednesday', 'text'],
  4: ['Thursday', 'text'],
  5: ['Friday', 'text'],
  6: ['Saturday', 'text'],
  7: ['Sunday', 'text'],
};

/** Colours by the value itself. */
export function thresholds(steps: Threshold[]): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

/** Of lines, bars and numbers; Grafana's own choice is another for each kind of panel. */
export function colours(mode: FieldColorModeId): FieldColorBuilder {
  return new FieldColorBuilder().mode(mode);
}

/** A panel's values in words. */
export function mappings(words: Words): ValueMap[] {
  const options = Object.entries(words).map(
    ([value, [text, color]], index) => [value, { text, color, index }] as const,
  );
  return [{ type: MappingType.ValueToText, options: Object.fromEntries(options) }];
}

/** The properties of a column that is there for its labels only. */
export function hidden(): DynamicConfigValue[] {
  return [{ id: 'custom.hidden', value: true }];
}

/** The properties of a column of names: Grafana takes those that are digits for numbers. */
export const AS_IT_IS: DynamicConfigValue[] = [{ id: 'unit', value: 'string' }];

/** The properties of a column in a unit. */
export function inUnit(unit: string): DynamicConfigValue[] {
  return [{ id: 'unit', value: unit }];
}

/** The properties of a column that shows its value in the steps' colours. */
export function coloured(steps: Threshold[]): DynamicConfigValue[] {
  return [
    { id: 'thresholds', value: { mode: ThresholdsMode.Absolute, steps } },
    { id: 'custom.cellOptions', value: { type: 'color-text' } },
  ];
}

/** The properties of a column whose values are shown in words. */
export function inWords(words: Words): DynamicConfigValue[] {
  return [
    { id: 'mappings', value: mappings(words) },
    { id: 'custom.cellOptions', value: { type: 'color-text' } },
  ];
}

/** The properties of a column whose cells lead to the dashboard of the customer that they name. */
export function toCustomer(): DynamicConfigValue[] {
  const url =
    '/d/library-customer?${datasource:queryparam}&${job:queryparam}' +
    '&var-customer=${__value.raw:percentencode}&${__url_time_range}';
  return [{ id: 'links', value: [{ title: 'All about this library', url }] }];
}

/** The properties of a line of one colour. */
export function inColour(color: string): DynamicConfigValue[] {
  return [{ id: 'color', value: { mode: 'fixed', fixedColor: color } }];
}

/** The properties of a line for comparison: dashed, and grey if not said otherwise. */
export function dashed(color = 'text'): DynamicConfigValue[] {
  return [
    { id: 'custom.lineStyle', value: { fill: 'dash', dash: [6, 6] } },
    { id: 'custom.fillOpacity', value: 0 },
    ...inColour(color),
  ];
}

/** The lowest step has no lower end, which Grafana writes as null. */
export function base(color: string): Threshold {
  return { value: null, color };
}

/** From the value on. */
export function step(value: number, color: string): Threshold {
  return { value, color };
}
