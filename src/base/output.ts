/** Text for terminals, files and programs: tables, CSV, JSON lines, progress. */
import type { RawRecord } from './model.ts';

export const FORMATS = ['table', 'csv', 'ndjson'] as const;

export type Format = (typeof FORMATS)[number];

/** Between the fields of CSV. With `;` numbers have decimal commas, as spreadsheets expect then. */
export const SEPARATORS = [',', ';'] as const;

export type Separator = (typeof SEPARATORS)[number];

/** Returns the rows as lines. The first call adds the head. */
export type Formatter = (rows: readonly RawRecord[]) => string;

/** A missing value in a table of results. Columns of numbers may have it. */
export const ABSENT = '-';

/** What a terminal executes, or what reorders the rest of a line. */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Returns a formatter. CSV (RFC 4180) keeps control characters, because values must be exact, but a text that a
 * spreadsheet would take for a formula begins with an apostrophe.
 */
export function createFormatter(
  format: Format,
  columns: readonly string[],
  separator: Separator = ',',
): Formatter {
  switch (format) {
    case 'table':
      return createTable(columns);
    case 'csv':
      return createCsv(columns, separator);
    case 'ndjson':
      return (rows) => rows.map((row) => jsonLine(recordOf(columns, row))).join('');
  }
}

/** Returns the text with control characters written as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll(
    CONTROL_CHARACTERS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns a number with its noun: `1 file`, `2 files`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Moves to the start of the line and clears it (ECMA-48, EL). */
const CLEAR_LINE = '\r\u001b[K';

/** Standard error of a command. */
interface ErrorOutput {
  readonly errorIsTerminal: boolean;
  writeError(text: string): void;
}

/** One line on a terminal that is rewritten in place. Elsewhere nothing is written. */
export class ProgressLine {
  readonly #io: ErrorOutput;
  #isShown = false;

  constructor(io: ErrorOutput) {
    this.#io = io;
  }

  show(text: string): void {
    if (this.#io.errorIsTerminal) {
      this.#io.writeError(CLEAR_LINE + text);
      this.#isShown = true;
    }
  }

  /** Writes to standard error in place of the line. */
  write(text: string): void {
    this.clear();
    this.#io.writeError(text);
  }

  /** Clears the line. Call it before anything else is written to the terminal. */
  clear(): void {
    if (this.#isShown) {
      this.#io.writeError(CLEAR_LINE);
      this.#isShown = false;
    }
  }
}

/** Columns are as wide as the first rows need; longer values that come later shift their line. */
function createTable(columns: readonly string[]): Formatter {
  let pads: ((text: string) => string)[] | undefined;
  return (rows) => {
    const lines = rows.map((row) => row.map((value) => printable(String(value ?? ''))));
    const head = pads === undefined ? [columns] : [];
    pads ??= columns.map((column, i) => {
      const cells = [column, ...lines.map((line) => line[i] ?? '')];
      const width = cells.reduce((most, cell) => Math.max(most, cell.length), 0);
      const isNumber =
        rows.length > 0 && rows.every((row) => typeof row[i] !== 'string' || row[i] === ABSENT);
      return (text) => (isNumber ? text.padStart(width) : text.padEnd(width));
    });
    const padded = [...head, ...lines].map((line) =>
      line
        .map((cell, i) => pads?.[i]?.(cell) ?? cell)
        .join('  ')
        .trimEnd(),
    );
    return padded.map((line) => `${line}\n`).join('');
  };
}

function createCsv(columns: readonly string[], separator: Separator): Formatter {
  let head: readonly RawRecord[] = [columns];
  return (rows) => {
    const lines = [...head, ...rows].map((row) => {
      const fields = row.map((value) => csvField(value, separator));
      return `${fields.join(separator)}\r\n`;
    });
    head = [];
    return lines.join('');
  };
}

function csvField(value: RawRecord[number], separator: Separator): string {
  if (typeof value === 'number' && separator === ';') {
    return String(value).replace('.', ',');
  }
  const text =
    typeof value === 'string' ? value.replace(/^(?=[=+\-@\t])/, "'") : String(value ?? '');
  return text.includes(separator) || /["\r\n]/.test(text)
    ? `"${text.replaceAll('"', '""')}"`
    : text;
}

/** JSON may escape any character, so values are exact and harmless to a terminal. */
export function jsonLine(value: unknown): string {
  return `${printable(JSON.stringify(value))}\n`;
}

/** Returns the values of a row by column. */
export function recordOf(columns: readonly string[], row: RawRecord) {
  return Object.fromEntries(columns.map((column, i) => [column, row[i] ?? null]));
}
