/**
 * The types of panels that the dashboards consist of, each with a number, a title and a description.
 * Contains no query.
 */
import { PanelBuilder as BarChart } from '@grafana/grafana-foundation-sdk/barchart';
import {
  BarAlignment,
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphDrawStyle,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTextDisplayOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import { FieldColorModeId } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder as DashboardQueryBuilder } from '@grafana/grafana-foundation-sdk/datasource';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimeline } from '@grafana/grafana-foundation-sdk/statetimeline';
import type { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { DASHBOARD_DATASOURCE, DATASOURCE, byValue } from './finish.ts';
import { AS_IT_IS, NOT_KNOWN, PLAIN, colours, thresholds } from './theme.ts';

/** Common to all panels with values. */
interface ValuePanel {
  id(id: number): this;
  title(title: string): this;
  description(description: string): this;
  datasource(datasource: typeof DATASOURCE): this;
  unit(unit: string): this;
  decimals(decimals: number): this;
  thresholds(steps: ReturnType<typeof thresholds>): this;
  colorScheme(scheme: ReturnType<typeof colours>): this;
  noValue(words: string): this;
  mappings(mappings: (typeof NOT_KNOWN)[]): this;
}

/** Whole numbers with thousands separators, in the colour of their threshold. */
export function plain<Panel extends ValuePanel>(
  panel: Panel,
  id: number,
  title: string,
  description: string,
): Panel {
  return panel
    .id(id)
    .title(title)
    .description(description)
    .datasource(DATASOURCE)
    .unit(units.LocaleFormat)
    .decimals(0)
    .thresholds(thresholds(PLAIN))
    .colorScheme(colours(FieldColorModeId.Thresholds))
    .mappings([NOT_KNOWN])
    .noValue('not known');
}

/** One big number for each series, by its name. */
export function stat(id: number, title: string, description: string): Stat {
  return plain(new Stat(), id, title, description)
    .height(5)
    .reduceOptions(lastValue())
    .textMode(BigValueTextMode.Auto)
    .colorMode(BigValueColorMode.Value)
    .graphMode(BigValueGraphMode.None);
}

/** Half a row: one line for each series over time, in whole numbers from 0. Gaps stay gaps. */
export function lines(id: number, title: string, description: string): TimeSeries {
  return linesAroundZero(id, title, description).min(0);
}

/** Returns a panel of lines for what may be negative. */
export function linesAroundZero(id: number, title: string, description: string): TimeSeries {
  return plain(new TimeSeries(), id, title, description)
    .span(12)
    .height(9)
    .colorScheme(colours(FieldColorModeId.PaletteClassic))
    .lineWidth(1)
    .fillOpacity(10)
    .showPoints(VisibilityMode.Never)
    .spanNulls(false)
    .tooltip(
      new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending),
    )
    .legend(legend(['lastNotNull', 'max']));
}

/**
 * Stacked bars over time, an hour each, or longer where the time range is long. Of a query over `$__interval`
 * one bar's window ends where the next one's begins, so that the bars add up.
 */
export function hourlyBars(id: number, title: string, description: string): TimeSeries {
  return lines(id, title, description)
    .interval('1h')
    .drawStyle(GraphDrawStyle.Bars)
    .barAlignment(BarAlignment.Before)
    .fillOpacity(60)
    .legend(legend(['sum', 'max']))
    .stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
}

/**
 * One column for each value of the label, in its order, of queries with this label only. Each query has a name;
 * for a value of the label only one of them has a series.
 */
export function columns(
  id: number,
  title: string,
  description: string,
  label: string,
  queries: readonly (readonly [name: string, query: string])[],
): BarChart {
  const fields = byValue(queries.map(([name]) => name));
  const names = [label, ...Object.keys(fields)];
  return columnChart(id, title, description, label)
    .legend(narrowLegend())
    .targets(queries.map(([, query]) => now(query).format(PromQueryFormat.Table)))
    .stacking(StackingMode.Normal)
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { pattern: `^(${label}|Value.*)$` } },
    })
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: label }] } })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: Object.fromEntries(names.map((name, index) => [name, index])),
        renameByName: fields,
      },
    });
}

/**
 * Returns a panel of another panel's table query, which Prometheus then computes only once: its values
 * grouped by the label.
 */
export function groupedColumns(
  id: number,
  title: string,
  description: string,
  label: string,
  { panelId, by }: { readonly panelId: number; readonly by: 'sum' | 'mean' },
): BarChart {
  return groupedBy(
    columnChart(id, title, description, label),
    panelId,
    [label],
    by,
  ).withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: label }] } });
}

/** Gives a panel the response to another one's table query, grouped by labels: the field `Value (sum)`. */
export function groupedBy<Panel extends BarChart | Table>(
  panel: Panel,
  panelId: number,
  labels: readonly string[],
  by: 'sum' | 'mean' = 'sum',
): Panel {
  panel
    .datasource(DASHBOARD_DATASOURCE)
    .withTarget(new DashboardQueryBuilder().panelId(panelId).datasource(DASHBOARD_DATASOURCE))
    .withTransformation({
      id: 'groupBy',
      options: {
        fields: {
          ...Object.fromEntries(
            labels.map((label) => [label, { operation: 'groupby', aggregations: [] }]),
          ),
          Value: { operation: 'aggregate', aggregations: [by] },
        },
      },
    });
  return panel;
}

/** One big number with its name, which says of how many. */
export function namedStat(id: number, title: string, description: string): Stat {
  return stat(id, title, description)
    .textMode(BigValueTextMode.ValueAndName)
    .text(new VizTextDisplayOptionsBuilder().titleSize(16));
}

function columnChart(id: number, title: string, description: string, label: string): BarChart {
  return plain(new BarChart(), id, title, description)
    .span(8)
    .height(9)
    .min(0)
    .fillOpacity(60)
    .xField(label)
    .legend(legend([]).showLegend(false))
    .overrideByName(label, AS_IT_IS);
}

/** A band of states over time for each series. */
export function states(id: number, title: string, description: string): StateTimeline {
  return plain(new StateTimeline(), id, title, description)
    .mergeValues(true)
    .showValue(VisibilityMode.Auto)
    .legend(legend([]).showLegend(false));
}

/** The query at the end of the time range. */
export function now(query: string, legendFormat = '{{customer}}'): DataqueryBuilder {
  return new DataqueryBuilder().expr(query).instant().legendFormat(legendFormat);
}

/** The query over the time range. */
export function overTime(query: string, legendFormat = '{{customer}}'): DataqueryBuilder {
  return new DataqueryBuilder().expr(query).range().legendFormat(legendFormat);
}

/** The names of the lines below a narrow panel. */
export function narrowLegend(): VizLegendOptionsBuilder {
  return legend([]).displayMode(LegendDisplayMode.List).placement(LegendPlacement.Bottom);
}

function legend(calcs: string[]): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Right)
    .showLegend(true)
    .calcs(calcs);
}

/** The SDK would write no calculation at all, and Grafana would show nothing. */
function lastValue(): ReduceDataOptionsBuilder {
  return new ReduceDataOptionsBuilder().calcs(['lastNotNull']);
}
