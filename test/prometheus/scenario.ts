/**
 * Time series as functions of the minute, written as input for promtool's unit tests. Minute 0 is the
 * start of 1970, a Thursday.
 */

/** The value of a series at a minute; undefined where it is absent. */
export type Value = number | ((minute: number) => number | undefined);

/** Series by name and labels, as in `library_up{stream="people"}`; null removes a series. */
export type Scenario = Readonly<Record<string, Value | null>>;

const TARGET = { job: 'library', instance: 'a:10096' };

export const HOUR = 60;
export const DAY = 24 * HOUR;

/** The time of a minute in seconds. */
export function now(minute: number): number {
  return 60 * minute;
}

/** One value before a minute, another from it on. */
export function until(
  changeAt: number,
  before: Value | undefined,
  after: Value | undefined,
): (minute: number) => number | undefined {
  return (minute) => valueAt(minute < changeAt ? before : after, minute);
}

/** A value that stays as it was at a minute. */
export function stopsAt(lastMinute: number, value: Value): (minute: number) => number | undefined {
  return (minute) => valueAt(value, Math.min(minute, lastMinute));
}

/** The same series with a further label, or several. */
export function withLabel(scenario: Scenario, label: string): Scenario {
  return Object.fromEntries(
    Object.entries(scenario).map(([series, value]) => [
      series.includes('{') ? series.replace('}', `,${label}}`) : `${series}{${label}}`,
      value,
    ]),
  );
}

/** From minute 0 to `minutes`, one sample every `step` minutes. Series that are scraped get a job and an instance. */
export function inputSeries(
  scenario: Scenario,
  minutes: number,
  labels: Readonly<Record<string, string>>,
  step: number,
) {
  return Object.entries(scenario).flatMap(([series, value]) =>
    value === null
      ? []
      : {
          series: labelled(series, /^[^{]*:/.test(series) ? labels : { ...labels, ...TARGET }),
          values: valuesOf(value, minutes, step),
        },
  );
}

/** A series with further labels. Labels that it has stay; `customer` is only for series of customers. */
function labelled(series: string, labels: Readonly<Record<string, string>>): string {
  const [, name = '', own = ''] = /^([^{]+)(?:\{(.*)\})?$/.exec(series) ?? [];
  const ofExporter = /^(up$|library_exporter_)/.test(name);
  const added = Object.entries(labels)
    .filter(([label]) => !new RegExp(`(^|,)${label}=`).test(own))
    .filter(([label]) => label !== 'customer' || !ofExporter)
    .map(([label, value]) => `${label}="${value}"`);
  return `${name}{${[...(own === '' ? [] : [own]), ...added].join(',')}}`;
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

function valueAt(value: Value | undefined, minute: number): number | undefined {
  return typeof value === 'function' ? value(minute) : value;
}
