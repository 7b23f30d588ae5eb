/** The kinds of panels, as JSON that Grafana reads. Contains no query. */
import { BLUES, COLOURLESS, FILLED, NOT_KNOWN, PLAIN, columnOf, forNone } from './theme.ts';
import type { Looks } from './theme.ts';

/** The data source that the variable `datasource` chooses. */
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

/** PromQL with its name in a legend or heading, and how its values look if not like those of the panel. */
export type Query = readonly [name: string, expr: string, looks?: Looks];

interface Settings {
  readonly title: string;
  readonly description: string;
  readonly queries: readonly Query[];
  /** Text where there is nothing to show. */
  readonly noValue?: string;
  /** Properties of all values, and options, by Grafana's names. */
  readonly defaults?: object;
  readonly options?: object;
  /** How further columns or lines look, by their names. */
  readonly looks?: Readonly<Record<string, Looks>>;
}

/** A panel without its number and place. */
export type Panel = ReturnType<typeof panel>;

/** Whole numbers with thousands separators, in the colour of their threshold. */
function panel(
  type: 'stat' | 'timeseries' | 'table',
  settings: Settings,
  usual: Pick<Settings, 'defaults' | 'options'>,
) {
  const { title, description, queries, looks = {} } = settings;
  const own = queries.flatMap(([name, , how]) => (how === undefined ? [] : [[name, how] as const]));
  return {
    type,
    title,
    description,
    datasource: DATASOURCE,
    targets: queries.map(([name, expr], index) => ({
      refId: letter(index),
      datasource: DATASOURCE,
      expr,
      legendFormat: name,
      // Lines are over the time range, all else is of its end.
      instant: type !== 'timeseries',
      range: type === 'timeseries',
      format: type === 'table' ? 'table' : 'time_series',
    })),
    fieldConfig: {
      defaults: {
        unit: 'locale',
        decimals: 0,
        noValue: settings.noValue ?? 'not known',
        mappings: [type === 'table' ? forNone('–') : NOT_KNOWN],
        thresholds: type === 'table' ? COLOURLESS : PLAIN,
        color: { mode: 'thresholds' },
        ...usual.defaults,
        ...settings.defaults,
      },
      overrides: [...own, ...Object.entries(looks)].map(([name, properties]) => ({
        matcher: { id: 'byName', options: name },
        properties: Object.entries(properties).map(([id, value]) => ({ id, value })),
      })),
    },
    options: { ...usual.options, ...settings.options },
  };
}

function letter(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}

/** One big number for each query, with its name where there are several. */
export function stat(settings: Settings) {
  const options = {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    textMode: settings.queries.length > 1 ? 'value_and_name' : 'value',
    colorMode: 'value',
    graphMode: 'none',
    justifyMode: 'center',
    text: { titleSize: 16 },
  };
  return panel('stat', settings, { options });
}

interface LineSettings extends Settings {
  /** The shortest step. */
  readonly interval?: string;
  /** How lines are drawn, by Grafana's names. */
  readonly custom?: object;
}

/** A line for each series over time, from 0. Gaps stay gaps. */
export function lines({ interval, custom, ...settings }: LineSettings) {
  const drawn = { lineWidth: 1, fillOpacity: 10, showPoints: 'never', spanNulls: false, ...custom };
  const defaults = { min: 0, color: { mode: 'palette-classic' }, custom: drawn };
  const options = {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
    tooltip: { mode: 'multi', sort: 'desc' },
  };
  const plain = panel('timeseries', settings, { defaults, options });
  return interval === undefined ? plain : { ...plain, interval };
}

/**
 * Stacked bars over time, each ending at its time. Over `$__interval`, one bar's window ends where the next
 * one's begins, so that bars add up. Without an outline, which would be a line where all are 0.
 */
export function columns(settings: LineSettings) {
  const stacking = { mode: 'normal', group: 'A' };
  const custom = { drawStyle: 'bars', barAlignment: -1, lineWidth: 0, fillOpacity: 80, stacking };
  return lines({ interval: '1h', custom, ...settings });
}

interface TableSettings extends Settings {
  /** The labels of a row with their headings, the first columns. One without a heading only tells rows apart. */
  readonly labels: Readonly<Record<string, string>>;
  /** Labels whose columns come last. */
  readonly moreLabels?: Readonly<Record<string, string>>;
  /** Headings by which rows are sorted, as in `Month desc`. */
  readonly sortBy: readonly string[];
}

/** A row for each combination of labels, and a column for each query with a heading. */
export function table({ labels, moreLabels = {}, sortBy, ...settings }: TableSettings) {
  const headings: readonly (readonly [field: string, heading: string])[] = [
    ...Object.entries(labels),
    // Grafana calls it Value if only the first query has an answer.
    ['Value', settings.queries[0]?.[0] ?? ''],
    ...settings.queries.map(([heading], index) => [`Value #${letter(index)}`, heading] as const),
    ...Object.entries(moreLabels),
  ];
  const looks = Object.entries({ ...labels, ...moreLabels })
    .filter(([, heading]) => heading !== '')
    .map(([label, heading]) => [heading, columnOf(label)] as const);
  const sorted = sortBy.map((heading) => ({
    displayName: heading.replace(/ desc$/, ''),
    desc: heading.endsWith(' desc'),
  }));
  const options = {
    excludeByName: Object.fromEntries(
      headings.filter(([, heading]) => heading === '').map(([field]) => [field, true]),
    ),
    indexByName: Object.fromEntries(headings.map(([field], index) => [field, index])),
    renameByName: Object.fromEntries(headings),
  };
  const fields = headings.map(([field]) => field).join('|');
  return {
    ...tablePanel({ ...settings, looks: Object.fromEntries(looks), options: { sortBy: sorted } }),
    transformations: [
      { id: 'filterFieldsByName', options: { include: { pattern: `^(${fields})$` } } },
      { id: 'merge', options: {} },
      { id: 'organize', options },
    ],
  };
}

/** A row for each library and a column for each month, the last one first, of one query with these labels. */
export function monthsOfLibraries(settings: Settings) {
  return {
    ...tablePanel(settings, 110),
    transformations: [
      sortedBy('customer', 'up'),
      sortedBy('month', 'down'),
      renamed({ customer: 'Library', month: 'Month' }),
      intoMatrix('Library', 'Month', 'Value'),
    ],
  };
}

/** By the numbers of the query `weekday`. */
const WEEKDAYS = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'];

/**
 * Means of four weeks: a row for each hour and a column for each weekday, which fits a phone. The queries are the
 * value, the weekday's number from Monday (0) on, and the hour.
 */
export function hoursByWeekday(settings: Settings) {
  const days = WEEKDAYS.map(
    (displayName, day) => [String(day), { displayName, ...FILLED }] as const,
  );
  const looks = { defaults: { min: 0, thresholds: BLUES }, looks: Object.fromEntries(days) };
  const { targets, ...grid } = tablePanel({ ...settings, ...looks }, 50);
  const mean = { operation: 'aggregate', aggregations: ['mean'] };
  const by = { operation: 'groupby', aggregations: [] };
  return {
    ...grid,
    targets: targets.map((target) => ({ ...target, instant: false, range: true })),
    timeFrom: '28d',
    interval: '1h',
    maxDataPoints: 1_000,
    transformations: [
      { id: 'merge', options: {} },
      { id: 'groupBy', options: { fields: { 'Value #A': mean, 'Value #B': by, 'Value #C': by } } },
      sortedBy('Value #B', 'up'),
      sortedBy('Value #C', 'up'),
      renamed({ 'Value #B': 'Weekday', 'Value #C': 'Hour' }),
      intoMatrix('Hour', 'Weekday', 'Value #A (mean)'),
    ],
  };
}

function tablePanel(settings: Settings, minWidth = 75) {
  const options = { showHeader: true, cellHeight: 'sm' };
  return panel('table', settings, { defaults: { custom: { minWidth } }, options });
}

function sortedBy(field: string, order: 'up' | 'down') {
  return { id: 'sortBy', options: { fields: {}, sort: [{ field, desc: order === 'down' }] } };
}

function renamed(renameByName: Readonly<Record<string, string>>) {
  return { id: 'organize', options: { excludeByName: {}, indexByName: {}, renameByName } };
}

function intoMatrix(rowField: string, columnField: string, valueField: string) {
  const options = { rowField, columnField, valueField, emptyValue: 'null' };
  return { id: 'groupingToMatrix', options };
}
