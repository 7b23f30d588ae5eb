/** docs/reference/metrics.md: every family, from the tables that the exposition is rendered from. */
import { readFileSync } from 'node:fs';
import { format } from 'prettier';
import type { Options } from 'prettier';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { FAILURE_REASONS } from '../../src/base/errors.ts';
import { BREAKDOWNS, COUNTERS, MINUTE_STREAMS } from '../../src/base/model.ts';
import { createExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import { CUSTOMER_FAMILIES, breakdownFamilies } from '../../src/metrics/families.ts';
import type { Family } from '../../src/metrics/family.ts';
import { code, listed, table, typed } from './markdown.ts';

const OWN = z.object({
  name: z.string(),
  type: z.enum(['counter', 'gauge', 'histogram']),
  help: z.string(),
  labelNames: z.array(z.string()),
});
const STREAMS = [...MINUTE_STREAMS, ...BREAKDOWNS];

type Own = z.infer<typeof OWN>;

/** Returns the page, formatted as the rest of the repository is. */
export async function metricsPage(): Promise<string> {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { prettier: style } = JSON.parse(manifest) as { readonly prettier: Options };
  const note = '<!-- Written by `npm run reference`: what is changed here is lost. -->';
  return format(`${note}\n\n${pageText()}`, { ...style, parser: 'markdown' });
}

function pageText(): string {
  const own = ownMetrics();
  const aboutExporter = own.filter(({ name }) => name.startsWith('library_exporter_'));
  const aboutProcess = own.filter((metric) => !aboutExporter.includes(metric));
  return `# Metrics

For who writes queries: every metric, with its type, its labels and when it is absent. A series is absent
until its value is known, never 0 instead. Values have no timestamps.
[How it counts](../how-it-counts.md) explains them.

- The counting **period** is a calendar month in the customer's time zone, from its first
  \`day_starts_at\` on. Counters then start again at 0. A **day** starts at \`day_starts_at\`.
- A poll is **accepted** if it succeeded and its values are plausible. Counts of the period and their excess are
  absent until its first accepted poll, counts of the day until its own.

## Customers

All have the label \`customer\`. \`stream\` is one of ${listed(STREAMS)}, as configured. \`counter\` is
one of ${listed(MINUTE_STREAMS.flatMap((stream) => COUNTERS[stream]))}. What \`streams\` leaves out has no metrics.
Any other metric without a line _Absent_ exists as soon as its customer is configured.

Those with the label \`branch\` describe a building. Where \`breakdowns\` has branch, each branch has one
series and the customer none. Elsewhere the customer is the building, without this label.

${CUSTOMER_FAMILIES.map(familyText).join('\n')}

## Branches, clients and devices

Parts of the sums above, only for customers with \`breakdowns\`. They also have the label \`customer\`. Those without a
text are what the metric without \`branch_\`, \`client_\` or \`device_\` is for the customer. A key of the previous period is 0
from the first accepted poll of the new one on.

${breakdownFamilies(new Set(BREAKDOWNS)).map(familyText).join('\n')}

## Exporter

Without the label \`customer\`. They exist as soon as \`/-/ready\` answers 200; those of the state file
not with an empty \`--storage.path\`, and its time from the first write on. \`reason\` is one of ${listed(FAILURE_REASONS)}; \`code\`
is the HTTP status, or \`none\` without an answer; \`endpoint\` is one of ${listed(['token', 'peoplecount', 'login'])}.

${aboutExporter.map(ownText).join('\n')}

## Process

Those of prom-client, on Linux. Other systems lack some.

${table(
  ['metric', 'labels'],
  aboutProcess.map(({ name, labelNames }) => [code(name), labelNames.map(code).join(', ')]),
)}`;
}

/** The exporter's own metrics, in the order of the exposition. */
function ownMetrics(): readonly Own[] {
  const registry = new Registry();
  const shard = { shard: 0, shards: 1 };
  createExporterMetrics({ version: '', revision: '', nodeVersion: '', shard }, registry);
  return registry.getMetricsAsArray().map((metric) => OWN.parse({ ...metric }));
}

/** A part of a sum has no text of its own where it is absent by the same rule. */
function familyText({ name, type, help, labels, absent }: Family): string {
  const sum = name.replace(/^library_(?:branch|client|device)_/, 'library_');
  if (
    sum !== name &&
    absent === undefined &&
    CUSTOMER_FAMILIES.some((family) => family.name === sum)
  ) {
    return `### \`${name}\`\n\n${kindOf(name, type)}; labels ${listed(labels)}\n`;
  }
  const shown = name === 'library_site_info' ? ', and those under `labels`' : '';
  const own = labels.length === 0 ? '' : `; labels ${listed(labels)}${shown}`;
  return `### \`${name}\`

${kindOf(name, type)}${own}

${typed(help)}${absent === undefined ? '' : `\n\nAbsent ${typed(absent)}.`}
`;
}

function ownText({ name, type, help, labelNames }: Own): string {
  const own = labelNames.length === 0 ? '' : `; labels ${listed(labelNames)}`;
  return `### \`${name}\`

${kindOf(name, type)}${own}

${typed(help)}
`;
}

const UNITS: readonly (readonly [ending: RegExp, unit: string])[] = [
  [/_timestamp_seconds$/, 'seconds since 1970'],
  [/_seconds$/, 'seconds'],
  [/_(people|people_entered|people_exited)(_total|_today)?$/, 'people'],
  [/_logins(_total|_today)$/, 'logins'],
];

/** Type and unit. */
function kindOf(name: string, type: string): string {
  const unit = UNITS.find(([ending]) => ending.test(name))?.[1];
  return unit === undefined ? `**${type}**` : `**${type}**, ${unit}`;
}
