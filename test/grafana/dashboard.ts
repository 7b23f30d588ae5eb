/** A dashboard's file as the tests read it: the parts that they check, by their JSON names. */
import { readFileSync, readdirSync } from 'node:fs';
import { z } from 'zod';

const DATASOURCE = z.object({ type: z.string(), uid: z.string() });

const TARGET = z.object({
  refId: z.string(),
  expr: z.string(),
  datasource: DATASOURCE,
  instant: z.boolean(),
  range: z.boolean(),
  format: z.string().optional(),
  legendFormat: z.string().optional(),
});

/** Takes the answer to another panel's query. */
const SHARED_TARGET = z.object({
  panelId: z.number().int().positive(),
  datasource: z.strictObject({ type: z.literal('datasource'), uid: z.literal('-- Dashboard --') }),
});

const PROPERTY = z.object({ id: z.string(), value: z.unknown() });

const PANEL_JSON = z.object({
  id: z.number().int().positive(),
  type: z.string(),
  title: z.string().regex(/\S/),
  description: z.string().regex(/\S/),
  datasource: DATASOURCE.optional(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z
    .array(z.union([TARGET, SHARED_TARGET]))
    .default([])
    .transform((targets) => ({
      queries: targets.filter((target) => 'expr' in target),
      sharedPanels: targets.filter((target) => 'panelId' in target).map(({ panelId }) => panelId),
    })),
  interval: z.string().optional(),
  timeFrom: z.string().optional(),
  transformations: z.array(z.object({ id: z.string(), options: z.unknown() })).default([]),
  fieldConfig: z
    .object({
      defaults: z.object({
        unit: z.string().optional(),
        noValue: z.string().optional(),
        thresholds: z.object({ steps: z.array(z.unknown()).min(1) }).optional(),
        custom: z.object({ spanNulls: z.unknown() }).partial().optional(),
      }),
      overrides: z
        .array(
          z.object({
            matcher: z.object({ id: z.string(), options: z.unknown() }),
            properties: z.array(PROPERTY),
          }),
        )
        .default([]),
    })
    .optional(),
  options: z
    .object({
      reduceOptions: z.object({ calcs: z.array(z.string()) }).optional(),
      content: z.string().optional(),
    })
    .default({}),
});

/** With the queries to Prometheus apart from the panels whose answers are shared. */
const PANEL = PANEL_JSON.transform(({ targets, ...panel }) => ({
  ...panel,
  targets: targets.queries,
  sharedPanels: targets.sharedPanels,
}));

const VARIABLE = z.object({
  type: z.string(),
  name: z.string(),
  label: z.string(),
  query: z.string(),
  datasource: DATASOURCE.optional(),
  refresh: z.number().optional(),
  multi: z.boolean().optional(),
  includeAll: z.boolean().optional(),
  allValue: z.string().optional(),
});

const ANNOTATION = z.object({
  type: z.string().optional(),
  datasource: DATASOURCE,
  expr: z.string().optional(),
});

const DASHBOARD = z.object({
  id: z.undefined().optional(),
  __inputs: z.undefined().optional(),
  uid: z.string().min(1).max(40),
  title: z.string().min(1),
  editable: z.boolean(),
  refresh: z.string(),
  tags: z.array(z.string()),
  time: z.object({ from: z.string(), to: z.string() }),
  links: z.array(z.looseObject({ url: z.string() })),
  panels: z.array(PANEL).min(1),
  templating: z.object({ list: z.array(VARIABLE) }),
  annotations: z.object({ list: z.array(ANNOTATION) }),
});

export type Dashboard = z.infer<typeof DASHBOARD>;
export type Panel = z.infer<typeof PANEL>;

const FOLDER = new URL('../../grafana/dashboards/', import.meta.url);

/** Every dashboard that is shipped, by the name of its file. Throws where one is not classic JSON. */
export function readDashboards(): readonly (readonly [string, Dashboard])[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => {
      const text = readFileSync(new URL(name, FOLDER), 'utf8');
      return [name, DASHBOARD.parse(JSON.parse(text))];
    });
}

/**
 * The series of which a variable takes the values of a label; undefined where it does not. The reader
 * of the overview has chosen the label timezone.
 */
export function labelValues(query: string): { series: string; label: string } | undefined {
  const chosen = query.replaceAll('$label', 'timezone');
  const [, series, label] = /^label_values\((.+), (\w+)\)$/.exec(chosen) ?? [];
  return series === undefined || label === undefined ? undefined : { series, label };
}

/** Windows that nobody would write, so that what Grafana would put there can be told from the rest. */
export const RATE_INTERVAL = '8869990787ms';
const WINDOWS = { __rate_interval: RATE_INTERVAL, __interval: '4867856611ms', __range: '26ms' };

/** The query as PromQL: Grafana's windows filled in, its variables left where they stand in quotes. */
export function asPromql(expression: string): string {
  return expression.replaceAll(
    /\$(__rate_interval|__interval|__range)\b/g,
    (_, name: keyof typeof WINDOWS) => WINDOWS[name],
  );
}
