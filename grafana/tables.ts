/** Tables: one row for each customer, device or hour, made of the answers of several queries. */
import { TableSortByFieldStateBuilder } from '@grafana/grafana-foundation-sdk/common';
import { ThresholdsConfigBuilder, ThresholdsMode } from '@grafana/grafana-foundation-sdk/dashboard';
import type { DynamicConfigValue } from '@grafana/grafana-foundation-sdk/dashboard';
import { PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { byValue } from './finish.ts';
import { AS_IT_IS, BLUES, WEEKDAYS, dashFor } from './theme.ts';
import { now, plain } from './panels.ts';

/**
 * A column: its heading, its query, and how it looks if not as a whole number. Without a heading it is not
 * shown: the query is needed for its labels only.
 */
export type Column = readonly [heading: string, query: string, looks?: DynamicConfigValue[]];

/** A table of whole numbers without a query. */
export function table(id: number, title: string, description: string): Table {
  return plain(new Table(), id, title, description).height(9).minWidth(75);
}

/**
 * One row for each combination of labels, which are the first columns under the headings given; of every query
 * the value; at the end labels that not every query has. There must be two columns at least: Grafana calls the
 * value of a single query otherwise. A label without a heading is not shown: rows are in its order.
 */
export function withColumns(
  empty: Table,
  labels: Readonly<Record<string, string>>,
  columns: readonly Column[],
  moreLabels: Readonly<Record<string, string>> = {},
): Table {
  const named = { ...labels, ...moreLabels };
  const names = Object.keys(named);
  const headings = byValue(columns.map(([name]) => name));
  const hidden = Object.entries({ ...named, ...headings })
    .filter(([, heading]) => heading === '')
    .map(([field]) => field);
  const order = hidden.filter((field) => names.includes(field)).map((field) => ({ field }));
  empty
    .targets(columns.map(([, query]) => now(query).format(PromQueryFormat.Table)))
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { pattern: `^(${names.join('|')}|Value.*)$` } },
    })
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({ id: 'sortBy', options: { fields: {}, sort: order } })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: Object.fromEntries(hidden.map((field) => [field, true])),
        indexByName: placesOf([
          ...Object.keys(labels),
          ...Object.keys(headings),
          ...Object.keys(moreLabels),
        ]),
        renameByName: { ...named, ...headings },
      },
    });
  for (const heading of Object.values(named).filter((name) => name !== '')) {
    empty.overrideByName(heading, [...AS_IT_IS, { id: 'custom.minWidth', value: 130 }]);
  }
  for (const [name, , looks] of columns) {
    if (looks !== undefined) {
      empty.overrideByName(name, looks);
    }
  }
  return empty;
}

/** The rows with the largest values of a column first. */
export function sorted(panel: Table, heading: string): Table {
  return panel.sortBy([new TableSortByFieldStateBuilder().displayName(heading).desc(true)]);
}

/** What Grafana calls the column of the rows' names after the query's rows became a matrix. */
const CORNER = 'hour\\weekday';
const WEEKDAY_NAMES = Object.fromEntries(
  Object.entries(WEEKDAYS).map(([day, [name]]) => [day, name]),
);

/**
 * Makes of a table query, or of another panel's answer grouped, a column for each value of one label, the
 * last one first, and a row for each value of another. Below is the sum of all rows.
 */
export function matrix(
  panel: Table,
  labels: { readonly rows: string; readonly columns: string; readonly rowsTitle: string },
  valueField = 'Value',
): Table {
  const corner = `${labels.rows}\\${labels.columns}`;
  return panel
    .minWidth(120)
    .withTransformation({
      id: 'sortBy',
      options: { fields: {}, sort: [{ field: labels.columns, desc: true }] },
    })
    .withTransformation({
      id: 'groupingToMatrix',
      options: {
        columnField: labels.columns,
        rowField: labels.rows,
        valueField,
        emptyValue: 'null',
      },
    })
    .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: corner }] } })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: { [corner]: 0 },
        renameByName: { [corner]: labels.rowsTitle },
      },
    })
    .overrideByRegexp('/^\\d{4}/', [
      ...dashFor(-1),
      { id: 'custom.footer.reducers', value: ['sum'] },
    ])
    .overrideByName(labels.rowsTitle, [...AS_IT_IS, { id: 'custom.minWidth', value: 180 }]);
}

/**
 * A row for each hour and a column for each weekday, which fits a phone. The query is one with the labels
 * weekday and hour only.
 */
export function hourByWeekday(
  id: number,
  title: string,
  description: string,
  query: string,
): Table {
  return table(id, title, description)
    .span(12)
    .height(20)
    .minWidth(50)
    .min(0)
    .thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Percentage).steps(BLUES))
    .withTarget(now(query).format(PromQueryFormat.Table))
    .withTransformation({
      id: 'groupingToMatrix',
      options: {
        columnField: 'weekday',
        rowField: 'hour',
        valueField: 'Value',
        emptyValue: 'null',
      },
    })
    .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: CORNER }] } })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: placesOf([CORNER, ...Object.keys(WEEKDAY_NAMES)]),
        renameByName: { [CORNER]: 'Hour', ...WEEKDAY_NAMES },
      },
    })
    .overrideByRegexp(Object.values(WEEKDAY_NAMES).join('|'), [
      ...dashFor(-1, 'transparent'),
      { id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } },
    ])
    .overrideByName('Hour', [...AS_IT_IS, { id: 'custom.width', value: 50 }]);
}

function placesOf(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(names.map((name, index) => [name, index]));
}
