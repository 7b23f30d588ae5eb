/**
 * What is wrong with a configuration, as text: each problem with its place, and with the source line
 * where that is harmless. Redaction is an allowlist: a line is shown only if it is `KEY: VALUE`, or
 * `SECTION: { KEY: VALUE, … }`, with keys that the schema calls harmless, a value only if it follows such a key
 * or is in a line that is shown, and a path only up to the first key that is neither a plain name nor a
 * branch id.
 */
import { z } from 'zod';
import { REDACTED } from '../base/secret.ts';
import { innerType, metaOf } from './values.ts';
import type { Path, Problem, YamlFile } from './yaml-file.ts';

const MAX_SHOWN_LINE_LENGTH = 160;
/** A shorter text occurs in others by chance. */
const MIN_SECRET_LENGTH = 4;

/**
 * `KEY: VALUE # comment`, alone on its line, perhaps after the `-` of a list: the text before the comment,
 * the key and the value. What looks like a comment in a quoted value is cut off, too.
 */
const LINE = /^([\s-]*([\w-]+)\s*:(?:\s+(.*?))?)\s*(?:\s#.*)?$/;
/**
 * A value that may be shown after a harmless key:
 * - text in quotes, without an escape;
 * - a list on one line, of words, paths and patterns, quoted or not;
 * - plain text, without a key (`: `), and not an alias, an anchor, a tag or the head of a block.
 * None has the `@` or `?` of a URL with a password or query, nor the braces of `${NAME}` or a mapping.
 */
const HARMLESS_VALUE = new RegExp(
  [
    /^"[^"\\@?{}]*"$/,
    /^'[^'\\@?{}]*'$/,
    /^\[[\w\s,."'*/-]*\]$/,
    /^[^\s"'&*!|>%@`{}[\],#?](?:(?!:\s)[^"'@?#&{}\\])*$/,
  ]
    .map(({ source }) => source)
    .join('|'),
);
/**
 * A mapping on one line, perhaps after the `-` of a list and a key, before a comment: the text before the
 * comment, the key, and the pairs.
 */
const FLOW_LINE = /^([\s-]*(?:([\w-]+)\s*:\s+)?\{([^{}]*)\})\s*(?:\s#.*)?$/;
/** The next pair of such a mapping: its key and its value, which may be in quotes or a list on one line. */
const FLOW_PAIR = /\s*([\w-]+)\s*:\s+("[^"]*"|'[^']*'|\[[^\]]*\]|[^\s"'[\],][^,[\]]*?)\s*(?:,|$)/y;

/** An id of a branch, a key of `branches`. */
const BRANCH_ID = /^\d{1,9}$/;
/** An unknown key that may be shown: up to four words, so that it is no secret in the place of a key. */
const PLAIN_NAME = /^[a-z]{1,16}(?:_[a-z]{1,16}){0,3}$/i;

/** Formats problems of the files that a schema describes. */
export class ProblemFormatter {
  readonly #secrets = new Set<string>();
  /** Keys of the schema, and whether their values are harmless. */
  readonly #keys = new Map<string, boolean>();
  /** Keys of the schema whose value is a mapping with keys of the schema. */
  readonly #sections = new Set<string>();

  constructor(schema: z.ZodType) {
    this.#addKeys(schema);
  }

  #addKeys(type: z.ZodType): void {
    const inner = innerType(type);
    if (inner instanceof z.ZodArray) {
      this.#addKeys(inner.element as z.ZodType);
    } else if (inner instanceof z.ZodObject) {
      for (const [key, value] of Object.entries<z.ZodType>(inner.shape)) {
        const isHarmless = metaOf(value).harmless === true;
        this.#keys.set(key, isHarmless && this.#keys.get(key) !== false);
        if (innerType(value) instanceof z.ZodObject) {
          this.#sections.add(key);
        }
        this.#addKeys(value);
      }
    }
  }

  /** Adds a text that is not shown anywhere, not even as the value of a harmless key. */
  addSecret(text: string): void {
    if (text.length >= MIN_SECRET_LENGTH) {
      this.#secrets.add(text);
    }
  }

  /** Returns true for a text that is not shown anywhere. */
  isSecret(value: unknown): boolean {
    return this.#secrets.has(value as string);
  }

  /**
   * Returns `FILE:LINE:COLUMN: PATH: MESSAGE`, and where it is harmless the source line with a caret; for a file
   * that cannot be read, `FILE: MESSAGE`.
   */
  format({ file, offset, path, message }: Problem): string {
    if (!file.isRead) {
      return `${file.name}: ${this.#redact(message)}`;
    }
    const { line, column, start, text } = file.position(offset);
    const headline = `${this.#pathText(file, path)}: ${message}`;
    const place = `${file.name}:${line}:${column}: ${this.#redact(headline)}`;
    const shown = this.#harmlessText(text);
    if (shown === undefined || this.#redact(shown) !== shown) {
      return place;
    }
    const padding = shown.slice(0, offset - start).replaceAll(/[^\t]/gu, ' ');
    return `${place}\n  ${shown}\n  ${padding}^`;
  }

  /** Returns the scalar at a path as it is written; undefined if it must not be shown. */
  quote(file: YamlFile, path: Path): string | undefined {
    const [start, end] = file.locate(path);
    const line = file.position(start);
    const shown = this.#harmlessText(line.text);
    const isWhole = shown !== undefined && end <= line.start + shown.length;
    return isWhole || this.#isHarmlessPair(file, path) ? file.text.slice(start, end) : undefined;
  }

  /** Returns true if a value follows a harmless key, as in `{ KEY: VALUE }`. An alias does not. */
  #isHarmlessPair(file: YamlFile, path: Path): boolean {
    const [start, end] = file.locate(path);
    const [, keyEnd] = file.locate(path, 'key');
    const value = file.text.slice(start, end);
    return (
      this.#keys.get(String(path.at(-1))) === true &&
      /^:[ \t]+$/.test(file.text.slice(keyEnd, start)) &&
      value.length <= MAX_SHOWN_LINE_LENGTH &&
      HARMLESS_VALUE.test(value) &&
      !/\p{C}/u.test(value)
    );
  }

  /** Returns a line without its comment; undefined if it must not be shown. */
  #harmlessText(line: string): string | undefined {
    if (line.length > MAX_SHOWN_LINE_LENGTH) {
      return undefined;
    }
    const [, flow, outer, pairs = ''] = FLOW_LINE.exec(line) ?? [];
    const [, text = '', key = '', value = ''] = LINE.exec(line) ?? [];
    const isHarmless =
      flow === undefined
        ? this.#keys.has(key) && (value === '' || this.#isHarmlessValue(key, value))
        : (outer === undefined || this.#sections.has(outer) || BRANCH_ID.test(outer)) &&
          this.#areHarmlessPairs(pairs);
    const shown = flow ?? text;
    return isHarmless && !/[^\P{C}\t]/u.test(shown) ? shown : undefined;
  }

  #areHarmlessPairs(pairs: string): boolean {
    const pattern = new RegExp(FLOW_PAIR);
    while (pattern.lastIndex < pairs.length) {
      const [, key = '', value = ''] = pattern.exec(pairs) ?? [];
      if (!this.#isHarmlessValue(key, value)) {
        return false;
      }
    }
    return true;
  }

  #isHarmlessValue(key: string, value: string): boolean {
    return this.#keys.get(key) === true && HARMLESS_VALUE.test(value);
  }

  #redact(text: string): string {
    return [...this.#secrets].reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
  }

  /** Returns a path such as `customers[0].capacity`, up to the first key that must not be shown. */
  #pathText(file: YamlFile, path: Path): string {
    const end = path.findIndex(
      (step, i) =>
        typeof step === 'string' &&
        !this.#keys.has(step) &&
        !isShownKey(file, path.slice(0, i + 1), step),
    );
    const text = path
      .slice(0, end === -1 ? undefined : end)
      .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
      .join('');
    return text === '' ? '(file)' : text.replace(/^\./, '');
  }
}

/** Returns true for a key that may be shown. One from the environment may be a secret. */
function isShownKey(file: YamlFile, path: Path, key: string): boolean {
  const isBranchId = path.at(-2) === 'branches' && BRANCH_ID.test(key);
  return (isBranchId || PLAIN_NAME.test(key)) && file.textAt(path, 'key').includes(key);
}
