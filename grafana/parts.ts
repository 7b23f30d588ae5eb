/**
 * What the panels of every dashboard have in common: how a query is asked, how bars, lines and
 * thresholds look. Knows no metric.
 */
import { PanelBuilder as BarGauge } from '@grafana/grafana-foundation-sdk/bargauge';
import {
  BarGaugeDisplayMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizOrientation,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  MappingType,
  QueryVariableBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { Threshold, ValueMap } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { DATASOURCE } from './finish.ts';

interface Property {
  readonly id: string;
  readonly value: unknown;
}

/** What the variables of a dashboard select; a query without it shows more than was asked for. */
export const SELECTED = '{job=~"$job",customer=~"$customer"}';

/** For figures that are neither good nor bad. */
export const PLAIN: Threshold[] = [base('blue')];

/**
 * The metric, one value a customer. The greatest, not the sum: two exporters with the same
 * configuration show the same figures and must not count twice.
 */
export function perCustomer(metric: string): string {
  return `max by (customer) (${metric}${SELECTED})`;
}

/** A variable of which any number of values can be chosen, all of them at first. */
export function chooser(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: 'All', value: '$__all' });
}

/** A quarter of a row: one horizontal bar a customer. */
export function bars(): BarGauge {
  return new BarGauge()
    .datasource(DATASOURCE)
    .span(6)
    .height(9)
    .min(0)
    .noValue('no data')
    .reduceOptions(lastValue())
    .orientation(VizOrientation.Horizontal)
    .displayMode(BarGaugeDisplayMode.Basic);
}

/** Half a row: one line a customer over time, in whole numbers from 0. Gaps stay gaps. */
export function lines(): TimeSeries {
  return new TimeSeries()
    .datasource(DATASOURCE)
    .span(12)
    .height(10)
    .unit(units.NoUnit)
    .decimals(0)
    .min(0)
    .thresholds(thresholds(PLAIN))
    .lineWidth(1)
    .fillOpacity(10)
    .showPoints(VisibilityMode.Never)
    .spanNulls(false)
    .tooltip(
      new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending),
    )
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .showLegend(true)
        .calcs(['lastNotNull', 'max']),
    );
}

/** The query at the end of the time range. */
export function now(query: string): DataqueryBuilder {
  return new DataqueryBuilder().expr(query).instant().legendFormat('{{customer}}');
}

/** The query over the time range. */
export function overTime(query: string): DataqueryBuilder {
  return new DataqueryBuilder().expr(query).range().legendFormat('{{customer}}');
}

/** The SDK would write no calculation at all, and Grafana would show nothing. */
export function lastValue(): ReduceDataOptionsBuilder {
  return new ReduceDataOptionsBuilder().calcs(['lastNotNull']);
}

/** Colours by the value itself. */
export function thresholds(steps: Threshold[]): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

/** The properties of a column that shows its value in the steps' colours. */
export function coloured(steps: Threshold[]): Property[] {
  return [
    { id: 'thresholds', value: { mode: ThresholdsMode.Absolute, steps } },
    { id: 'custom.cellOptions', value: { type: 'color-text' } },
  ];
}

/** The properties of a column whose values are 0 and 1. */
export function inWords(zero: string, zeroColor: string, one: string): Property[] {
  const words: ValueMap = {
    type: MappingType.ValueToText,
    options: {
      '0': { text: zero, color: zeroColor, index: 0 },
      '1': { text: one, color: 'green', index: 1 },
    },
  };
  return [
    { id: 'mappings', value: [words] },
    { id: 'custom.cellOptions', value: { type: 'color-text' } },
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
