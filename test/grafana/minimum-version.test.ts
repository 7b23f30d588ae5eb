/**
 * The oldest Grafana that the dashboards are for knows everything that they use. The lists are the
 * options and field settings of its panels, from @grafana/schema of that version.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readDashboards } from './dashboard.ts';

const MINIMUM = '12.2.0';
const SCHEMA_VERSION = 42;

const HIDE = ['hideFrom'];
const AXIS = words(
  'axisBorderShow axisCenteredZero axisColorMode axisGridShow axisLabel axisPlacement axisSoftMax axisSoftMin axisWidth scaleDistribution',
);
const VALUE = words('orientation reduceOptions text');
const GRAPH = [
  ...words('lineColor lineInterpolation lineStyle lineWidth spanNulls'),
  ...words('barAlignment barMaxWidth barWidthFactor fillBelowTo fillColor fillOpacity'),
  ...words('pointColor pointSize pointSymbol showPoints stacking drawStyle gradientMode'),
  ...words('insertNulls showValues thresholdsStyle transform'),
];
/** Options and custom field settings by type of panel. */
const PANELS: Readonly<Record<string, readonly [options: string[], custom: string[]]>> = {
  barchart: [
    words(
      'legend tooltip text barRadius barWidth colorByField fullHighlight groupWidth orientation showValue stacking xField xTickLabelMaxLength xTickLabelRotation xTickLabelSpacing',
    ),
    [...AXIS, ...HIDE, ...words('fillOpacity gradientMode lineWidth thresholdsStyle')],
  ],
  bargauge: [
    [
      ...VALUE,
      ...words('legend displayMode maxVizHeight minVizHeight minVizWidth namePlacement'),
      ...words('showUnfilled sizing valueMode'),
    ],
    [],
  ],
  stat: [
    [
      ...VALUE,
      ...words('colorMode graphMode justifyMode percentChangeColorMode showPercentChange textMode'),
      'wideLayout',
    ],
    [],
  ],
  'state-timeline': [
    words('legend tooltip timezone alignValue mergeValues perPage rowHeight showValue'),
    [...AXIS, ...HIDE, 'fillOpacity', 'lineWidth'],
  ],
  table: [
    words(
      'cellHeight enablePagination frameIndex frozenColumns maxRowHeight showHeader showTypeIcons sortBy',
    ),
    [
      ...HIDE,
      ...words('align cellOptions displayMode filterable footer hideHeader inspect minWidth'),
      ...words('tooltip width wrapHeaderText wrapText'),
    ],
  ],
  text: [words('code content mode'), []],
  timeseries: [
    words('timezone legend orientation timeCompare tooltip'),
    [...GRAPH, ...AXIS, ...HIDE],
  ],
};
const TRANSFORMATIONS = words(
  'calculateField filterFieldsByName groupBy groupingToMatrix joinByField organize sortBy',
);

const PROPERTIES = z.object({ properties: z.array(z.object({ id: z.string() })) });
const PANEL = z.object({
  title: z.string(),
  type: z.string(),
  options: z.record(z.string(), z.unknown()),
  fieldConfig: z
    .object({
      defaults: z.object({ custom: z.record(z.string(), z.unknown()).default({}) }),
      overrides: z.array(PROPERTIES).default([]),
    })
    .default({ defaults: { custom: {} }, overrides: [] }),
  transformations: z.array(z.object({ id: z.string() })).default([]),
});
const DASHBOARD = z.object({ schemaVersion: z.number(), panels: z.array(PANEL) });

test('compose.yaml starts that version', () => {
  const compose = parse(text('deploy/compose.yaml')) as {
    services: { grafana: { image: string } };
  };
  expect(compose.services.grafana.image).toBe(`grafana/grafana:${MINIMUM}`);
});

describe.each(readDashboards().map(([file]) => file))('%s', (file) => {
  const { schemaVersion, panels } = DASHBOARD.parse(JSON.parse(text(`grafana/dashboards/${file}`)));

  test('has the format of that version', () => {
    expect(schemaVersion).toBe(SCHEMA_VERSION);
  });

  test.each(panels.map((panel) => [panel.title, panel] as const))(
    '%s uses what that version knows',
    (_, { type, options, fieldConfig, transformations }) => {
      const [knownOptions, knownCustom] = PANELS[type] ?? [[], []];
      const overridden = fieldConfig.overrides
        .flatMap(({ properties }) => properties.map(({ id }) => id))
        .filter((id) => id.startsWith('custom.'))
        .map((id) => id.slice('custom.'.length));
      expect(Object.keys(PANELS)).toContain(type);
      expect(knownOptions).toEqual(expect.arrayContaining(Object.keys(options)));
      expect(knownCustom).toEqual(
        expect.arrayContaining([...Object.keys(fieldConfig.defaults.custom), ...overridden]),
      );
      expect(TRANSFORMATIONS).toEqual(expect.arrayContaining(transformations.map(({ id }) => id)));
    },
  );
});

function words(list: string): string[] {
  return list.split(' ');
}

function text(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}
