/** A YAML file: its values as a schema expects them, the place of each, and what is wrong with it. */
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
} from 'yaml';
import type { Document, Pair } from 'yaml';
import { z } from 'zod';
import type { FileContent } from '../base/files.ts';
import { isExposed } from './files.ts';
import { innerType, typeIn } from './values.ts';

/** Of keys and of positions in lists, from the top of the file. Empty for the file as a whole. */
export type Path = readonly PropertyKey[];

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Problem {
  readonly file: YamlFile;
  readonly offset: number;
  readonly path: Path;
  readonly message: string;
}

/** A syntax error often causes others. */
const MAX_SYNTAX_PROBLEMS = 10;
/** The limit on what aliases may expand to. */
const MAX_ENTRIES = 1_000_000;

/** By code: in place of the parser's messages that quote the file or are for its developers. */
const MESSAGES: Readonly<Record<string, string>> = {
  BAD_DIRECTIVE: 'unknown directive; remove the line that begins with %',
  BAD_DQ_ESCAPE: 'invalid escape sequence; write \\\\ for a backslash, or use single quotes',
  MULTIPLE_DOCS: 'expected one document, got a second one; remove the line --- or ...',
  NON_STRING_KEY: 'expected a plain key, got a list, mapping or alias; quote a value with { or [',
  TAG_RESOLVE_FAILED: 'unknown tag; put a value that begins with ! in quotes',
  UNEXPECTED_TOKEN: 'unexpected text; check the brackets and quotes before it, or quote the value',
};

export class YamlFile {
  /** As the user named it. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  /** Whether users that need not know a secret in it can read it. */
  readonly isExposed: boolean;
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #env: Environment;
  readonly #reported = new Set<string>();
  readonly #lines = new LineCounter();
  /** Undefined if the file cannot be read or parsed. */
  readonly #document: Document | undefined;
  /** By name, the last node before the one that is read. */
  readonly #anchors = new Map<string, unknown>();
  #entries = 0;

  /** `content` may be the reason why the file cannot be read. */
  constructor(name: string, content: FileContent | string, env: Environment) {
    const isRead = typeof content !== 'string';
    this.name = name;
    this.path = resolve(name);
    this.#env = env;
    this.text = isRead ? content.text : '';
    this.isExposed = isRead && isExposed(content);
    if (!isRead) {
      this.add([], `${this.path} ${content}`, 0);
    }
    this.#document = this.#parse();
  }

  #parse(): Document | undefined {
    try {
      const document = parseDocument(this.text, {
        lineCounter: this.#lines,
        logLevel: 'error',
        prettyErrors: false,
        resolveKnownTags: false,
        stringKeys: true,
        uniqueKeys: false,
      });
      const errors = [...document.errors, ...document.warnings];
      for (const { code, message, pos } of errors.slice(0, MAX_SYNTAX_PROBLEMS)) {
        this.add([], MESSAGES[code] ?? message, pos[0]);
      }
      return this.problems.length === 0 ? document : undefined;
    } catch {
      // The parser is recursive, and the stack is limited.
      this.add([], 'nested too deeply', 0);
      return undefined;
    }
  }

  /** Adds a problem. At the same place and path, only the first one counts. The message quotes nothing from the file. */
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

  /** Aliases are not followed. */
  #nodeAt(path: Path): unknown {
    return this.#document?.getIn(path, true);
  }

  has(path: Path): boolean {
    return this.#nodeAt(path) !== undefined;
  }

  /** Offsets of the value or key at a path. What is missing or behind an alias is where its container is. */
  locate(path: Path, part: 'key' | 'value' = 'value'): readonly [start: number, end: number] {
    const parent = part === 'key' ? this.#nodeAt(path.slice(0, -1)) : undefined;
    const pairs = isMap(parent) ? parent.items : [];
    const pair = pairs.find(({ key }) => isScalar(key) && key.value === path.at(-1));
    const node = pair === undefined ? this.#nodeAt(path) : pair.key;
    if (isNode(node) && node.range) {
      return [node.range[0], node.range[1]];
    }
    return path.length === 0 ? [0, 0] : this.locate(path.slice(0, -1));
  }

  /** The text of the value at a path, or of its key, as it is written. */
  textAt(path: Path, part?: 'key'): string {
    return this.text.slice(...this.locate(path, part));
  }

  /** Line and column from 1, in characters, and the line's text and where that begins. */
  position(offset: number) {
    const { line, col } = this.#lines.linePos(offset);
    const start = offset - col + 1;
    const end = this.text.indexOf('\n', start);
    const text = this.text.slice(start, end === -1 ? undefined : end).trimEnd();
    return { line, column: Array.from(this.text.slice(start, offset)).length + 1, start, text };
  }

  /**
   * Reads the file, once, as the schema expects it: a text field gets a scalar as it is written
   * (`client_id: 0123`), with `${NAME}` expanded. What does not fit is left for the schema to reject. What
   * is unknown is not read, so that aliases cannot expand it. Undefined if nothing could be read.
   */
  read(schema: z.ZodType): unknown {
    const value = this.#document && this.#read(this.#document.contents, schema, []);
    return this.#entries > MAX_ENTRIES ? undefined : value;
  }

  #read(node: unknown, type: z.ZodType, path: Path): unknown {
    const inner = innerType(type);
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      if (target === undefined) {
        const message = 'unknown anchor; put a value that begins with * in quotes';
        this.add(path, message, node.range?.[0]);
      }
      return this.#read(target, type, path);
    }
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) {
      this.#anchors.set(node.anchor, node);
    }
    if (isMap(node)) {
      return this.#readMapping(node.items, inner, path);
    }
    if (isSeq(node)) {
      const itemType = typeIn(inner, 0);
      return itemType !== undefined && this.#mayRead(node.items.length)
        ? node.items.map((item, i) => this.#read(item, itemType, [...path, i]))
        : [];
    }
    if (!isScalar(node) || node.value === null) {
      // All entries of a mapping may be commented out, but not a whole file.
      const isMapping = inner instanceof z.ZodObject || inner instanceof z.ZodRecord;
      return isMapping && path.length > 0 ? {} : null;
    }
    const { value, source = '', range } = node;
    const text = this.#expand(source, path, range?.[0]);
    if (inner instanceof z.ZodString || inner instanceof z.ZodEnum) {
      return text;
    }
    // A scalar with ${NAME} has no type of its own, quoted or not.
    return typeof value === 'string' && text === source ? value : typed(text);
  }

  #readMapping(pairs: readonly Pair[], type: z.ZodType, path: Path) {
    const result: Record<string, unknown> = Object.create(null);
    const isRecord = type instanceof z.ZodRecord;
    if (!(isRecord || type instanceof z.ZodObject) || !this.#mayRead(pairs.length)) {
      return result;
    }
    for (const { key: node, value } of pairs) {
      if (!isScalar(node)) {
        continue;
      }
      const offset = node.range?.[0];
      if (isRecord) {
        node.value = this.#expand(node.source ?? '', path, offset);
      }
      const key = String(node.value);
      const at = [...path, key];
      // Zod ignores __proto__ silently.
      if (key === '__proto__' || Object.hasOwn(result, key)) {
        const message = key === '__proto__' ? 'unsupported key' : 'duplicate key';
        this.add(at, message, offset);
        continue;
      }
      const valueType = typeIn(type, key);
      result[key] = valueType === undefined ? null : this.#read(value, valueType, at);
    }
    return result;
  }

  #mayRead(entries: number): boolean {
    this.#entries += entries;
    if (this.#entries > MAX_ENTRIES) {
      this.add([], `more than ${MAX_ENTRIES} entries, with aliases expanded`);
    }
    return this.#entries <= MAX_ENTRIES;
  }

  /** `${NAME}` is the environment's value, `$${` a literal `${`. Values are not expanded again. */
  #expand(text: string, path: Path, offset: number | undefined): string {
    return text.replaceAll(/\$\$\{|\$\{([^}]*)(\}?)/g, (whole, name: string, end: string) => {
      if (whole === '$${') {
        return '${';
      }
      const isName = end !== '' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
      const value = isName && Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
      if (value === undefined) {
        const problem = isName ? `environment variable ${name} is not set` : 'expected ${NAME}';
        this.add(path, `${problem}; write $\${ for a literal \${`, offset);
      }
      return value ?? '';
    });
  }
}

/** A number in decimal digits (0x10, 1e3 and 0123 are not what was meant), a boolean, or the text. */
function typed(text: string): unknown {
  if (/^(true|false)$/i.test(text)) {
    return text.toLowerCase() === 'true';
  }
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? Number(text) : text;
}
