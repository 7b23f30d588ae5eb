/** The bars of the bench, tables in Markdown and their place in a document, and progress on stderr. */
import { readFileSync, writeFileSync } from 'node:fs';

/** One bar of the bench: a value of ours beside a peer's, and the largest ratio that is allowed. */
export interface Measured {
  readonly bar: string;
  /** Values with units, as the table shows them. */
  readonly ours: string;
  readonly peer: string;
  /** What is compared with `limit`: met if not above it. */
  readonly value: number;
  readonly limit: number;
}

/** In place of a peer's value. */
const NO_PEER = '–';

/** Returns a bar without a peer. `unit` has the digits after the point, as in `.1 ms`. */
export function barOf(bar: string, value: number, unit: string, limit: number): Measured {
  return { bar, ours: textOf(value, unit), peer: NO_PEER, value, limit };
}

/** Returns a bar of which the ratio to a peer's value counts. */
export function ratioBar(
  bar: string,
  [ours = NaN, peer = NaN]: readonly number[],
  unit: string,
  limit: number,
): Measured {
  return { bar, ours: textOf(ours, unit), peer: textOf(peer, unit), value: ours / peer, limit };
}

function textOf(value: number, unit: string): string {
  const [, digits, name = ''] = /^(?:\.(\d))?(.*)$/.exec(unit) ?? [];
  return value.toFixed(Number(digits ?? 0)) + name;
}

/** Returns a table in Markdown, which is one in a terminal too. A limit that is missed, also by NaN, is bold. */
export function tableOf(rows: readonly Measured[]): string {
  const cells = rows.map(({ bar, ours, peer, value, limit }) => {
    const text = numberText(limit);
    const ratio = peer === NO_PEER ? NO_PEER : numberText(value);
    return [bar, ours, peer, ratio, value <= limit ? text : `**${text}**`];
  });
  return alignTable([['bar', 'ours', 'peer', 'ratio', 'limit'], ...cells]);
}

function numberText(value: number): string {
  return Number.isInteger(value) || value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

/** Returns the median; of an even number of values, the upper one of the middle two. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** Writes a line with the seconds since the start. */
export function progress(line: string): void {
  const seconds = (performance.now() / 1_000).toFixed(0).padStart(4);
  process.stderr.write(`${seconds} s  ${line}\n`);
}

/** Returns rows of cells, of which the first one is the head, as a table. */
export function alignTable(cells: readonly (readonly string[])[]): string {
  const [columns = []] = cells;
  const widths = columns.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const [head = '', ...body] = cells.map((row) => {
    const padded = widths.map((width, column) => (row[column] ?? '').padEnd(width));
    return `| ${padded.join(' | ')} |`;
  });
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [head, rule, ...body].join('\n');
}

/** Replaces what stands between the two marks of a file; throws where they are not there. */
export function writeResult(file: URL, text: string): void {
  const before = readFileSync(file, 'utf8');
  const result = /(?<=<!-- bench: begin -->\n).*(?=<!-- bench: end -->)/s;
  if (!result.test(before)) {
    throw new Error(`${file.pathname} has no marks <!-- bench: begin --> and <!-- bench: end -->`);
  }
  const after = before.replace(result, () => `\n${text}\n\n`);
  writeFileSync(file, after);
}
