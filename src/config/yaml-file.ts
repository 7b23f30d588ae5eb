/** Parses a YAML file: its values as text, the place of each, and what is wrong with it. */
import { resolve } from 'node:path';
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Alias, Document, Node, Scalar, YAMLMap } from 'yaml';
import type { FileContent } from '../base/files.ts';
import { EXPOSED, isExposed } from './credentials.ts';

/** Path of keys and positions in lists, from the top of the file. Empty for the file as a whole. */
export type Path = readonly PropertyKey[];

/** A part of a file. */
export interface Place {
  readonly file: YamlFile;
  readonly path: Path;
}

export interface Problem extends Place {
  readonly offset: number;
  readonly message: string;
}

/** Of one anchor, counted with those inside other aliases. */
const MAX_ALIASES = 100_000;

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
  /** Lists, mappings, null, and text with `${NAME}` expanded. Undefined if the file cannot be read or parsed. */
  readonly value: unknown;
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #isExposed: boolean;
  readonly #reported = new Set<string>();
  readonly #lines = new LineCounter();
  readonly #document: Document;
  readonly #anchors = new Map<string, Node>();
  /** Its own method searches the whole document each time. */
  readonly #targets = new Map<Alias, Node | undefined>();

  /** `content` may be the reason why the file cannot be read. */
  constructor(name: string, content: FileContent | string, env: NodeJS.ProcessEnv) {
    const isRead = typeof content !== 'string';
    this.name = name;
    this.path = resolve(name);
    this.text = isRead ? content.text : '';
    this.#isExposed = isRead && isExposed(content);
    this.#document = parseDocument(this.text, {
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
    const errors = [...this.#document.errors, ...this.#document.warnings];
    // It leads to others.
    const tab = errors.find(({ code }) => code === 'TAB_AS_INDENT');
    for (const { code, message, pos } of tab === undefined ? errors : [tab]) {
      this.add([], MESSAGES[code] ?? message, pos[0]);
    }
    if (!isRead) {
      this.add([], `${this.path} ${content}`);
    }
    if (this.problems.length > 0) {
      return;
    }
    this.#expandNode(this.#document.contents, [], env);
    try {
      // The values of an alias are those of its anchor, so that they take no memory.
      this.value = this.#document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch {
      const message = `more than ${MAX_ALIASES} aliases of one anchor, or one inside itself`;
      if (this.problems.length === 0) {
        this.add([], message);
      }
    }
  }

  /**
   * Adds a problem of the value or key at a path, or at an offset; of those at one place and path, only the
   * first. The message quotes nothing.
   */
  add(path: Path, message: string, at?: 'key' | number): void {
    const offset = typeof at === 'number' ? at : this.#locate(path, at)[0];
    const id = [offset, ...path].join('\0');
    if (!this.#reported.has(id)) {
      this.#reported.add(id);
      this.problems.push({ file: this, path, message, offset });
    }
  }

  warn(path: Path, message: string): void {
    this.warnings.push({ file: this, path, message, offset: this.#locate(path)[0] });
  }

  /** Warns of secrets that are written in the file if everybody on the machine can read it. */
  warnOfSecrets(path: Path, secrets: string): void {
    if (this.#isExposed && this.isWritten(path)) {
      this.warn(path, `${secrets} in a file that ${EXPOSED}`);
    }
  }

  /** Returns the part of `value` at a path; undefined if there is none. */
  valueAt(path: Path): unknown {
    return path.reduce<unknown>((outer, step) => Object(outer)[step], this.value);
  }

  /** Returns the node at a path, behind aliases, and its key. What is missing has the node of its container. */
  #find(path: Path) {
    let node: unknown = this.#document.contents;
    let key: Scalar | undefined;
    for (const step of path) {
      // Of keys that are used twice, the last one has the value.
      const pair = isMap<Scalar>(node) && node.items.findLast((one) => one.key.value === step);
      const inner = pair ? pair.value : isSeq(node) ? node.items[Number(step)] : undefined;
      if (inner === undefined) {
        return { node: node as Node, isMissing: true };
      }
      node = isAlias(inner) ? this.#targets.get(inner) : inner;
      key = pair ? pair.key : undefined;
    }
    return { node: node as Node | null, key, isMissing: false };
  }

  /** Returns the offsets of a value or key; of what is missing those of its container. */
  #locate(path: Path, part?: 'key'): readonly [start: number, end: number] {
    const { node, key } = this.#find(path);
    const [start, end] = (part === 'key' ? key : undefined)?.range ?? node?.range ?? [0, 0];
    return [start, end];
  }

  /** Returns a scalar as it is written; undefined for one with an anchor, which may be a secret elsewhere. */
  sourceAt(path: Path): string | undefined {
    const { node, isMissing } = this.#find(path);
    const isQuotable = isScalar(node) && node.anchor === undefined && !isMissing;
    return isQuotable ? this.text.slice(...this.#locate(path)) : undefined;
  }

  /** Returns true for a value or a key that is as the file or a default has it, not from the environment. */
  isWritten(path: Path, part?: 'key'): boolean {
    const { node, key } = this.#find(path);
    const isDefault = part === 'key' ? key === undefined : isMap(node);
    return isDefault || !this.text.slice(...this.#locate(path, part)).includes('${');
  }

  /** Returns true if a text without quotes ends at a `#` after a blank that begins no usual comment. */
  isCutByComment(path: Path): boolean {
    const [start, end] = this.#locate(path);
    return !/["'|>]/.test(this.text.charAt(start)) && /^[ \t]+#[^\s#]/.test(this.text.slice(end));
  }

  /** Returns line and column from 1, in characters, and the line's text and where that begins. */
  position(offset: number) {
    const { line, col } = this.#lines.linePos(offset);
    const start = offset - col + 1;
    const [text = ''] = this.text.slice(start).split('\n', 1);
    const column = Array.from(this.text.slice(start, offset)).length + 1;
    return { line, column, start, text: text.trimEnd() };
  }

  /** Expands the texts and keys of a node, and of all that it contains. Reports keys that are used twice. */
  #expandNode(node: unknown, path: Path, env: NodeJS.ProcessEnv): void {
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      this.#targets.set(node, target);
      if (target === undefined) {
        this.add(path, 'unknown anchor; put a value that begins with * in quotes', node.range?.[0]);
      }
    } else if (isNode(node) && node.anchor !== undefined) {
      this.#anchors.set(node.anchor, node);
    }
    if (isMap<Scalar.Parsed>(node)) {
      this.#expandMap(node, path, env);
    } else if (isSeq(node)) {
      node.items.forEach((item, i) => this.#expandNode(item, [...path, i], env));
    } else if (isScalar(node) && node.value !== null) {
      node.value = this.#expand(node as Scalar.Parsed, path, env);
    }
  }

  #expandMap(map: YAMLMap<Scalar.Parsed>, path: Path, env: NodeJS.ProcessEnv): void {
    const keys = new Set<string>();
    for (const { key, value } of map.items) {
      const name = this.#expand(key, [...path, key.source], env);
      if (keys.has(name) || name === '__proto__') {
        // Zod ignores __proto__ silently.
        const problem = keys.has(name) ? 'duplicate key' : 'unsupported key';
        this.add([...path, name], problem, key.range[0]);
      }
      keys.add(name);
      key.value = name;
      this.#expandNode(value, [...path, name], env);
    }
  }

  /** Returns a text with the environment's values for `${NAME}`, not expanded again, and `${` for `$${`. */
  #expand({ source, range }: Scalar.Parsed, path: Path, env: NodeJS.ProcessEnv): string {
    const pattern = /\$\$\{|\$\{([^}]*)(\}?)/g;
    return source.replaceAll(pattern, (whole, name: string, end: string) => {
      if (whole === '$${') {
        return '${';
      }
      const isName = end !== '' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
      const value = isName && Object.hasOwn(env, name) ? env[name] : undefined;
      if (value === undefined) {
        const problem = isName ? `environment variable ${name} is not set` : 'expected ${NAME}';
        const isSystemd = name === 'CREDENTIALS_DIRECTORY';
        const hint = isSystemd
          ? 'systemd gave this process no credentials'
          : 'write $${ for a literal ${';
        this.add(path, `${problem}; ${hint}`, range[0]);
      }
      return value ?? '';
    });
  }
}
