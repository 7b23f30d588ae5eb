/** The rule files as data. Promtool checks their PromQL in test/e2e. */
import { readFileSync, readdirSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const RECORDING = z.strictObject({ record: z.string(), expr: z.string() });

const ALERT = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  keep_firing_for: z.string().optional(),
  labels: z.strictObject({
    severity: z.enum(['critical', 'warning', 'info']),
    service: z.literal('library-stats'),
  }),
  annotations: z.strictObject({
    summary: z.string(),
    description: z.string(),
  }),
});

const GROUP = z.strictObject({
  name: z.string(),
  interval: z.string(),
  rules: z.array(z.union([RECORDING, ALERT])),
});
const RULE_FILE = z.strictObject({ groups: z.array(GROUP) });

export type Recording = z.infer<typeof RECORDING>;
export type Alert = z.infer<typeof ALERT>;
type Group = z.infer<typeof GROUP>;

/** The folder with rules/ and the example configurations. */
export const PROMETHEUS_FOLDER = new URL('../../prometheus/', import.meta.url);

export const RULE_FILES = readdirSync(new URL('rules/', PROMETHEUS_FOLDER)).map(
  (name) => `rules/${name}`,
);

/** A file of the folder as text. */
export function readPrometheusFile(path: string): string {
  return readFileSync(new URL(path, PROMETHEUS_FOLDER), 'utf8');
}

/** The groups of one file. Throws where a rule lacks what every rule has. */
export function groupsOf(path: string): readonly Group[] {
  return RULE_FILE.parse(parse(readPrometheusFile(path))).groups;
}

export function readGroups(): readonly Group[] {
  return RULE_FILES.flatMap(groupsOf);
}

export function readRecordings(): readonly Recording[] {
  return readGroups().flatMap(({ rules }) => rules.filter((rule) => 'record' in rule));
}

export function readAlerts(): readonly Alert[] {
  return readGroups().flatMap(({ rules }) => rules.filter((rule) => 'alert' in rule));
}
