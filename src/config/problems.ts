/**
 * What is wrong with a configuration, as text: each problem with its place, and with the source line
 * where that is harmless. Redaction is an allowlist: a line is shown only if it is `KEY: VALUE`, or
 * `SECTION: { KEY: VALUE, … }`, with keys that the schema calls harmless, a value only if its key is one of
 * these, and a path only up to the first key that is neither a plain name nor a branch id.
 */
import { z } from 'zod';
import { REDACTED } from '../base/secret.ts';
import { isMapping } from './values.ts';
import type { Path, Problem, YamlFile } from './yaml-file.ts';

const MAX_SHOWN_LENGTH = 160;
const HIDDEN = '<secret>';
/** A shorter text occurs in others by chance. */
const MIN_SECRET_LENGTH = 4;

/**
 * Returns the pattern of a value that may be shown after a harmless key:
 * - text in quotes, without an escape;
 * - a list on one line, of words, paths and patterns, quoted or not;
 * - plain text, without a key (`: `) and the other characters, and not an alias, an anchor, a tag or a block.
 * None has the `@` or `?` of a URL with a password or query, nor the braces of `${NAME}` or a mapping.
 */
function harmlessValue(others = ''): string {
  const list = String.raw`\[[\w\s,."'*/-]*\]`;
  const plain = String.raw`[^\s"'&*!|>%@\x60{}[\],#?](?:(?!:\s)[^"'@?#&{}\\${others}])*`;
  // Plain text has the spaces after it, so that there is one way to match them.
  return String.raw`(?:(?:"[^"\\@?{}]*"|'[^'\\@?{}]*'|${list})\s*|${plain})`;
}

const HARMLESS_VALUE = new RegExp(`^${harmlessValue()}$`);
/** An unknown key that may be shown: up to four words, so that it is no secret in the place of a key. */
const PLAIN_NAME = /^[a-z]{1,16}(?:_[a-z]{1,16}){0,3}$/i;

/** A key of the schema: that of a section, of a harmless value, or another. */
type KeyKind = 'section' | 'harmless' | 'hidden';

/** What may be shown of the files that the schemas describe. */
export class SchemaKeys {
  readonly kinds: ReadonlyMap<string, KeyKind>;
  /** Matches a line that may be shown, up to its comment. */
  readonly line: RegExp;

  constructor(...schemas: readonly z.ZodType[]) {
    const byPath = new Map<string, readonly [key: string, kind: KeyKind]>();
    const options: z.core.ToJSONSchemaParams = {
      unrepresentable: 'any',
      // Called from the inside of each type to its outside.
      override({ jsonSchema: { properties, ...meta }, path }) {
        const kind = properties ? 'section' : meta['harmless'] === true ? 'harmless' : 'hidden';
        if (path.at(-2) === 'properties') {
          byPath.set(path.join(), [String(path.at(-1)), kind]);
        }
      },
    };
    schemas.forEach((schema) => z.toJSONSchema(schema, options));
    const kinds = new Map<string, KeyKind>();
    for (const [key, kind] of byPath.values()) {
      kinds.set(key, (kinds.get(key) ?? kind) === kind ? kind : 'hidden');
    }
    const keys = Map.groupBy(kinds.keys(), (key) => kinds.get(key));
    const [harmless, section] = [keys.get('harmless')?.join('|'), keys.get('section')?.join('|')];
    const pair = String.raw`(?:${harmless})\s*:\s+${harmlessValue(String.raw`,[\]`)}`;
    const mapping = String.raw`(?:(?:${section}|\d{1,9})\s*:\s+)?\{\s*(?:${pair}(?:,\s*${pair})*)?\}`;
    const known = [...kinds.keys()].join('|');
    const alone = String.raw`(?:${known})\s*:|(?:${harmless})\s*:\s+${harmlessValue()}`;
    this.kinds = kinds;
    this.line = new RegExp(String.raw`^[\s-]*(?:${alone}|${mapping})(?=\s*(?:\s#.*)?$)`);
  }
}

/** Formats problems of the files of one load. */
export class ProblemFormatter {
  readonly #secrets = new Set<string>();
  readonly #keys: SchemaKeys;

  constructor(keys: SchemaKeys) {
    this.#keys = keys;
  }

  /** Adds a text that is not shown anywhere, not even as the value of a harmless key. */
  addSecret(text: string): void {
    if (text.length >= MIN_SECRET_LENGTH) {
      this.#secrets.add(text);
    }
  }

  /** Returns true if the schema calls the values of the innermost of its keys harmless. */
  #isHarmless(path: Path): boolean {
    const key = path.findLast((step) => this.#keys.kinds.has(String(step)));
    return this.#keys.kinds.get(String(key)) === 'harmless';
  }

  /** Returns a value of a file, with `<secret>` for what may be one, and for what is from the environment. */
  show(value: unknown, file: YamlFile, path: Path): unknown {
    if (isMapping(value)) {
      const shown = Object.entries(value).map(([key, inner]) => [
        file.isWritten([...path, key], 'key') && !this.#secrets.has(key) ? key : HIDDEN,
        this.show(inner, file, [...path, key]),
      ]);
      return Object.fromEntries(shown);
    }
    const isShown = this.#isHarmless(path) && file.isWritten(path);
    return value === undefined || (isShown && !this.#secrets.has(value as string)) ? value : HIDDEN;
  }

  /** Returns `FILE:LINE:COLUMN: PATH: MESSAGE`, and where it is harmless the source line with a caret. */
  format({ file, offset, path, message }: Problem): string {
    const { line, column, start, text } = file.position(offset);
    const headline = `${this.#pathText(file, path)}: ${message}`;
    const place = `${file.name}:${line}:${column}: ${this.#redact(headline)}`;
    const shown = isShort(text.replaceAll('\t', ' '))
      ? this.#keys.line.exec(text)?.[0].trimEnd()
      : undefined;
    if (shown === undefined || this.#redact(shown) !== shown) {
      return place;
    }
    const padding = shown.slice(0, offset - start).replaceAll(/[^\t]/gu, ' ');
    return `${place}\n  ${shown}\n  ${padding}^`;
  }

  /** Returns the scalar at a path as it is written; undefined if it must not be shown. */
  quote(file: YamlFile, path: Path): string | undefined {
    const text = this.#isHarmless(path) ? file.sourceAt(path) : undefined;
    return text !== undefined && HARMLESS_VALUE.test(text) && isShort(text) ? text : undefined;
  }

  #redact(text: string): string {
    return [...this.#secrets].reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
  }

  /** Returns a path such as `customers[0].capacity`, up to the first key that must not be shown. */
  #pathText(file: YamlFile, path: Path): string {
    let text = '';
    for (const [i, step] of path.entries()) {
      const key = String(step);
      const isId = path[i - 1] === 'branches' && /^\d{1,9}$/.test(key);
      const isPlain = (isId || PLAIN_NAME.test(key)) && file.isWritten(path.slice(0, i + 1), 'key');
      if (typeof step !== 'number' && !this.#keys.kinds.has(key) && !isPlain) {
        break;
      }
      text += typeof step === 'number' ? `[${step}]` : `.${key}`;
    }
    return text.replace(/^\./, '') || '(file)';
  }
}

/** Returns false also for a text with control characters, or more than a line. */
function isShort(text: string): boolean {
  return text.length <= MAX_SHOWN_LENGTH && !/\p{C}/u.test(text);
}
