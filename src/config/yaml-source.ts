/** A YAML file, and where in its text each value is: maps a path to FILE:LINE:COLUMN. */
import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
} from 'yaml';
import type { Document, Node, Pair } from 'yaml';

export type Path = readonly PropertyKey[];

/** Offsets into the text; `end` is exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

interface Found {
  readonly exists: boolean;
  /** The path with the keys as they are written. */
  readonly written: Path;
  readonly node: unknown;
  readonly key: Range;
  readonly value: Range;
}

interface SyntaxProblem {
  readonly range: Range;
  /** Quotes nothing from the file. */
  readonly message: string;
}

/** A syntax error often causes others. */
const MAX_SYNTAX_PROBLEMS = 10;

/** By code: in place of the parser's messages that quote the file or are for its developers. */
const MESSAGES: Readonly<Record<string, string>> = {
  BAD_COLLECTION_TYPE: 'unknown tag; put a value that begins with ! in quotes',
  BAD_DIRECTIVE: 'unknown directive; remove the line that begins with %',
  BAD_DQ_ESCAPE: 'invalid escape sequence; write \\\\ for a backslash, or use single quotes',
  MULTIPLE_DOCS: 'expected one document, got a second one; remove the line --- or ...',
  NON_STRING_KEY: 'expected a plain key, got a list, mapping or alias; quote a value with { or [',
  TAG_RESOLVE_FAILED: 'unknown tag; put a value that begins with ! in quotes',
  UNEXPECTED_TOKEN: 'unexpected text; check the brackets and quotes before it, or quote the value',
};

export class YamlSource {
  /** As the user named it. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  readonly syntaxProblems: readonly SyntaxProblem[];
  /** Undefined after a syntax problem and in an empty file. */
  readonly contents: Node | undefined;
  readonly #anchors = new Map<string, Node>();
  readonly #lines = new LineCounter();

  constructor(name: string, path: string, text: string) {
    this.name = name;
    this.path = path;
    this.text = text;
    for (let start = 0; start >= 0; start = text.indexOf('\n', start) + 1 || -1) {
      this.#lines.addNewLine(start);
    }
    const { contents, problems } = parse(text);
    this.contents =
      problems.length > 0 || contents === null || isEmpty(contents) ? undefined : contents;
    this.syntaxProblems = problems;
  }

  /**
   * The node itself, or that which an alias stands for: the last one with its anchor that was resolved
   * before. An alias without an anchor is returned as it is.
   */
  resolve(node: unknown): unknown {
    if (isAlias(node)) {
      return this.#anchors.get(node.source) ?? node;
    }
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) {
      this.#anchors.set(node.anchor, node);
    }
    return node;
  }

  /** Where the value at a path is, or its key. What is missing is where its mapping begins. */
  locate(path: Path, part: 'key' | 'value' = 'value'): Range {
    return this.#find(path)[part];
  }

  /** The text of the value at a path, as it is written. */
  textAt(path: Path): string {
    const { start, end } = this.locate(path);
    return this.text.slice(start, end);
  }

  has(path: Path): boolean {
    return this.#find(path).exists;
  }

  /** The path with its keys as they are written, for messages. */
  written(path: Path): Path {
    return this.#find(path).written;
  }

  /** The node at a path, an alias as it is; undefined if there is none. */
  nodeAt(path: Path): unknown {
    return this.#find(path).node;
  }

  #find(path: Path): Found {
    let node: unknown = this.contents;
    let key = rangeOf(node) ?? { start: 0, end: 0 };
    let value = key;
    const written: PropertyKey[] = [];
    let alias: Range | undefined;
    for (const step of path) {
      // What is behind an alias is where the alias is.
      alias ??= isAlias(node) ? rangeOf(node) : undefined;
      const container = this.resolve(node);
      if (isSeq(container)) {
        node = container.items[Number(step)];
        written.push(step);
        value = rangeOf(node, true) ?? value;
        key = value;
        continue;
      }
      const pair = isMap(container)
        ? container.items.find((one) => keyOf(one) === step)
        : undefined;
      written.push(pair === undefined ? step : writtenKey(pair));
      if (pair === undefined) {
        const range = alias ?? value;
        return { exists: false, written, node: undefined, key: range, value: range };
      }
      node = pair.value;
      key = rangeOf(pair.key, true) ?? value;
      value = rangeOf(node) ?? key;
    }
    return { exists: true, written, node, key: alias ?? key, value: alias ?? value };
  }

  /** From 1; a column counts characters. */
  position(offset: number): { readonly line: number; readonly column: number } {
    const { line, col } = this.#lines.linePos(Math.min(offset, this.text.length));
    const before = this.text.slice(offset - col + 1, offset);
    return { line, column: Array.from(before).length + 1 };
  }

  /** The text of the line at an offset, without its end, and where in the file it begins. */
  lineAt(offset: number): { readonly start: number; readonly text: string } {
    const start = this.text.lastIndexOf('\n', offset - 1) + 1;
    const end = this.text.indexOf('\n', start);
    return { start, text: this.text.slice(start, end === -1 ? undefined : end).trimEnd() };
  }
}

/** The key of a pair, as `expandKey` may have changed it. */
export function keyOf({ key }: Pair): string {
  // With `stringKeys`, the parser rejects other keys.
  return isScalar(key) ? String(key.value) : '';
}

export function expandKey({ key }: Pair, expand: (written: string) => string): void {
  if (isScalar(key)) {
    key.value = expand(key.source ?? '');
  }
}

function writtenKey({ key }: Pair): string {
  return isScalar(key) ? (key.source ?? '') : '';
}

function parse(text: string): {
  readonly contents: Document['contents'];
  readonly problems: readonly SyntaxProblem[];
} {
  try {
    const { contents, errors, warnings } = parseDocument(text, {
      logLevel: 'error',
      prettyErrors: false,
      resolveKnownTags: false,
      stringKeys: true,
      uniqueKeys: false,
    });
    const control = /[^\P{Cc}\t\n\r]|\r(?!\n)/u.exec(text)?.index;
    const problems = [
      ...(control === undefined ? [] : [syntaxProblem(control, 'control character')]),
      ...[...errors, ...warnings].map(({ code, message, pos: [start] }) =>
        syntaxProblem(start, MESSAGES[code] ?? message),
      ),
    ];
    return { contents, problems: problems.slice(0, MAX_SYNTAX_PROBLEMS) };
  } catch {
    // The parser is recursive, and the stack is limited.
    return { contents: null, problems: [syntaxProblem(0, 'nested too deeply')] };
  }
}

function syntaxProblem(start: number, message: string): SyntaxProblem {
  return { range: { start, end: start + 1 }, message };
}

function isEmpty(node: Node): boolean {
  return isScalar(node) && node.value === null;
}

/** Undefined for an empty value, unless `mayBeEmpty`. */
export function rangeOf(node: unknown, mayBeEmpty = false): Range | undefined {
  const range = isNode(node) ? node.range : undefined;
  return range && (mayBeEmpty || range[1] > range[0])
    ? { start: range[0], end: range[1] }
    : undefined;
}
