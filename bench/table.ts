/** The result as a table, for the terminal and for docs/bench.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { NO_PEER } from './measured.ts';
import type { Measured } from './measured.ts';

const HEAD = ['bar', 'ours', 'peer', 'ratio', 'limit'];
const BEGIN = '<!-- bench: begin -->';
const END = '<!-- bench: end -->';

/** A table in Markdown, which is one in a terminal too. */
export function tableOf(rows: readonly Measured[]): string {
  return alignTable([HEAD, ...rows.map(cellsOf)]);
}

/** Rows of cells, the first one is the head. */
export function alignTable(cells: readonly (readonly string[])[]): string {
  const [columns = []] = cells;
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => lengthOf(row, column))));
  const [head = '', ...body] = cells.map((row) => lineOf(row, widths));
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [head, rule, ...body].join('\n');
}

/** Returns whether a bar is met: never by NaN. */
function isMet({ value, limit }: Measured): boolean {
  return value <= limit;
}

/** Replaces what stands between the two marks of a file; throws where they are not there. */
export function writeResult(file: string | URL, text: string): void {
  const before = readFileSync(file, 'utf8');
  const [from, to] = [before.indexOf(BEGIN), before.indexOf(END)];
  if (from < 0 || to < from) {
    throw new Error(
      `${String(file)} has no place for the result: it must have ${BEGIN} and ${END}`,
    );
  }
  const head = before.slice(0, from + BEGIN.length);
  writeFileSync(file, `${head}\n\n${text}\n\n${before.slice(to)}`);
}

function cellsOf(row: Measured): readonly string[] {
  const { bar, ours, peer, value, limit } = row;
  const ratio = peer === NO_PEER ? NO_PEER : numberText(value);
  return [bar, ours, peer, ratio, isMet(row) ? numberText(limit) : `**${numberText(limit)}**`];
}

function numberText(value: number): string {
  return Number.isInteger(value) || value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

function lineOf(row: readonly string[], widths: readonly number[]): string {
  return `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
}

function lengthOf(row: readonly string[], column: number): number {
  return (row[column] ?? '').length;
}
