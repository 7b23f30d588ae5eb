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
});

const PANEL = z.object({
  id: z.number().int().positive(),
  type: z.string(),
  title: z.string().min(1),
  description: z.string().min(1),
  datasource: DATASOURCE.optional(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(TARGET).default([]),
  fieldConfig: z
    .object({
      defaults: z.object({
        unit: z.string().optional(),
        thresholds: z.object({ steps: z.array(z.unknown()).min(1) }).optional(),
      }),
    })
    .optional(),
  options: z
    .object({ reduceOptions: z.object({ calcs: z.array(z.string()) }).optional() })
    .default({}),
});

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

const DASHBOARD = z.object({
  id: z.undefined().optional(),
  __inputs: z.undefined().optional(),
  uid: z.string().min(1).max(40),
  title: z.string().min(1),
  schemaVersion: z.number(),
  editable: z.boolean(),
  refresh: z.string(),
  panels: z.array(PANEL).min(1),
  templating: z.object({ list: z.array(VARIABLE) }),
  annotations: z.object({ list: z.array(z.object({ type: z.string().optional() })) }),
});

export type Dashboard = z.infer<typeof DASHBOARD>;
export type Panel = z.infer<typeof PANEL>;

const FOLDER = new URL('../../grafana/dashboards/', import.meta.url);

/** Every dashboard that is shipped, by the name of its file. Throws where one is not classic JSON. */
export function readDashboards(): readonly (readonly [string, Dashboard])[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => [
      name,
      DASHBOARD.parse(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'))),
    ]);
}
