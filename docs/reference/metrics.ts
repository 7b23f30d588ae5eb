/** metrics.md: every family that the exporter can show, from the tables that it renders. */
import { Registry } from 'prom-client';
import { z } from 'zod';
import { FAILURE_REASONS } from '../../src/base/errors.ts';
import { BREAKDOWNS, COUNTERS, MINUTE_STREAMS } from '../../src/base/model.ts';
import { breakdownFamilies } from '../../src/metrics/breakdown-families.ts';
import { createExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import { CUSTOMER_FAMILIES } from '../../src/metrics/families.ts';
import { IN_BACKGROUND } from '../../src/metrics/family.ts';
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

export function metricsPage(): string {
  const own = ownMetrics();
  const aboutExporter = own.filter(({ name }) => name.startsWith('library_exporter_'));
  const aboutProcess = own.filter((metric) => !aboutExporter.includes(metric));
  return `# Metrics

A series is absent until its value is known, and never 0 instead. The service's values carry no
timestamps. Everything with the label \`customer\` is polled in the background, so that a scrape never
waits for the service. How the counters come about is in
[How it counts](../../README.md#how-it-counts-and-why-that-can-be-trusted).

- The **epoch** is the month: it starts at the first \`day_starts_at\` of it, in the customer's time zone.
  Counters start again at 0 there, which Prometheus takes for what it is, a reset.
- A **day** starts at \`day_starts_at\`.
- A **complete reading** is a poll whose answers were whole and good, and are believed.
- Times are in seconds since 1970, UTC.

## Of each customer

All of these have the label \`customer\`. \`stream\` is one of ${listed(STREAMS)}, of which a customer has those
that are configured; \`kind\` is one of ${listed(MINUTE_STREAMS.flatMap((stream) => COUNTERS[stream]))}. Those of people are absent where \`streams\` leaves out people, and
those of logins where it leaves out logins.

${CUSTOMER_FAMILIES.map(familyText).join('\n')}

## Of each branch, client and device

Only where the customer has \`breakdowns\`. They are parts of the sums above, and have the label \`customer\`
as well as that of the breakdown.

${breakdownFamilies(new Set(BREAKDOWNS)).map(familyText).join('\n')}

## About the exporter

Without the label \`customer\`. They are there as soon as \`/-/ready\` says 200; those with the label \`stream\`
for each stream that any customer has. \`reason\` is one of ${listed(FAILURE_REASONS)}; \`code\` is the status
of the answer, or \`none\` where there was no answer; \`endpoint\` is one of ${listed(['token', 'peoplecount', 'login'])}.

${aboutExporter.map(ownText).join('\n')}

## About the process

As prom-client gives them, on Linux; elsewhere some are missing. \`nodejs_gc_duration_seconds\` is absent
until garbage was collected.

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

/** The exporter's own, in the order in which they are shown. */
function ownMetrics(): readonly Own[] {
  const registry = new Registry();
  createExporterMetrics({ version: '', revision: '', nodeVersion: '' }, registry);
  return registry.getMetricsAsArray().map((metric) => OWN.parse({ ...metric }));
}

function familyText({ name, type, help, labels = [], absent }: Family): string {
  const shown = name === 'library_customer_info' ? ', and those under `labels`' : '';
  const own = labels.length === 0 ? '' : `; labels ${listed(labels)}${shown}`;
  return `### \`${name}\`

${kindOf(name, type)}${own}

${typed(withoutAbsence(help))}

${absent === undefined ? 'There as soon as the customer is known' : `Absent ${absent}`}.
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

/** What the help says of absence, and of every family, is said elsewhere on the page. */
function withoutAbsence(help: string): string {
  return help
    .replace(IN_BACKGROUND, '')
    .replaceAll(/Absent [^.]*\./g, '')
    .trim();
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
