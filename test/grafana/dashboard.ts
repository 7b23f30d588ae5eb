/** A dashboard's file as the tests read it: the parts that they check, by their JSON names. */
import { readFileSync, readdirSync } from 'node:fs';
import { z } from 'zod';

const DATASOURCE = z.object({ type: z.string(), uid: z.string() });
const NAMED = z.record(z.string(), z.unknown());

const TARGET = z.object({
  refId: z.string(),
  expr: z.string(),
  datasource: DATASOURCE,
  format: z.string(),
  legendFormat: z.string(),
});

const PLACE = {
  id: z.number().int().positive(),
  title: z.string().regex(/\S/),
};

const PANEL = z.object({
  ...PLACE,
  type: z.string(),
  description: z.string().regex(/\S/),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(TARGET).min(1),
  options: NAMED.default({}),
  fieldConfig: z
    .object({
      defaults: z.object({
        unit: z.string().optional(),
        noValue: z.string().optional(),
        mappings: z.array(z.object({ options: NAMED })).default([]),
        custom: NAMED.default({}),
      }),
      overrides: z
        .array(
          z.object({
            matcher: z.object({ id: z.string(), options: z.unknown() }),
            properties: z.array(z.object({ id: z.string(), value: z.unknown() })),
          }),
        )
        .default([]),
    })
    .default({ defaults: { mappings: [], custom: {} }, overrides: [] }),
  transformations: z.array(z.object({ id: z.string(), options: z.unknown() })).default([]),
});

/** A folded row with the panels below it. */
const ROW = z.object({
  ...PLACE,
  type: z.literal('row'),
  collapsed: z.literal(true),
  gridPos: PANEL.shape.gridPos,
  panels: z.array(PANEL).min(1),
});

const DASHBOARD_FILE = z.object({
  uid: z.string().min(1).max(40),
  title: z.string(),
  schemaVersion: z.number(),
  editable: z.boolean(),
  links: z.array(z.looseObject({ url: z.string() })),
  panels: z.array(z.union([ROW, PANEL])).min(1),
  templating: z.object({ list: z.array(z.looseObject({ name: z.string(), query: z.string() })) }),
  annotations: z.object({
    list: z.array(
      z.object({
        type: z.string().optional(),
        datasource: DATASOURCE,
        expr: z.string().optional(),
      }),
    ),
  }),
});

/** With the panels of folded rows among the others, and the places of all: first those that are not folded. */
const DASHBOARD = DASHBOARD_FILE.transform(({ panels, ...dashboard }) => ({
  ...dashboard,
  panels: panels.flatMap((one) => ('panels' in one ? one.panels : [one])),
  places: [panels, ...panels.flatMap((one) => ('panels' in one ? [one.panels] : []))].map((side) =>
    side.map(({ gridPos }) => gridPos),
  ),
}));

export type Dashboard = z.infer<typeof DASHBOARD>;
export type Panel = z.infer<typeof PANEL>;

const FOLDER = new URL('../../grafana/dashboards/', import.meta.url);

/** Every dashboard that is shipped, by the name of its file. Throws where one is not classic JSON. */
export function readDashboards(): readonly (readonly [string, Dashboard])[] {
  return readdirSync(FOLDER).map((name) => {
    const text = readFileSync(new URL(name, FOLDER), 'utf8');
    return [name, DASHBOARD.parse(JSON.parse(text))];
  });
}

/** The queries of a panel. */
export function queriesOf({ targets }: Panel): readonly string[] {
  return targets.map(({ expr }) => expr);
}

/** The series of which a variable takes the values of a label; undefined where it does not. */
export function labelValues(query: string): { series: string; label: string } | undefined {
  const [, series, label] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? [];
  return series === undefined || label === undefined ? undefined : { series, label };
}

/** A window that nobody would write, so that Grafana's differs from the rest. */
export const RATE_INTERVAL = '8869990787ms';

/** The query as PromQL: Grafana's windows filled in, its variables left where they stand in quotes. */
export function asPromql(expression: string): string {
  return expression
    .replaceAll('$__rate_interval', RATE_INTERVAL)
    .replaceAll(/\$__(interval|range)\b/g, '26ms');
}
