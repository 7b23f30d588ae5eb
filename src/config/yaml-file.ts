/** Parses a YAML file: its values as text, the place of each, and what is wrong with it. */
import { resolve } from 'node:path';
import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  Scalar,
} from 'yaml';
import type { Alias, Document, Pair, YAMLMap } from 'yaml';
import type { FileContent } from '../base/files.ts';
import { EXPOSED, isExposed } from './credentials.ts';

/** Path of keys and positions in lists, from the top of the file. Empty for the file as a whole. */
export type Path = readonly PropertyKey[];

export interface Problem {
  readonly file: YamlFile;
  readonly offset: number;
  readonly path: Path;
  readonly message: string;
}

const WHOLE_FILE: Path = [];

/** Limit with aliases expanded. */
const MAX_ENTRIES = 1_000_000;

/** Messages by code, in place of the parser's that quote the file or are for its developers. */
const MESSAGES: Readonly<Record<string, string>> = {
  BAD_DIRECTIVE: 'unknown directive; remove the line that begins with %',
  BAD_DQ_ESCAPE: 'invalid escape sequence; write \\\\ for a backslash, or use single quotes',
  MULTIPLE_DOCS: 'expected one document, got a second one; remove the line --- or ...',
  NON_STRING_KEY: 'expected a plain key, got a list, mapping or alias; quote a value with { or [',
  TAB_AS_INDENT: 'expected spaces as indentation, got a tab',
  TAG_RESOLVE_FAILED: 'unknown tag; put a value that begins with ! in quotes',
  UNEXPECTED_TOKEN: 'unexpected text; check the brackets and quotes before it, or quote the value',
};

/** A parsed file, with problems and warnings, its own and those that others add. */
export class YamlFile {
  /** Name that the user gave it. */
  readonly name: string;
  /** Absolute path. */
  readonly path: string;
  readonly text: string;
  readonly isRead: boolean;
  /** Whether it may take anything from the environment. */
  readonly hasVariables: boolean;
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #isExposed: boolean;
  readonly #reported = new Set<string>();
  readonly #lines = new LineCounter();
  /** Undefined if the file cannot be read or parsed. */
  readonly #document: Document | undefined;

  /** `content` may be the reason why the file cannot be read. */
  constructor(name: string, content: FileContent | string, env: NodeJS.ProcessEnv) {
    const isRead = typeof content !== 'string';
    this.isRead = isRead;
    this.name = name;
    this.path = resolve(name);
    this.text = isRead ? content.text : '';
    this.hasVariables = this.text.includes('${');
    this.#isExposed = isRead && isExposed(content);
    if (!isRead) {
      this.add(WHOLE_FILE, `${this.path} ${content}`, 0);
    }
    const document = parseDocument(this.text, {
      lineCounter: this.#lines,
      logLevel: 'error',
      prettyErrors: false,
      // Scalars are text, and the schema of the configuration says what it is read as.
      schema: 'failsafe',
      customTags: ['null'],
      resolveKnownTags: false,
      stringKeys: true,
      uniqueKeys: false,
    });
    const errors = [...document.errors, ...document.warnings];
    // It leads to others.
    const tab = errors.find(({ code }) => code === 'TAB_AS_INDENT');
    for (const { code, message, pos } of tab === undefined ? errors : [tab]) {
      this.add(WHOLE_FILE, MESSAGES[code] ?? message, pos[0]);
    }
    if (this.problems.length === 0) {
      this.#document = document;
      this.#complete(document.contents, WHOLE_FILE, document, env);
    }
  }

  /**
   * Returns the values: lists, mappings, null, and text with `${NAME}` expanded. Undefined if the file
   * cannot be read.
   */
  read(): unknown {
    try {
      // The values of an alias are those of its anchor, so that they take no memory.
      const value: unknown = this.#document?.toJS({ maxAliasCount: -1 });
      if (isAtMost(MAX_ENTRIES, value)) {
        return value;
      }
    } catch {
      // An alias of a list or mapping that contains it.
    }
    this.add(WHOLE_FILE, `more than ${MAX_ENTRIES} entries, with aliases expanded`);
    return undefined;
  }

  /** Adds a problem; of those at one place and path, only the first. The message quotes nothing. */
  add(path: Path, message: string, offset = this.locate(path)[0]): void {
    const id = [offset, ...path].join('\0');
    if (!this.#reported.has(id)) {
      this.#reported.add(id);
      this.problems.push({ file: this, offset, path, message });
    }
  }

  warn(path: Path, message: string): void {
    this.warnings.push({ file: this, offset: this.locate(path)[0], path, message });
  }

  /** Warns of secrets if everybody on the machine can read the file. */
  warnOfSecrets(path: Path, secrets: string): void {
    if (this.#isExposed) {
      this.warn(path, `${secrets} in a file that ${EXPOSED}`);
    }
  }

  #nodeAt(path: Path): unknown {
    const document = this.#document;
    if (document === undefined) {
      return undefined;
    }
    return path.reduce<unknown>((container, step) => {
      const node = isCollection(container) ? container.get(step, true) : undefined;
      return isAlias(node) ? node.resolve(document) : node;
    }, document.contents);
  }

  /** Returns true if there is a value at a path, be it valid or not. */
  has(path: Path): boolean {
    return this.#nodeAt(path) !== undefined;
  }

  /** Returns the offsets of the value or key at a path. What is missing is where its container is. */
  locate(path: Path, part: 'key' | 'value' = 'value'): readonly [start: number, end: number] {
    const parent = part === 'key' ? this.#nodeAt(path.slice(0, -1)) : undefined;
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))
      : undefined;
    const node = pair?.key ?? this.#nodeAt(path);
    if (isNode(node) && node.range) {
      return [node.range[0], node.range[1]];
    }
    return path.length === 0 ? [0, 0] : this.locate(path.slice(0, -1));
  }

  /** Returns the text of the value at a path, or of its key, as it is written. */
  textAt(path: Path, part?: 'key'): string {
    return this.text.slice(...this.locate(path, part));
  }

  /** Returns true if a text without quotes ends at a `#` after a blank that begins no usual comment. */
  isCutByComment(path: Path): boolean {
    const [start, end] = this.locate(path);
    return !/["'|>]/.test(this.text.charAt(start)) && /^[ \t]+#[^\s#]/.test(this.text.slice(end));
  }

  /** Returns line and column from 1, in characters, and the line's text and where that begins. */
  position(offset: number) {
    const { line, col } = this.#lines.linePos(offset);
    const start = offset - col + 1;
    const end = this.text.indexOf('\n', start);
    const text = this.text.slice(start, end === -1 ? undefined : end).trimEnd();
    return { line, column: Array.from(this.text.slice(start, offset)).length + 1, start, text };
  }

  /**
   * Expands the texts and keys of a node, and of all that it contains. Returns what stands in its place. Reports
   * keys that are used twice and aliases without an anchor.
   */
  #complete(node: unknown, path: Path, document: Document, env: NodeJS.ProcessEnv): unknown {
    if (isAlias(node)) {
      return this.#aliasOrEmpty(node as Alias.Parsed, path, document);
    }
    if (isMap(node)) {
      this.#completeMap(node, path, document, env);
    } else if (isSeq(node)) {
      node.items.forEach((item, i) => {
        node.items[i] = this.#complete(item, [...path, i], document, env);
      });
    } else if (isScalar(node) && node.value !== null) {
      node.value = this.#expand(node as Scalar.Parsed, path, env);
    }
    return node;
  }

  #completeMap(map: YAMLMap, path: Path, document: Document, env: NodeJS.ProcessEnv): void {
    const keys = new Set<string>();
    // Another key than a scalar is an error of the parser.
    for (const pair of map.items as Pair<Scalar.Parsed>[]) {
      const { key } = pair;
      const name = this.#expand(key, [...path, key.source], env);
      const keyPath = [...path, name];
      if (name === '__proto__') {
        // Zod ignores it silently.
        this.add(keyPath, 'unsupported key', key.range[0]);
      }
      if (keys.has(name)) {
        this.add(keyPath, 'duplicate key', key.range[0]);
      }
      keys.add(name);
      key.value = name;
      pair.value = this.#complete(pair.value, keyPath, document, env);
    }
  }

  #aliasOrEmpty(node: Alias.Parsed, path: Path, document: Document): unknown {
    if (node.resolve(document) !== undefined) {
      return node;
    }
    const message = 'unknown anchor; put a value that begins with * in quotes';
    this.add(path, message, node.range[0]);
    const empty = new Scalar(null);
    empty.range = node.range;
    return empty;
  }

  /** Returns a text with the environment's values for `${NAME}`, not expanded again, and `${` for `$${`. */
  #expand({ source, range }: Scalar.Parsed, path: Path, env: NodeJS.ProcessEnv): string {
    return source.replaceAll(/\$\$\{|\$\{([^}]*)(\}?)/g, (whole, name: string, end: string) => {
      if (whole === '$${') {
        return '${';
      }
      const isName = end !== '' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
      const value = isName && Object.hasOwn(env, name) ? env[name] : undefined;
      if (value === undefined) {
        const problem = isName ? `environment variable ${name} is not set` : 'expected ${NAME}';
        const hint =
          name === 'CREDENTIALS_DIRECTORY'
            ? 'systemd gave this process no credentials'
            : 'write $${ for a literal ${';
        this.add(path, `${problem}; ${hint}`, range[0]);
      }
      return value ?? '';
    });
  }
}

/** Returns true if a value and all that it contains are at most `limit` values. */
function isAtMost(limit: number, value: unknown): boolean {
  const left = [value];
  for (let count = 0; left.length > 0; count += 1) {
    const next = left.pop();
    if (count === limit) {
      return false;
    }
    if (typeof next === 'object' && next !== null) {
      Object.values(next).forEach((inner) => left.push(inner));
    }
  }
  return true;
}
