/**
 * What a family of the customers' metrics is, and how families and samples are written: as text format
 * 0.0.4 and as OpenMetrics 1.0.0. Sample lines are the same in both; heads and the end differ.
 */
import type { Breakdown } from '../base/model.ts';
import type { BranchMetrics, CustomerMetrics, KeyMetrics } from '../counting/customer-metrics.ts';

export type Format = 'text' | 'openmetrics';

export type LabelPair = readonly [name: string, value: string];

/** `labels` are those beside `customer`, as the formats have them; may be empty. */
export interface Sample {
  readonly labels: string;
  readonly value: number;
}

/** What a family needs beside the values of one customer. */
export interface FamilyContext {
  /** All label names that any customer has, sorted. */
  readonly infoLabelNames: readonly string[];
}

export interface Family {
  /** Name in the text format: a counter ends in `_total`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Completes the sentence "Absent …" in docs/reference, whose head has the rule for counts. */
  readonly absent?: string | undefined;
  /** Label names beside `customer`, without those that the configuration adds. */
  readonly labels: readonly string[];
  /** Empty while no value is known: unknown is absent, never 0. */
  readonly samples: (metrics: CustomerMetrics, context: FamilyContext) => readonly Sample[];
}

/** What of a customer has series of its own, and the labels that tell these apart. */
export interface Scope<Subject> {
  readonly labelNames: readonly string[];
  readonly subjects: (metrics: CustomerMetrics) => readonly Subject[];
  readonly labels: (subject: Subject, context: FamilyContext) => string;
}

export const CUSTOMER: Scope<CustomerMetrics> = {
  labelNames: [],
  subjects: (metrics) => [metrics],
  labels: () => '',
};

/** The buildings: the branches of a customer that is polled by branch, otherwise the customer. */
export const SITES: Scope<CustomerMetrics | BranchMetrics> = {
  labelNames: ['branch'],
  subjects: (metrics) => metrics.branches ?? [metrics],
  labels: (site) => ('key' in site ? branchLabel(site.key) : ''),
};

/** Returns the scope of the keys of a breakdown. */
export function keysOf(breakdown: Breakdown): Scope<KeyMetrics> {
  return {
    labelNames: [breakdown],
    subjects: ({ breakdowns }) => breakdowns[breakdown]?.keys ?? [],
    labels: ({ key }) => writeLabels([breakdown, key]),
  };
}

/** Returns a constructor of families with one series for each subject of the scope. */
export function seriesOf<Subject>(scope: Scope<Subject>) {
  return labelledSeriesOf(scope, '', ['']);
}

/** Returns a constructor of families with one series for each subject and value of a label. */
export function labelledSeriesOf<Subject, V extends string>(
  scope: Scope<Subject>,
  label: string,
  values: readonly V[],
) {
  const labelled = values.map((labelValue) => ({
    labelValue,
    labels: label === '' ? '' : writeLabels([label, labelValue]),
  }));
  return (
    name: string,
    help: string,
    valueOf: (subject: Subject, labelValue: V) => number | undefined,
    absent?: string,
  ): Family => ({
    name,
    type: name.endsWith('_total') ? 'counter' : 'gauge',
    help,
    absent,
    labels: label === '' ? scope.labelNames : [...scope.labelNames, label],
    // Loops: flatMap made rendering a third slower.
    samples(metrics, context) {
      const samples: Sample[] = [];
      for (const subject of scope.subjects(metrics)) {
        const own = scope.labels(subject, context);
        for (const { labelValue, labels } of labelled) {
          const value = valueOf(subject, labelValue);
          if (value !== undefined) {
            samples.push({ labels: own && labels ? `${own},${labels}` : own + labels, value });
          }
        }
      }
      return samples;
    },
  });
}

const MAX_BRANCH_LABELS = 100_000;
const branchLabels = new Map<string, string>();

/** Remembered: a branch has the same label in 24 series, scrape after scrape. */
function branchLabel(key: string): string {
  let label = branchLabels.get(key);
  if (label === undefined) {
    if (branchLabels.size >= MAX_BRANCH_LABELS) {
      branchLabels.clear();
    }
    label = writeLabels(['branch', key]);
    branchLabels.set(key, label);
  }
  return label;
}

/** OpenMetrics needs an end marker, so that a truncated response is noticed. */
export const END_OF: Readonly<Record<Format, string>> = { text: '', openmetrics: '# EOF\n' };

/** Returns the HELP and TYPE lines. `name` is as in the text format: with `_total`, if it is a counter. */
export function writeHead(
  format: Format,
  { name, type, help }: { readonly name: string; readonly type: string; readonly help: string },
): string {
  const family =
    format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name;
  return `# HELP ${family} ${escapeHelp(format, help)}\n# TYPE ${family} ${type}\n`;
}

/** Returns labels as the formats have them: `name="value",name="value"`. */
export function writeLabels(...labels: readonly LabelPair[]): string {
  return labels.map(([name, value]) => `${name}="${escapeLabelValue(value)}"`).join(',');
}

/** Returns one sample with its line end. `labels` are written labels, joined by commas; may be empty. */
export function writeSample(name: string, labels: string, value: number): string {
  return labels === ''
    ? `${name} ${formatValue(value)}\n`
    : `${name}{${labels}} ${formatValue(value)}\n`;
}

/** Returns one sample with a timestamp in seconds, as OpenMetrics has it. */
export function writePastSample(name: string, labels: string, value: number, atMs: number): string {
  return `${name}{${labels}} ${formatValue(value)} ${atMs / 1_000}\n`;
}

/** Returns a number as Go parses it: both formats are defined by that. */
function formatValue(value: number): string {
  return value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value);
}

function escapeLabelValue(value: string): string {
  return /[\\"\n]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : value;
}

/** Escapes a help text. Only OpenMetrics escapes quotation marks. */
function escapeHelp(format: Format, help: string): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}
