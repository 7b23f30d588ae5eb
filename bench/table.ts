/** Tables in Markdown, and their place in a document. */
import { readFileSync, writeFileSync } from 'node:fs';

const BEGIN = '<!-- bench: begin -->';
const END = '<!-- bench: end -->';

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
  const [from, to] = [before.indexOf(BEGIN), before.indexOf(END)];
  if (from < 0 || to < from) {
    throw new Error(`${file.pathname} has no place for the result: ${BEGIN} and ${END}`);
  }
  const head = before.slice(0, from + BEGIN.length);
  writeFileSync(file, `${head}\n\n${text}\n\n${before.slice(to)}`);
}
