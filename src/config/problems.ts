/**
 * What is wrong with a configuration, as text: each problem with its place, and with the source line
 * where that is harmless. Redaction is an allowlist: a line is shown only if it is `KEY: VALUE` with a key
 * that the schema calls harmless, a value only if it follows such a key or is in a line that is shown, and
 * a path only up to the first key that is no plain name.
 */
import { z } from 'zod';
import { REDACTED } from '../base/secret.ts';
import { innerType, metaOf } from './values.ts';
import type { Path, Problem, YamlFile } from './yaml-file.ts';

const MAX_SHOWN_LINE_LENGTH = 160;
/** A shorter text occurs in others by chance. */
const MIN_SECRET_LENGTH = 4;

/** `KEY: VALUE # comment`, alone on its line: the text before the comment, the key and the value. */
const LINE = /^([\s-]*([\w-]+)\s*:(?:\s+(.*?))?)\s*(?:\s#.*)?$/;
/** Excluded are URLs with credentials or a query, nested mappings, aliases, and what spans lines. */
const HARMLESS_VALUE =
  /^(?:"[^"\\@?{}]*"|'[^'\\@?{}]*'|\[[\w\s,."'*/-]*\]|[^\s"'&*!|>%@`{}[\],#?](?:(?!:\s)[^"'@?#&{}\\])*)$/;

/** An unknown key, but not a secret in the place of a key. */
const PLAIN_NAME = /^[a-z]{1,16}(?:_[a-z]{1,16}){0,3}$/i;

export class ProblemFormatter {
  readonly #secrets = new Set<string>();
  /** The known keys, and whether their values are harmless. */
  readonly #keys = new Map<string, boolean>();

  /** The keys of the schema are known. */
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
        this.#addKeys(value);
      }
    }
  }

  /** A text that is not shown anywhere, not even as the value of a harmless key. */
  addSecret(text: string): void {
    if (text.length >= MIN_SECRET_LENGTH) {
      this.#secrets.add(text);
    }
  }

  /** `FILE:LINE:COLUMN: PATH: MESSAGE`, and where it is harmless the source line with a caret. */
  format({ file, offset, path, message }: Problem): string {
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

  /** Whether a value follows a harmless key, as in `{ KEY: VALUE }`. An alias does not: it is elsewhere. */
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

  /** A line without its comment; undefined if it must not be shown. */
  #harmlessText(line: string): string | undefined {
    const [, text = '', key = '', value = ''] =
      line.length > MAX_SHOWN_LINE_LENGTH ? [] : (LINE.exec(line) ?? []);
    const isHarmless =
      this.#keys.has(key) &&
      (value === '' || (this.#keys.get(key) === true && HARMLESS_VALUE.test(value))) &&
      !/[^\P{C}\t]/u.test(text);
    return isHarmless ? text : undefined;
  }

  #redact(text: string): string {
    return [...this.#secrets].reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
  }

  /** `customers[0].capacity`, up to the first key that is neither known nor a plain name. */
  #pathText(file: YamlFile, path: Path): string {
    const end = path.findIndex(
      (step, i) =>
        typeof step === 'string' &&
        !this.#keys.has(step) &&
        !isPlainKey(file, path.slice(0, i + 1), step),
    );
    const text = path
      .slice(0, end === -1 ? undefined : end)
      .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
      .join('');
    return text === '' ? '(file)' : text.replace(/^\./, '');
  }
}

/** A key from the environment may be a secret. */
function isPlainKey(file: YamlFile, path: Path, key: string): boolean {
  return PLAIN_NAME.test(key) && file.textAt(path, 'key').includes(key);
}
