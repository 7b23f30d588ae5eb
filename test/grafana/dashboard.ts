/** A dashboard's file as the tests read it: the parts that they check, by their JSON names. */
import { readFileSync, readdirSync } from 'node:fs';
import { z } from 'zod';

const PANEL = z.object({
  type: z.string(),
  title: z.string().regex(/\S/),
  description: z.string().regex(/\S/),
  targets: z
    .array(
      z.object({
        refId: z.string(),
        expr: z.string(),
        format: z.string(),
        legendFormat: z.string(),
      }),
    )
    .min(1),
  options: z.object({ sortBy: z.array(z.object({ displayName: z.string() })).default([]) }),
  fieldConfig: z.object({
    overrides: z.array(z.object({ matcher: z.object({ options: z.string() }) })),
  }),
  transformations: z
    .array(
      z.object({
        options: z.object({ renameByName: z.record(z.string(), z.string()).optional() }),
      }),
    )
    .default([]),
});

/** A folded row with the panels below it. */
const ROW = z.object({ type: z.literal('row'), panels: z.array(PANEL).min(1) });

/** With the panels of folded rows among the others. */
const DASHBOARD = z.object({
  uid: z.string(),
  panels: z
    .array(z.union([ROW, PANEL]))
    .transform((panels) => panels.flatMap((one) => ('panels' in one ? one.panels : [one]))),
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.string() })) }),
});

type Dashboard = z.infer<typeof DASHBOARD>;
export type Panel = z.infer<typeof PANEL>;

const FOLDER = new URL('../../grafana/dashboards/', import.meta.url);

/** Every dashboard that is shipped, by the name of its file. Throws where one is not classic JSON. */
export function readDashboards(): readonly (readonly [string, Dashboard])[] {
  return readdirSync(FOLDER).map((name) => {
    const text = readFileSync(new URL(name, FOLDER), 'utf8');
    return [name, DASHBOARD.parse(JSON.parse(text))];
  });
}

/** What columns are called, by the label or the query that they show. */
export function columnsOf({ transformations }: Panel): Readonly<Record<string, string>> {
  return (
    transformations.findLast(({ options }) => options.renameByName)?.options.renameByName ?? {}
  );
}

/** The queries of a panel. */
export function queriesOf({ targets }: Panel): readonly string[] {
  return targets.map(({ expr }) => expr);
}

/** The query as PromQL: Grafana's windows filled in, its variables left where they stand in quotes. */
export function asPromql(expression: string): string {
  return expression.replaceAll(/\$__(rate_interval|interval|range)\b/g, '26ms');
}
