/**
 * Time series as functions of the minute, and what promtool's unit tests make of them. Knows no rule
 * and no metric. Minute 0 is the start of 1970, a Thursday.
 */
import type { Alert, Recording } from './rules.ts';

/** What a series shows at a minute; undefined where it is absent. */
export type Value = number | ((minute: number) => number | undefined);

/** Series by name and labels, as in `library_up{stream="people"}`; null: there is no such series. */
export type Story = Readonly<Record<string, Value | null>>;

const TARGET = { job: 'library', instance: 'a:10096' };

export const HOUR = 60;
export const DAY = 24 * HOUR;
export const WEEK = 7 * DAY;

/** The time, in seconds, of a minute: what a series that is always fresh shows. */
export function now(minute: number): number {
  return 60 * minute;
}

/** One value before a minute, another from it on. */
export function until(changeAt: number, before: Value, after: Value): (minute: number) => number {
  return (minute) => Number(valueAt(minute < changeAt ? before : after, minute));
}

/** Absent from a minute on. */
export function goneFrom(changeAt: number, before: Value): (minute: number) => number | undefined {
  return (minute) => (minute < changeAt ? valueAt(before, minute) : undefined);
}

/** Absent before a minute. */
export function thereFrom(changeAt: number, after: Value): (minute: number) => number | undefined {
  return (minute) => (minute < changeAt ? undefined : valueAt(after, minute));
}

/** Every series of a story gone from a minute on, as when the exporter is down. */
export function allGoneFrom(changeAt: number, story: Story): Story {
  return Object.fromEntries(
    Object.entries(story).map(([series, value]) => [
      series,
      value === null ? null : goneFrom(changeAt, value),
    ]),
  );
}

/** The series of a story at another instance of the exporter. What is recorded is of no instance. */
export function atInstance(instance: string, story: Story): Story {
  return Object.fromEntries(
    Object.entries(story)
      .filter(([series]) => !isRecorded(series))
      .map(([series, value]) => [labelled(series, { instance }), value]),
  );
}

function isRecorded(series: string): boolean {
  return series.includes(':');
}

/** A series with further labels; those that it has stay as they are. */
function labelled(series: string, labels: Readonly<Record<string, string>>): string {
  const [, name = '', own = ''] = /^([^{]+)(?:\{(.*)\})?$/.exec(series) ?? [];
  const added = Object.entries(labels)
    .filter(([label]) => !new RegExp(`(^|,)${label}=`).test(own))
    .map(([label, value]) => `${label}="${value}"`);
  return `${name}{${[...(own === '' ? [] : [own]), ...added].join(',')}}`;
}

export interface UnitTest {
  readonly name: string;
  readonly interval: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly alert_rule_test?: readonly object[];
  readonly promql_expr_test?: readonly object[];
}

/**
 * The series of a story from minute 0 to `minutes`, one sample every `step` minutes. Those that are
 * scraped have a job and an instance.
 */
export function inputSeries(
  story: Story,
  minutes: number,
  labels: Readonly<Record<string, string>>,
  step = 1,
): UnitTest['input_series'] {
  return Object.entries(story).flatMap(([series, value]) =>
    value === null
      ? []
      : [
          {
            series: labelled(series, { ...labels, ...(isRecorded(series) ? {} : TARGET) }),
            values: valuesOf(value, minutes, step),
          },
        ],
  );
}

/** A rule file with some rules alone, in one group. */
export function ruleFileOf(rules: readonly (Recording | Alert)[]): object {
  return { groups: [{ name: 'tested', rules }] };
}

function valuesOf(value: Value, minutes: number, step: number): string {
  const texts: string[] = [];
  for (let minute = 0; minute <= minutes; minute += step) {
    const shown = valueAt(value, minute);
    const before = minute === 0 ? undefined : valueAt(value, minute - step);
    texts.push(shown === undefined ? (before === undefined ? '_' : 'stale') : String(shown));
  }
  return texts.join(' ');
}

function valueAt(value: Value, minute: number): number | undefined {
  return typeof value === 'number' ? value : value(minute);
}
