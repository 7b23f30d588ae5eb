/** Pieces of Markdown. Must not know what they are about. */

/** A table; cells are Markdown, but for a vertical bar, which is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`)
    .join('');
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** `a`, `b` and `c`. */
export function listed(words: readonly string[]): string {
  const [last, ...others] = words.map(code).toReversed();
  return others.length === 0 ? (last ?? '') : `${others.toReversed().join(', ')} and ${last}`;
}

/** Words of a program's own text that a reader would type, as code: flags, and names with a `_`. */
export function typed(text: string): string {
  return text.replaceAll(/(?<![\w`-])(--[\w.-]*\w|\/-\/\w+|[a-z]+(?:_[a-z]+)+)(?![\w`])/g, '`$1`');
}
