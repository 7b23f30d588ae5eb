/**
 * The text format 0.0.4 and OpenMetrics 1.0.0. Sample lines are the same in both; the heads of
 * families, `_created` and the end differ.
 */

export type Format = 'text' | 'openmetrics';

export type LabelPair = readonly [name: string, value: string];

/** OpenMetrics needs an end marker, so that a truncated response is noticed. */
export const END_OF: Readonly<Record<Format, string>> = { text: '', openmetrics: '# EOF\n' };

/** Returns the HELP and TYPE lines. `name` is as in the text format: with `_total`, if it is a counter. */
export function writeHead(
  format: Format,
  { name, type, help }: { readonly name: string; readonly type: string; readonly help: string },
): string {
  const family = format === 'openmetrics' && type === 'counter' ? stemOf(name) : name;
  return `# HELP ${family} ${escapeHelp(format, help)}\n# TYPE ${family} ${type}\n`;
}

/** Returns the name of a counter's family in OpenMetrics. */
export function stemOf(counterName: string): string {
  return counterName.replace(/_total$/, '');
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
