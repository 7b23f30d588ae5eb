/**
 * A file of the configuration as text with places, and how a place is shown to a person. Whatever
 * is marked as hidden is never shown, not even in part. Must not know what the text means.
 */
import { REDACTED } from '../base/secret.ts';

/** From `start` up to, and without, `end`: offsets into the text. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Place extends Range {
  readonly source: SourceFile;
}

export interface Shown {
  /** From 1 on; columns count characters. */
  readonly line: number;
  readonly column: number;
  /** The line, and under it a line with carets; empty for an empty file. */
  readonly excerpt: readonly string[];
}

/** Characters of a line that are shown on either side of a place. */
const CONTEXT = 60;
/** What a terminal would act upon or not show; tabs stay, for they are often the mistake. */
const UNPRINTABLE = /[^\P{Cc}\t]|\p{Cf}|\p{Zl}|\p{Zp}|\p{Cs}/gu;

export class SourceFile {
  /** As the person named it. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  readonly #hidden: Range[] = [];
  #lineStarts: readonly number[] | undefined;

  constructor(name: string, path: string, text: string) {
    this.name = name;
    this.path = path;
    this.text = text;
  }

  /** Never shows this part of the text. */
  hide(range: Range): void {
    this.#hidden.push(range);
  }

  hides(place: Range): boolean {
    return this.#hidden.some((range) => range.start < place.end && range.end > place.start);
  }

  at(start: number, end = start): Place {
    return { source: this, start, end };
  }

  /** From 1 on. */
  lineAt(offset: number): number {
    return this.#lineOf(offset).number;
  }

  /** `secrets` are texts that are hidden wherever they are. */
  show(range: Range, secrets: ReadonlySet<string>): Shown {
    const start = Math.min(range.start, this.text.length);
    const line = this.#lineOf(start);
    const column = lengthOf(this.text.slice(line.start, start)) + 1;
    const end = Math.min(Math.max(range.end, start + 1), start + CONTEXT, line.end);
    const window = {
      start: Math.max(line.start, start - CONTEXT),
      end: Math.min(line.end, end + CONTEXT),
    };
    const cells = this.#cellsOf(window, this.#hiddenIn(window, secrets));
    if (cells.every((cell) => cell.shown.trim() === '')) {
      return { line: line.number, column, excerpt: [] };
    }
    if (window.start > line.start) {
      cells.unshift({ shown: '…', start: -1, end: window.start });
    }
    const before = cells.filter((cell) => cell.end <= start);
    const marked = cells.filter((cell) => cell.end > start && cell.start < end);
    const text = cells.map((cell) => cell.shown).join('');
    const carets = '^'.repeat(Math.max(1, widthOf(marked)));
    const padding = before.map((cell) => cell.shown.replaceAll(/[^\t]/gu, ' ')).join('');
    const ending = window.end < line.end ? '…' : '';
    return { line: line.number, column, excerpt: [text.trimEnd() + ending, padding + carets] };
  }

  #lineOf(offset: number): Range & { readonly number: number } {
    this.#lineStarts ??= [0, ...Array.from(this.text.matchAll(/\n/g), ({ index }) => index + 1)];
    const number = this.#lineStarts.findLastIndex((lineStart) => lineStart <= offset) + 1;
    const start = this.#lineStarts[number - 1] ?? 0;
    const end = (this.#lineStarts[number] ?? this.text.length + 1) - 1;
    return { number, start, end: this.text[end - 1] === '\r' ? end - 1 : end };
  }

  #hiddenIn(window: Range, secrets: ReadonlySet<string>): Range[] {
    const hidden = this.#hidden.filter(
      (range) => range.end > window.start && range.start < window.end,
    );
    for (const secret of secrets) {
      const first = Math.max(0, window.start - secret.length);
      const text = this.text.slice(first, window.end + secret.length);
      for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + 1)) {
        hidden.push({ start: first + at, end: first + at + secret.length });
      }
    }
    return hidden;
  }

  /** The text of a window, one cell a character; what is hidden is one cell, however long it is. */
  #cellsOf(window: Range, hidden: readonly Range[]): Cell[] {
    const cells: Cell[] = [];
    for (let at = window.start; at < window.end;) {
      const start = at;
      const within = hidden.find((range) => range.start <= start && range.end > start);
      const last = cells.at(-1);
      const character = String.fromCodePoint(this.text.codePointAt(start) ?? 0);
      at = within === undefined ? start + character.length : Math.min(within.end, window.end);
      if (within !== undefined && last?.shown === REDACTED) {
        last.end = at;
      } else {
        const shown = within === undefined ? printable(character) : REDACTED;
        cells.push({ shown, start, end: at });
      }
    }
    return cells;
  }
}

interface Cell {
  readonly shown: string;
  readonly start: number;
  end: number;
}

/** Without what a terminal would act upon. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, '�');
}

function widthOf(cells: readonly Cell[]): number {
  return lengthOf(cells.map((cell) => cell.shown).join(''));
}

/** In characters, as a person counts them in an editor. */
export function lengthOf(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    length += 1;
  }
  return length;
}
