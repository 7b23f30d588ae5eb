/** The rule files as the tests read them. Whether their PromQL is valid is promtool's to say. */
import { readFileSync, readdirSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const RECORDING = z.strictObject({ record: z.string(), expr: z.string() });

const ALERT = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string(),
  labels: z.object({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.strictObject({
    summary: z.string(),
    description: z.string(),
    runbook: z.string(),
  }),
});

const RULE_FILE = z.object({
  groups: z.array(
    z.object({
      name: z.string(),
      interval: z.string(),
      rules: z.array(z.union([RECORDING, ALERT])),
    }),
  ),
});

export type Recording = z.infer<typeof RECORDING>;
export type Alert = z.infer<typeof ALERT>;

/** The folder with rules/, tests/ and the example configuration. */
export const PROMETHEUS_FOLDER = new URL('../../prometheus/', import.meta.url);

/** The YAML files of one of its folders, as paths from it. */
export function filesOf(folder: 'rules' | 'tests'): readonly string[] {
  return readdirSync(new URL(`${folder}/`, PROMETHEUS_FOLDER)).map((name) => `${folder}/${name}`);
}

/** A file of it as text. */
export function readPrometheusFile(path: string): string {
  return readFileSync(new URL(path, PROMETHEUS_FOLDER), 'utf8');
}

/** Every rule that is shipped. Throws where one lacks what every rule has. */
export function readRules(): readonly (Recording | Alert)[] {
  return filesOf('rules').flatMap((path) =>
    RULE_FILE.parse(parse(readPrometheusFile(path))).groups.flatMap(({ rules }) => rules),
  );
}
