/** Tables: one row for each customer, device or hour, made of the answers of several queries. */
import { TableSortByFieldStateBuilder } from '@grafana/grafana-foundation-sdk/common';
import { FieldColorModeId, MappingType } from '@grafana/grafana-foundation-sdk/dashboard';
import type { DynamicConfigValue, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard';
import { PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { byValue } from './finish.ts';
import { AS_IT_IS, NOT_KNOWN, WEEKDAYS, colours, inWords } from './theme.ts';
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

/** Hours in which a library is closed are no numbers to read. */
const NOTHING: ValueMapping = {
  type: MappingType.ValueToText,
  options: { 0: { text: '·', index: 0 } },
};
const HOURS = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));
/** What Grafana calls the column of the rows' names after the query's rows became a matrix. */
const CORNER = 'weekday\\hour';

/**
 * Makes of a table query, or of another panel's answer grouped, a column for each value of one label, in
 * their order after the total, and a row for each value of another, newest first.
 */
export function matrix(
  panel: Table,
  labels: { readonly rows: string; readonly columns: string; readonly rowsTitle: string },
  valueField = 'Value',
): Table {
  const corner = `${labels.rows}\\${labels.columns}`;
  return panel
    .span(24)
    .minWidth(110)
    .withTransformation({
      id: 'sortBy',
      options: { fields: {}, sort: [{ field: labels.columns }] },
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
    .withTransformation({
      id: 'sortBy',
      options: { fields: {}, sort: [{ field: corner, desc: true }] },
    })
    .withTransformation({
      id: 'calculateField',
      options: { mode: 'reduceRow', reduce: { reducer: 'sum' }, alias: 'Total' },
    })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: { [corner]: 0, Total: 1 },
        renameByName: { [corner]: labels.rowsTitle },
      },
    })
    .overrideByName(labels.rowsTitle, AS_IT_IS);
}

/** A row for each weekday, a column for each hour; the query is one with these two labels only. */
export function weekByHour(id: number, title: string, description: string, query: string): Table {
  return table(id, title, description)
    .span(24)
    .height(9)
    .min(0)
    .mappings([NOTHING, NOT_KNOWN])
    .colorScheme(colours(FieldColorModeId.ContinuousBlues))
    .withTarget(now(query).format(PromQueryFormat.Table))
    .withTransformation({
      id: 'groupingToMatrix',
      options: {
        columnField: 'hour',
        rowField: 'weekday',
        valueField: 'Value',
        emptyValue: 'null',
      },
    })
    .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: CORNER }] } })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: placesOf([CORNER, ...HOURS]),
        renameByName: { [CORNER]: 'Weekday' },
      },
    })
    .overrideByRegexp('^\\d\\d$', [
      { id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } },
      { id: 'custom.minWidth', value: 34 },
    ])
    .overrideByName('Weekday', [...inWords(WEEKDAYS), { id: 'custom.width', value: 110 }]);
}

function placesOf(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(names.map((name, index) => [name, index]));
}
