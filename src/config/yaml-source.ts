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
  visit,
} from 'yaml';
import type { Document, Node, Pair, YAMLError } from 'yaml';

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

export interface SyntaxProblem {
  readonly range: Range;
  /** Quotes nothing from the file. */
  readonly message: string;
}

/** A syntax error often causes others: so many are considered, and so many reported. */
const MAX_SYNTAX_ERRORS = 100;
const MAX_SYNTAX_PROBLEMS = 10;

const EXPECTED_COLON = 'expected KEY: VALUE, got no colon with a space after it';
/** By code or message; in place of the parser's messages that may quote the file, or that only its developers understand. */
const MESSAGES: Readonly<Record<string, string>> = {
  'Implicit map keys need to be followed by map values': EXPECTED_COLON,
  MULTILINE_IMPLICIT_KEY: EXPECTED_COLON,
  BAD_ALIAS: 'anchor or alias without a name; put a value that begins with & or * in quotes',
  BAD_COLLECTION_TYPE: 'unknown tag; put a value that begins with ! in quotes',
  BAD_DIRECTIVE: 'unknown directive; remove the line that begins with %',
  BAD_DQ_ESCAPE: 'invalid escape sequence; write \\\\ for a backslash, or use single quotes',
  BLOCK_AS_IMPLICIT_KEY: 'key inside a value; align it with the other keys, or quote the value',
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
  /** Without any, the other methods can be used. */
  readonly syntaxProblems: readonly SyntaxProblem[];
  readonly contents: Node | null;
  readonly #anchors = new Map<string, Node>();
  readonly #expandedKeys = new WeakMap<Pair, string>();
  #lines: LineCounter | undefined;

  constructor(name: string, path: string, text: string) {
    this.name = name;
    this.path = path;
    this.text = text;
    const parsed = parse(text);
    this.contents = 'document' in parsed ? parsed.document.contents : null;
    this.syntaxProblems =
      'document' in parsed ? this.#problemsOf(parsed.document) : [parsed.problem];
  }

  get isEmpty(): boolean {
    return this.contents === null || (isScalar(this.contents) && this.contents.value === null);
  }

  /** At most one a line. */
  #problemsOf(document: Document): readonly SyntaxProblem[] {
    const all = [...document.errors, ...document.warnings].slice(0, MAX_SYNTAX_ERRORS);
    const errors = all.map((error): SyntaxProblem => {
      const [message = ''] = (
        MESSAGES[error.code] ??
        MESSAGES[error.message] ??
        error.message
      ).split('\n');
      const start = openingOf(error, document) ?? error.pos[0];
      return { range: { start, end: start + 1 }, message };
    });
    const byLine = new Map<number, SyntaxProblem>();
    for (const error of errors.toSorted((a, b) => a.range.start - b.range.start)) {
      const { line } = this.position(error.range.start);
      byLine.set(line, byLine.get(line) ?? error);
    }
    return [...byLine.values()].slice(0, MAX_SYNTAX_PROBLEMS);
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

  /** The key of a pair, with `${NAME}` expanded if `expandKey` was called. */
  keyOf(pair: Pair): string {
    return this.#expandedKeys.get(pair) ?? writtenKey(pair);
  }

  expandKey(pair: Pair, expanded: string): void {
    this.#expandedKeys.set(pair, expanded);
  }

  /** Where the value at a path is, or its key. What is missing is where its mapping begins. */
  locate(path: Path, part: 'key' | 'value' = 'value'): Range {
    const found = this.#find(path);
    return part === 'key' ? found.key : found.value;
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
      } else {
        const pair = isMap(container)
          ? container.items.find((one) => this.keyOf(one) === step)
          : undefined;
        written.push(pair === undefined ? step : writtenKey(pair));
        if (pair === undefined) {
          return {
            exists: false,
            written,
            node: undefined,
            key: alias ?? value,
            value: alias ?? value,
          };
        }
        node = pair.value;
        key = rangeOf(pair.key, true) ?? value;
        value = rangeOf(node) ?? key;
      }
    }
    return { exists: true, written, node, key: alias ?? key, value: alias ?? value };
  }

  /** From 1; a column counts characters. */
  position(offset: number): { readonly line: number; readonly column: number } {
    if (this.#lines === undefined) {
      this.#lines = new LineCounter();
      for (let start = 0; start >= 0; start = this.text.indexOf('\n', start) + 1 || -1) {
        this.#lines.addNewLine(start);
      }
    }
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

function parse(
  text: string,
): { readonly document: Document } | { readonly problem: SyntaxProblem } {
  const control = /[^\P{Cc}\t\n\r]|\r(?!\n)/u.exec(text);
  if (control !== null) {
    const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return { problem: syntaxProblem(control.index, `control character U+${code}`) };
  }
  try {
    const document = parseDocument(text, {
      logLevel: 'error',
      prettyErrors: false,
      resolveKnownTags: false,
      stringKeys: true,
      uniqueKeys: false,
    });
    const { yaml } = document.directives;
    return yaml.explicit === true && yaml.version !== '1.2'
      ? {
          problem: syntaxProblem(0, 'unsupported YAML version; remove the line that begins with %'),
        }
      : { document };
  } catch {
    // The parser is recursive, and the stack is limited.
    return { problem: syntaxProblem(0, 'nested too deeply') };
  }
}

function syntaxProblem(start: number, message: string): SyntaxProblem {
  return { range: { start, end: start + 1 }, message };
}

/** For a bracket or quote without an end: where it begins, for the parser notices it much later. */
function openingOf({ message, pos: [at] }: YAMLError, document: Document): number | undefined {
  let opening: number | undefined;
  if (/^Missing closing|end with a \W$/.test(message)) {
    visit(document, {
      Node(_, node) {
        const isOpened = isScalar(node)
          ? node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE'
          : isCollection(node) && node.flow === true;
        if (isOpened && node.range && node.range[0] < at && node.range[1] >= at) {
          opening = node.range[0];
        }
      },
    });
  }
  return opening;
}

/** With `stringKeys`, the parser rejects keys that are no scalars. */
function writtenKey({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : '';
}

/** Undefined for an empty value, unless `mayBeEmpty`. */
function rangeOf(node: unknown, mayBeEmpty = false): Range | undefined {
  const range = isNode(node) ? node.range : undefined;
  return range && (mayBeEmpty || range[1] > range[0])
    ? { start: range[0], end: range[1] }
    : undefined;
}
