/**
 * Rows as text: a table for people, CSV (RFC 4180) and JSON lines for programs. Whole rows only, as
 * they come: no format needs to know the rows to come. Knows no field of the service.
 */
import type { RawRecord } from '../../base/model.ts';

export const FORMATS = ['table', 'csv', 'ndjson'] as const;

export type Format = (typeof FORMATS)[number];

export interface FormatOptions {
  readonly format: Format;
  readonly columns: readonly string[];
  /** Then CSV, too, shows what would command the terminal in place of sending it. */
  readonly forTerminal: boolean;
}

/** The text of the rows, each with its line end; that of the first call begins with the head. */
export type Formatter = (rows: readonly RawRecord[]) => string;

/** What a terminal obeys, or what changes the order in which it shows the rest. */
const COMMANDING = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

export function createFormatter({ format, columns, forTerminal }: FormatOptions): Formatter {
  switch (format) {
    case 'table':
      return createTable(columns);
    case 'csv':
      return createCsv(columns, forTerminal ? printable : (text) => text);
    case 'ndjson':
      return (rows) => rows.map((row) => jsonLine(columns, row)).join('');
  }
}

/** The text with what would command a terminal written as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll(
    COMMANDING,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The first rows make the columns' widths; a longer value later on moves the rest of its line. */
function createTable(columns: readonly string[]): Formatter {
  let pads: ((text: string) => string)[] | undefined;
  return (rows) => {
    const lines = rows.map((row) => row.map((value) => printable(String(value ?? ''))));
    const head = pads === undefined ? [columns] : [];
    pads ??= columns.map((column, i) => {
      const cells = [column, ...lines.map((line) => line[i] ?? '')];
      const width = cells.reduce((most, cell) => Math.max(most, cell.length), 0);
      const isNumber = rows.length > 0 && rows.every((row) => typeof row[i] !== 'string');
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

function createCsv(columns: readonly string[], shown: (text: string) => string): Formatter {
  let head: readonly RawRecord[] = [columns];
  return (rows) => {
    const lines = [...head, ...rows].map(
      (row) => `${row.map((value) => csvField(shown(String(value ?? '')))).join(',')}\r\n`,
    );
    head = [];
    return lines.join('');
  };
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** JSON may write any character as an escape, so that the value stays exact and commands nothing. */
function jsonLine(columns: readonly string[], row: RawRecord): string {
  const record = Object.fromEntries(columns.map((column, i) => [column, row[i] ?? null]));
  return `${printable(JSON.stringify(record))}\n`;
}
