/**
 * What is wrong with a configuration, as text: each problem with its place, and with the source line
 * where that is harmless. Redaction is an allowlist: a value or a line is shown only if it is `KEY: VALUE`
 * with a key that the schema calls harmless, and a path only up to the first key that is no plain name.
 */
import { isMap, isScalar, isSeq } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../base/errors.ts';
import { REDACTED } from '../base/secret.ts';
import { suggest } from './suggest.ts';
import { innerType, metaOf } from './values.ts';
import type { Fault } from './values.ts';
import type { Path, Range, YamlSource } from './yaml-source.ts';

const MAX_SHOWN_PROBLEMS = 1_000;
const MAX_SHOWN_LINE_LENGTH = 160;
const MAX_QUOTED_LENGTH = 80;
/** A shorter text occurs in others by chance. */
const MIN_SECRET_LENGTH = 4;

/** `KEY: VALUE # comment`, alone on its line: the text before the comment, the key and the value. */
const LINE = /^([\s-]*([\w-]+)\s*:(?:\s+(.*?))?)\s*(?:\s#.*)?$/;
/** Excluded are URLs with credentials or a query, nested mappings, aliases, and what spans lines. */
const HARMLESS_VALUE =
  /^(?:"[^"\\@?{}]*"|'[^'\\@?{}]*'|\[[\w\s,."'*/-]*\]|[^\s"'&*!|>%@`{}[\],#?](?:(?!:\s)[^"'@?#&{}\\])*)$/;

/** An unknown key, but not a secret in the place of a key. */
const PLAIN_NAME = /^[a-z]{1,16}(?:_[a-z]{1,16}){0,3}$/i;

/** What a problem with a file as a whole is about, in place of keys. */
export const WHOLE_FILE = '(file)';
export const YAML_SYNTAX = '(YAML)';

interface Problem {
  readonly source: YamlSource;
  readonly range: Range;
  readonly path: Path;
  readonly message: string;
}

export class Problems {
  readonly #problems: Problem[] = [];
  readonly #warnings: Problem[] = [];
  readonly #sources: YamlSource[] = [];
  readonly #secrets = new Set<string>();
  readonly #reported = new Set<string>();
  /** The known keys, and whether their values are harmless. */
  readonly #keys = new Map([
    [WHOLE_FILE, false],
    [YAML_SYNTAX, false],
  ]);

  /** `schema` is that of the main file: the keys that it has are known. */
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

  get count(): number {
    return this.#problems.length;
  }

  /** Problems are shown in the order in which the files were added. */
  addSource(source: YamlSource): void {
    this.#sources.push(source);
  }

  /** A text that is not shown anywhere, not even as the value of a harmless key. */
  addSecret(text: string): void {
    if (text.length >= MIN_SECRET_LENGTH) {
      this.#secrets.add(text);
    }
  }

  /** Whether there is a problem at a path. */
  has(source: YamlSource, path: Path): boolean {
    return this.#reported.has(idOf(source, path));
  }

  add(source: YamlSource, path: Path, message: string, range = source.locate(path)): void {
    this.#problems.push({ source, path, message, range });
    this.#reported.add(idOf(source, path));
  }

  warn(source: YamlSource, path: Path, message: string): void {
    this.#warnings.push({ source, path, message, range: source.locate(path) });
  }

  /** The problems that zod found in the values of a file. */
  addIssues(source: YamlSource, schema: z.ZodType, issues: readonly z.core.$ZodIssue[]): void {
    // Unknown keys first: a key that was probably meant is not missing.
    for (const issue of issues) {
      if (issue.code === 'unrecognized_keys') {
        issue.keys.forEach((key) => this.#addUnknownKey(source, schema, issue.path, key));
      }
    }
    for (const issue of issues) {
      if (issue.code !== 'unrecognized_keys' && !this.has(source, issue.path)) {
        this.#addIssue(source, schema, issue);
      }
    }
  }

  #addUnknownKey(source: YamlSource, schema: z.ZodType, path: Path, key: string): void {
    const type = innerType(typeAt(schema, path));
    const known = type instanceof z.ZodObject ? Object.keys(type.shape) : [];
    const nearest = this.#keys.has(key) ? undefined : suggest(key, known);
    const hint =
      nearest === undefined
        ? `, expected one of ${known.join(', ')}`
        : `, did you mean ${nearest}?`;
    const at = [...path, key];
    this.add(source, at, `unknown key${hint}`, source.locate(at, 'key'));
    if (nearest !== undefined) {
      this.#reported.add(idOf(source, [...path, nearest]));
    }
  }

  #addIssue(source: YamlSource, schema: z.ZodType, issue: z.core.$ZodIssue): void {
    const isKey = issue.code === 'invalid_key';
    const parent = innerType(typeAt(schema, issue.path.slice(0, -1)));
    const type =
      isKey && parent instanceof z.ZodRecord
        ? (parent.keyType as z.ZodType)
        : typeAt(schema, issue.path);
    const fault: Fault = issue.code === 'custom' ? { ...issue.params } : {};
    const got = fault.got ?? (isKey ? 'another key' : this.#found(source, issue));
    const isHintShown = fault.hint !== undefined && this.quote(source, issue.path) !== undefined;
    const message = `expected ${metaOf(type).expected}, got ${got}${isHintShown ? ` (${fault.hint})` : ''}`;
    this.add(source, issue.path, message, source.locate(issue.path, isKey ? 'key' : 'value'));
  }

  /** Completes "got …". */
  #found(source: YamlSource, issue: z.core.$ZodIssue): string {
    const node = source.resolve(source.nodeAt(issue.path));
    if (isMap(node)) {
      return 'a mapping';
    }
    if (isSeq(node)) {
      return node.items.length === 0 ? 'an empty list' : 'a list';
    }
    if (!isScalar(node) || node.value === null) {
      return source.has(issue.path) ? 'an empty value' : 'nothing';
    }
    if (issue.code === 'invalid_type' && typeof node.value !== 'number') {
      return typeof node.value === 'boolean' ? 'a boolean' : 'a string';
    }
    if (issue.code === 'too_big' && issue.origin === 'string') {
      return `more than ${issue.maximum} characters`;
    }
    return this.quote(source, issue.path) ?? 'another value';
  }

  /** The scalar at a path as it is written; undefined if it must not be shown. */
  quote(source: YamlSource, path: Path): string | undefined {
    const { start, end } = source.locate(path);
    const line = source.lineAt(start);
    const shown = this.#harmlessText(line.text);
    const isWhole = shown !== undefined && end <= line.start + shown.length;
    return isWhole && end - start <= MAX_QUOTED_LENGTH && isScalar(source.nodeAt(path))
      ? source.text.slice(start, end)
      : undefined;
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
    let redacted = text;
    for (const secret of this.#secrets) {
      redacted = redacted.replaceAll(secret, REDACTED);
    }
    return redacted;
  }

  /** Throws a ConfigError with all problems, in the order of files and lines. */
  throwIfAny(): void {
    if (this.#problems.length === 0) {
      return;
    }
    const sorted = this.#sorted(this.#problems);
    const lines = sorted.slice(0, MAX_SHOWN_PROBLEMS).map((problem) => this.#describe(problem));
    if (sorted.length > MAX_SHOWN_PROBLEMS) {
      lines.push(`and ${sorted.length - MAX_SHOWN_PROBLEMS} more problems`);
    }
    throw new ConfigError(lines.join('\n'), sorted.length);
  }

  /** In the order of files and lines; the same warning at several places is one. */
  get warnings(): readonly string[] {
    const byMessage = Map.groupBy(this.#sorted(this.#warnings), ({ message }) => message);
    return Array.from(byMessage.values(), ([first, ...others]) => {
      const more = others.length === 0 ? '' : ` (and ${others.length} more of these)`;
      return first === undefined ? '' : this.#describe({ ...first, message: first.message + more });
    });
  }

  #sorted(problems: readonly Problem[]): readonly Problem[] {
    const order = new Map(this.#sources.map((source, i) => [source, i]));
    return problems.toSorted(
      (a, b) =>
        (order.get(a.source) ?? 0) - (order.get(b.source) ?? 0) || a.range.start - b.range.start,
    );
  }

  /** `FILE:LINE:COLUMN: PATH: MESSAGE`, and where it is harmless the source line with a caret. */
  #describe({ source, range, path, message }: Problem): string {
    const { line, column } = source.position(range.start);
    const where = `${source.name}:${line}:${column}`;
    const text = `${where}: ${this.#redact(`${this.#pathText(source, path)}: ${message}`)}`;
    const { start, text: lineText } = source.lineAt(range.start);
    const shown = this.#harmlessText(lineText);
    if (shown === undefined || this.#redact(shown) !== shown) {
      return text;
    }
    const padding = shown.slice(0, range.start - start).replaceAll(/[^\t]/gu, ' ');
    return `${text}\n  ${shown}\n  ${padding}^`;
  }

  /** `customers[0].capacity`, up to the first key that is neither known nor a plain name. */
  #pathText(source: YamlSource, path: Path): string {
    let text = '';
    for (const step of source.written(path)) {
      const key = String(step);
      if (typeof step === 'number') {
        text += `[${step}]`;
      } else if (this.#keys.has(key) || PLAIN_NAME.test(key) || isMisspelt(key, this.#keys)) {
        text += text === '' ? key : `.${key}`;
      } else {
        break;
      }
    }
    return text === '' ? '(top level)' : text;
  }
}

function isMisspelt(key: string, known: ReadonlyMap<string, boolean>): boolean {
  return /^[\w-]+$/.test(key) && suggest(key, known.keys()) !== undefined;
}

function idOf(source: YamlSource, path: Path): string {
  return [source.path, ...path].join('\0');
}

/** The type of the value at a path; that of the last known part where the path leads further. */
function typeAt(schema: z.ZodType, path: Path): z.ZodType {
  return path.reduce<z.ZodType>((type, step) => {
    const inner = innerType(type);
    const next =
      inner instanceof z.ZodArray
        ? inner.element
        : inner instanceof z.ZodRecord
          ? inner.valueType
          : inner instanceof z.ZodObject
            ? inner.shape[String(step)]
            : undefined;
    return (next as z.ZodType | undefined) ?? type;
  }, schema);
}
