/**
 * What is wrong with a configuration, as text: each problem with its place, and with the source line
 * where that is harmless. Redaction is an allowlist: a value or a line is shown only if it is `KEY: VALUE`
 * with a key that the schema calls harmless.
 */
import { isMap, isScalar, isSeq } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../base/errors.ts';
import { REDACTED } from '../base/secret.ts';
import { suggest } from './suggest.ts';
import type { Fault, ValueMeta } from './values.ts';
import type { Path, Range, YamlSource } from './yaml-source.ts';
import { innerType } from './yaml-values.ts';

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
/** A key that is an ordinary word or number: others may be a secret in the wrong place. */
const WORD = /^(?:[a-z]+(?:_[a-z]+)*|\d{1,10})$/i;
const MAX_WORD_LENGTH = 32;

interface Problem {
  readonly source: YamlSource;
  readonly range: Range;
  readonly path: Path;
  readonly message: string;
}

interface Key {
  isHarmless: boolean;
  /** The parts of the configuration that have this key. */
  readonly sections: string[];
}

export class Problems {
  readonly #problems: Problem[] = [];
  readonly #warnings: Problem[] = [];
  readonly #sources: YamlSource[] = [];
  readonly #secrets = new Set<string>();
  readonly #reported = new WeakMap<YamlSource, Set<string>>();
  readonly #keys = new Map<string, Key>();

  /** `schema` is that of the main file: the keys that it has are known. */
  constructor(schema: z.ZodType) {
    collectKeys(schema, 'the top level', this.#keys);
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
    return this.#reported.get(source)?.has(path.join('\0')) ?? false;
  }

  add(
    source: YamlSource,
    path: Path,
    message: string,
    range = source.locate(path),
    shownPath = path,
  ): void {
    this.#problems.push({ source, path: shownPath, message, range });
    this.#markReported(source, path);
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

  #addIssue(source: YamlSource, schema: z.ZodType, issue: z.core.$ZodIssue): void {
    const type = typeAt(schema, issue.path);
    if (issue.code === 'invalid_key') {
      const parent = innerType(typeAt(schema, issue.path.slice(0, -1)));
      const expected = metaOf(
        parent instanceof z.ZodRecord ? (parent.keyType as z.ZodType) : type,
      ).expected;
      const [cause] = issue.issues;
      const fault: unknown = cause?.code === 'custom' ? cause.params : undefined;
      const { got = 'another key' } = (fault ?? {}) as Fault;
      const range = source.locate(issue.path, 'key');
      this.add(source, issue.path, `expected ${expected}, got ${got}`, range);
      return;
    }
    const { expected = 'another value', unsupported } = metaOf(type);
    if (unsupported !== undefined) {
      this.add(
        source,
        issue.path,
        `not supported: ${unsupported}`,
        source.locate(issue.path, 'key'),
      );
      return;
    }
    const fault: unknown = issue.code === 'custom' ? issue.params : undefined;
    const { got = this.#found(source, issue), hint } = (fault ?? {}) as Fault;
    const isQuotable = hint !== undefined && this.quote(source, issue.path) !== undefined;
    const found = isQuotable ? `${got} (${hint})` : got;
    this.add(source, issue.path, `expected ${expected}, got ${found}`);
  }

  #addUnknownKey(source: YamlSource, schema: z.ZodType, path: Path, key: string): void {
    const type = innerType(typeAt(schema, path));
    const known = type instanceof z.ZodObject ? Object.keys(type.shape) : [];
    const sections = this.#keys.get(key)?.sections ?? [];
    const nearest = sections.length > 0 ? undefined : suggest(key, known);
    const isMisplaced = !known.some((other) => source.has([...path, other]));
    const at = [...path, key];
    const message =
      sections.length > 0
        ? `unknown key here, it belongs to ${sections.join(' or ')}`
        : nearest === undefined
          ? `unknown key, expected one of ${known.join(', ')}`
          : `unknown key, did you mean ${nearest}?`;
    const isShown = sections.length > 0 || nearest !== undefined || (!isMisplaced && isWord(key));
    this.add(source, at, message, source.locate(at, 'key'), isShown ? at : path);
    if (nearest !== undefined) {
      this.#markReported(source, [...path, nearest]);
    }
  }

  /** Completes "got …". */
  #found(source: YamlSource, issue: z.core.$ZodIssue): string {
    const node = source.resolve(source.nodeAt(issue.path));
    if (isMap(node) || isSeq(node)) {
      const kind = isMap(node) ? 'mapping' : 'list';
      return node.items.length === 0 ? `an empty ${kind}` : `a ${kind}`;
    }
    if (!isScalar(node) || node.value === null) {
      return source.has(issue.path) ? 'an empty value' : 'nothing';
    }
    const { value } = node;
    if (issue.code === 'invalid_type' && typeof value !== 'number') {
      return typeof value === 'boolean' ? 'a boolean' : 'a string';
    }
    if (issue.code === 'too_small' && issue.origin === 'string') {
      return 'an empty string';
    }
    if (issue.code === 'too_big' && issue.origin === 'string') {
      return `more than ${issue.maximum} characters`;
    }
    const quoted = this.quote(source, issue.path);
    return quoted ?? (typeof value === 'number' ? 'another number' : 'another value');
  }

  /** The scalar at a path as it is written; undefined if it must not be shown. */
  quote(source: YamlSource, path: Path): string | undefined {
    const { start, end } = source.locate(path);
    const line = source.lineAt(start);
    const written = source.text.slice(start, end);
    const shown = this.#harmlessText(line.text);
    const isWhole = shown !== undefined && end <= line.start + shown.length;
    return isWhole && written.length <= MAX_QUOTED_LENGTH && isScalar(source.nodeAt(path))
      ? written
      : undefined;
  }

  /** A line without its comment; undefined if it must not be shown. */
  #harmlessText(line: string): string | undefined {
    const [, text = '', name = '', value = ''] =
      line.length > MAX_SHOWN_LINE_LENGTH ? [] : (LINE.exec(line) ?? []);
    const key = this.#keys.get(name);
    const isHarmless =
      key !== undefined &&
      (value === '' || (key.isHarmless && HARMLESS_VALUE.test(value))) &&
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

  #markReported(source: YamlSource, path: Path): void {
    const paths = this.#reported.get(source) ?? new Set();
    this.#reported.set(source, paths.add(path.join('\0')));
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

  /** `FILE:LINE:COLUMN: PATH: MESSAGE`, and where it is harmless the source line with carets. */
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
    const marked = shown.slice(range.start - start, range.end - start);
    return `${text}\n  ${shown}\n  ${padding}${'^'.repeat(Math.max(1, Array.from(marked).length))}`;
  }

  /** `customers[0].labels.region`, up to the first key that must not be shown. */
  #pathText(source: YamlSource, path: Path): string {
    let text = '';
    for (const step of source.written(path)) {
      if (typeof step === 'number') {
        text += `[${step}]`;
        continue;
      }
      const key = String(step);
      const isShown =
        this.#keys.has(key) ||
        isWord(key) ||
        /^\(\w+\)$/.test(key) ||
        suggest(key, this.#keys.keys()) !== undefined;
      if (!isShown) {
        break;
      }
      text +=
        (text === '' ? '' : '.') +
        (/^[\w()-]+$/.test(key) ? key : JSON.stringify(key.replaceAll(/\p{C}/gu, '\uFFFD')));
    }
    return text === '' ? '(top level)' : text;
  }
}

function isWord(key: string): boolean {
  return key.length <= MAX_WORD_LENGTH && WORD.test(key);
}

function collectKeys(type: z.ZodType, section: string, keys: Map<string, Key>): void {
  const inner = innerType(type);
  if (inner instanceof z.ZodArray) {
    collectKeys(inner.element as z.ZodType, section, keys);
  }
  for (const [name, value] of Object.entries<z.ZodType>(
    inner instanceof z.ZodObject ? inner.shape : {},
  )) {
    const isHarmless = metaOf(value).harmless === true;
    const key = keys.get(name);
    keys.set(name, {
      isHarmless: isHarmless && key?.isHarmless !== false,
      sections: [...(key?.sections ?? []), section],
    });
    collectKeys(value, name, keys);
  }
}

/** What is known of a type, defaults and optionality left out. */
export function metaOf(type: z.ZodType): ValueMeta & { readonly description?: string | undefined } {
  return { ...innerType(type).meta(), ...type.meta() };
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
