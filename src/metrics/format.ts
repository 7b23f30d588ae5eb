/**
 * How a family and a sample are written: text format 0.0.4 and OpenMetrics 1.0.0. Lines of samples
 * are the same in both; what differs is what stands above a family and at the very end. Nothing
 * here knows what is exported.
 */
import type { LabelPair } from './family.ts';

export type Format = 'text' | 'openmetrics';

/** What an exposition ends with: OpenMetrics must say that it is whole. */
export const END_OF: Readonly<Record<Format, string>> = { text: '', openmetrics: '# EOF\n' };

export interface FamilyHead {
  /** As in the text format: with `_total`, if a counter. */
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

/** The lines HELP and TYPE of a family, with their line ends. */
export function writeHead(format: Format, { name, type, help }: FamilyHead): string {
  // OpenMetrics counts `_total` as part of the sample's name, not of the family's.
  const family =
    format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name;
  return `# HELP ${family} ${escapeHelp(format, help)}\n# TYPE ${family} ${type}\n`;
}

/** One label, ready to stand between the braces. */
export function writeLabel([name, value]: LabelPair): string {
  return `${name}="${escapeLabelValue(value)}"`;
}

/** One sample with its line end. `labels` are written labels, joined by commas; may be empty. */
export function writeSample(name: string, labels: string, value: number): string {
  return labels === ''
    ? `${name} ${formatValue(value)}\n`
    : `${name}{${labels}} ${formatValue(value)}\n`;
}

/** The same as it was at an instant, with a timestamp in seconds, as OpenMetrics has it. */
export function writePastSample(name: string, labels: string, value: number, atMs: number): string {
  return `${name}{${labels}} ${formatValue(value)} ${atMs / 1_000}\n`;
}

/** As Go reads floats, for that is what both formats are defined by. */
export function formatValue(value: number): string {
  if (Number.isNaN(value)) {
    return 'NaN';
  }
  if (!Number.isFinite(value)) {
    return value > 0 ? '+Inf' : '-Inf';
  }
  return String(value);
}

const TO_ESCAPE_IN_LABEL = /[\\"\n]/;

function escapeLabelValue(value: string): string {
  if (!TO_ESCAPE_IN_LABEL.test(value)) {
    return value;
  }
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Quotation marks are escaped by OpenMetrics alone. */
function escapeHelp(format: Format, help: string): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}
