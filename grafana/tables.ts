/** Tables: one row for each customer, device or hour, made of the answers of several queries. */
import { TableSortByFieldStateBuilder } from '@grafana/grafana-foundation-sdk/common';
import { FieldColorModeId } from '@grafana/grafana-foundation-sdk/dashboard';
import type { DynamicConfigValue } from '@grafana/grafana-foundation-sdk/dashboard';
import { PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { byValue } from './finish.ts';
import { AS_IT_IS, WEEKDAYS, colours, inWords } from './theme.ts';
import { now, plain } from './panels.ts';

/** A column: its heading, its query, and how it looks if not as a whole number. */
export type Column = readonly [heading: string, query: string, looks?: DynamicConfigValue[]];

/** A table of whole numbers without a query. */
export function table(id: number, title: string, description: string): Table {
  return plain(new Table(), id, title, description).height(9);
}

/**
 * One row for each value of a label, which is the first column under the heading given, and after it
 * other labels of the queries; of every query the value. There must be two columns at least: Grafana calls the value of a single query
 * otherwise.
 */
export function withColumns(
  empty: Table,
  [label, heading]: readonly [label: string, heading: string],
  columns: readonly Column[],
  moreLabels: Readonly<Record<string, string>> = {},
): Table {
  const labels = { [label]: heading, ...moreLabels };
  const names = Object.keys(labels);
  const places = columns.map((_, index) => names.length + index);
  empty
    .targets(columns.map(([, query]) => now(query).format(PromQueryFormat.Table)))
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { pattern: `^(${names.join('|')}|Value.*)$` } },
    })
    .withTransformation({ id: 'joinByField', options: { byField: label, mode: 'outer' } })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: { ...placesOf(names), ...byValue(places) },
        renameByName: { ...labels, ...byValue(columns.map(([name]) => name)) },
      },
    });
  Object.values(labels).forEach((name) => empty.overrideByName(name, AS_IT_IS));
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

/** A row for each series: the labels as columns, in their order, and no value. */
export function withLabels(empty: Table, query: string, labels: Record<string, string>): Table {
  Object.values(labels).forEach((name) => empty.overrideByName(name, AS_IT_IS));
  return empty
    .withTarget(now(query).format(PromQueryFormat.Table))
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { names: Object.keys(labels) } },
    })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: placesOf(Object.keys(labels)),
        renameByName: labels,
      },
    });
}

const HOURS = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));
/** What Grafana calls the column of the rows' names after the query's rows became a matrix. */
const CORNER = 'weekday\\hour';

/** A table with a column for each value of one label and a row for each value of another, newest first. */
export function matrix(
  id: number,
  title: string,
  description: string,
  labels: { readonly rows: string; readonly columns: string; readonly rowsTitle: string },
  query: string,
): Table {
  const corner = `${labels.rows}\\${labels.columns}`;
  return table(id, title, description)
    .span(12)
    .height(9)
    .withTarget(now(query).format(PromQueryFormat.Table))
    .withTransformation({
      id: 'groupingToMatrix',
      options: {
        columnField: labels.columns,
        rowField: labels.rows,
        valueField: 'Value',
        emptyValue: 'null',
      },
    })
    .withTransformation({
      id: 'sortBy',
      options: { fields: {}, sort: [{ field: corner, desc: true }] },
    })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: { [corner]: 0 },
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
      { id: 'custom.width', value: 50 },
    ])
    .overrideByName('Weekday', [...inWords(WEEKDAYS), { id: 'custom.width', value: 110 }]);
}

function placesOf(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(names.map((name, index) => [name, index]));
}
