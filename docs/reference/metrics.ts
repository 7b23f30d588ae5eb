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
  upperBounds: z.array(z.number()).optional(),
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

For who writes queries: every metric, with its type, its labels and when it is absent. Everything with the
label \`customer\` is polled in the background: a scrape never waits for the service. A series is absent
until its value is known, never 0 instead. The values carry no timestamps. How counters are computed is
in [How it counts](../how-it-counts.md).

- The **counting period** is a calendar month in the customer's time zone. It starts at the first
  \`day_starts_at\` of the month. Counters then start again at 0, which Prometheus handles as a reset.
- A **day** starts at \`day_starts_at\`.
- An **accepted poll** is a successful poll whose values were accepted as plausible.

## Customers

All of these have the label \`customer\`. \`stream\` is one of ${listed(STREAMS)}; a customer has those
that are configured. \`counter\` is one of ${listed(MINUTE_STREAMS.flatMap((stream) => COUNTERS[stream]))}. The metrics of people are absent if
\`streams\` leaves out people, and those of logins if it leaves out logins.

Those with the label \`branch\` describe a building. Where \`breakdowns\` has branch, each branch has one
series of them, and the customer none; elsewhere the customer is the building, and the label is absent.

${CUSTOMER_FAMILIES.map(familyText).join('\n')}

## Branches, clients and devices

Only for customers with \`breakdowns\`. They are parts of the sums above, and have the label \`customer\` and that of
the breakdown. A key of the previous counting period is 0 from the first accepted poll of the new one on.

${breakdownFamilies(new Set(BREAKDOWNS)).map(familyText).join('\n')}

## Exporter

Without the label \`customer\`. They exist as soon as \`/-/ready\` answers 200; those with the label \`stream\`
for each stream of any customer; those of the state file if \`--storage.path\` is not empty, its time from
the first write on. \`reason\` is one of ${listed(FAILURE_REASONS)}; \`code\` is the HTTP status,
or \`none\` without an answer; \`endpoint\` is one of ${listed(['token', 'peoplecount', 'login'])}.

${aboutExporter.map(ownText).join('\n')}

## Process

From prom-client, on Linux; some are missing on other systems. \`nodejs_gc_duration_seconds\` is absent
until the first garbage collection.

${table(
  ['metric', 'type', 'labels', 'meaning'],
  aboutProcess.map(({ name, type, labelNames, help }) => [
    code(name),
    type,
    labelNames.map(code).join(', '),
    help,
  ]),
)}`;
}

/** The exporter's own metrics, in the order of the exposition. */
function ownMetrics(): readonly Own[] {
  const registry = new Registry();
  const shard = { shard: 0, shards: 1 };
  createExporterMetrics({ version: '', revision: '', nodeVersion: '', shard }, registry);
  return registry.getMetricsAsArray().map((metric) => OWN.parse({ ...metric }));
}

function familyText({ name, type, help, labels, absent }: Family): string {
  const shown = name === 'library_site_info' ? ', and those under `labels`' : '';
  const own = labels.length === 0 ? '' : `; labels ${listed(labels)}${shown}`;
  return `### \`${name}\`

${kindOf(name, type)}${own}

${typed(help)}

${absent === undefined ? 'Present as soon as the customer is configured' : `Absent ${absent}`}.
`;
}

function ownText({ name, type, help, labelNames, upperBounds }: Own): string {
  const own = labelNames.length === 0 ? '' : `; labels ${listed(labelNames)}`;
  const bounds = upperBounds === undefined ? '' : `\n\nBuckets up to ${upperBounds.join(', ')}.`;
  return `### \`${name}\`

${kindOf(name, type)}${own}

${typed(help)}${bounds}
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
