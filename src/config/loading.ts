/** One load of a configuration: reads files and validates them, and collects problems and warnings. */
import { dirname, resolve } from 'node:path';
import { closestMatch } from 'leven';
import { z } from 'zod';
import { ConfigError, messageOf } from '../base/errors.ts';
import { readTextFile } from '../base/files.ts';
import type { FileContent } from '../base/files.ts';
import { EXPOSED, isExposed, MAX_CONFIG_FILE_BYTES, MAX_SECRET_BYTES } from './files.ts';
import { ProblemFormatter } from './problems.ts';
import { innerType, metaOf, typeAt } from './values.ts';
import { YamlFile } from './yaml-file.ts';
import type { Environment, Path, Problem } from './yaml-file.ts';

const MAX_SHOWN_PROBLEMS = 1_000;

export interface LoadResult<Config> {
  readonly config: Config;
  /** Every file that was read, absolute, the main file first: YAML files, secrets, certificates, keys. */
  readonly files: readonly string[];
  /** What works but should be changed, each with its place. */
  readonly warnings: readonly string[];
}

export interface Loaded<Values> {
  readonly file: YamlFile;
  /** Without problems, nothing is missing. After one, what is valid, as it is written. */
  readonly values: DeepPartial<Values>;
}

export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly (DeepPartial<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T;

export class Loading {
  readonly formatter: ProblemFormatter;
  readonly #files = new Set<string>();
  readonly #env: Environment;
  readonly #yamlFiles: YamlFile[] = [];

  /** `schema` is that of the main file. */
  constructor(schema: z.ZodType, env: Environment) {
    this.formatter = new ProblemFormatter(schema);
    this.#env = env;
  }

  /** Reads a YAML file and validates it. `name` is the file as the user named it. */
  async readYaml<Schema extends z.ZodType>(
    name: string,
    schema: Schema,
  ): Promise<Loaded<z.output<Schema>>> {
    const path = resolve(name);
    this.#files.add(path);
    const content = await readTextFile(path, MAX_CONFIG_FILE_BYTES).catch(messageOf);
    const file = new YamlFile(name, content, this.#env);
    this.#yamlFiles.push(file);
    return { file, values: this.#validate(file, schema) as DeepPartial<z.output<Schema>> };
  }

  #validate(file: YamlFile, schema: z.ZodType): unknown {
    const value = file.read();
    if (value === undefined) {
      return {};
    }
    const asWritten = schema.safeParse(value, { reportInput: true });
    asWritten.error?.issues.forEach((issue) => convert(file, value, issue));
    const result = asWritten.success ? asWritten : schema.safeParse(value, { reportInput: true });
    if (result.success) {
      return result.data;
    }
    for (const issue of result.error.issues) {
      if (issue.code === 'unrecognized_keys') {
        this.#addUnknownKeys(file, schema, issue);
        issue.keys.forEach((key) => Reflect.deleteProperty(issue.input as object, key));
      } else {
        this.#addIssue(file, schema, issue);
        replaceAt(value, issue.path, undefined);
      }
    }
    return isObject(value) ? value : {};
  }

  #addUnknownKeys(
    file: YamlFile,
    schema: z.ZodType,
    { path, keys }: z.core.$ZodIssueUnrecognizedKeys,
  ): void {
    // The path is that of the mapping.
    const known = Object.keys((innerType(typeAt(schema, path)) as z.ZodObject).shape);
    for (const key of keys) {
      const at = [...path, key];
      // One of three characters may be different, two at most.
      const maxDistance = Math.min(2, Math.ceil(key.length / 3));
      const nearest = closestMatch(key.toLowerCase(), known, { maxDistance });
      const hint = nearest ? `did you mean ${nearest}?` : `expected one of ${known.join(', ')}`;
      file.add(at, `unknown key, ${hint}`, file.locate(at, 'key')[0]);
    }
  }

  #addIssue(file: YamlFile, schema: z.ZodType, issue: z.core.$ZodIssue): void {
    const { path } = issue;
    const parent = innerType(typeAt(schema, path.slice(0, -1)));
    const isKey = parent instanceof z.ZodRecord && issue.code === 'invalid_key';
    const type = isKey ? (parent.keyType as z.ZodType) : typeAt(schema, path);
    const got = isKey ? 'another key' : this.#found(file, issue);
    const [offset] = file.locate(path, isKey ? 'key' : 'value');
    file.add(path, `expected ${metaOf(type).expected}, got ${got}`, offset);
  }

  /** Completes "got …". */
  #found(file: YamlFile, { code, input, path }: z.core.$ZodIssue): string {
    if (isObject(input)) {
      return Array.isArray(input) ? 'a list' : 'a mapping';
    }
    if (input === undefined || input === null) {
      return input === null ? 'an empty value' : 'nothing';
    }
    if (code === 'invalid_type' && typeof input !== 'number') {
      return `a ${typeof input}`;
    }
    return this.formatter.quote(file, path) ?? 'another value';
  }

  /**
   * Reads a file that a key names, if it is given, relative to the file with the key. Undefined after a
   * problem, be it in the file or that `parse` throws an Error; its message follows the name of the file.
   */
  async readNamed<Result>(
    file: YamlFile,
    path: Path,
    name: string | undefined,
    parse: (content: FileContent, path: string) => Result,
    isSecret = false,
  ): Promise<Result | undefined> {
    if (name === undefined) {
      return undefined;
    }
    const absolute = resolve(dirname(file.path), name);
    this.#files.add(absolute);
    try {
      const maxBytes = isSecret ? MAX_SECRET_BYTES : MAX_CONFIG_FILE_BYTES;
      const content = await readTextFile(absolute, maxBytes);
      if (isSecret && isExposed(content)) {
        file.warn(path, `the file ${EXPOSED}`);
      }
      return parse(content, absolute);
    } catch (error) {
      file.add(path, `${absolute} ${messageOf(error)}`);
      return undefined;
    }
  }

  /** In the order of files and lines. */
  get problems(): readonly string[] {
    const problems = this.#sorted('problems');
    const shown = problems.slice(0, MAX_SHOWN_PROBLEMS).map((one) => this.formatter.format(one));
    const more = problems.length - shown.length;
    return more === 0 ? shown : [...shown, `and ${more} more problems`];
  }

  get files(): readonly string[] {
    return [...this.#files];
  }

  /** The same warning at several places is one. */
  get warnings(): readonly string[] {
    const groups = Map.groupBy(this.#sorted('warnings'), ({ message }) => message).values();
    return Array.from(groups).flatMap(([first, ...others]) => {
      const more = others.length === 0 ? '' : ` (and ${others.length} more of these)`;
      return first ? this.formatter.format({ ...first, message: first.message + more }) : [];
    });
  }

  #sorted(kind: 'problems' | 'warnings'): readonly Problem[] {
    return this.#yamlFiles.flatMap((file) => file[kind].toSorted((a, b) => a.offset - b.offset));
  }
}

/** Throws a ConfigError if there are problems. */
export function failOn(problems: readonly string[]): void {
  if (problems.length > 0) {
    throw new ConfigError(problems.join('\n'), problems.length);
  }
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null;
}

function replaceAt(value: unknown, path: Path, replacement: unknown): void {
  const container = path
    .slice(0, -1)
    .reduce((inner, step) => (isObject(inner) ? inner[step] : undefined), value);
  if (isObject(container)) {
    container[path.at(-1) ?? ''] = replacement;
  }
}

/**
 * Where the schema expects text, a scalar is the text as it is written (`client_id: 0123`). A mapping
 * whose entries are all commented out is empty.
 */
function convert(file: YamlFile, value: unknown, issue: z.core.$ZodIssue): void {
  if (issue.code !== 'invalid_type') {
    return;
  }
  if (issue.expected === 'string') {
    replaceAt(value, issue.path, file.scalarAt(issue.path) ?? issue.input);
  } else if (['object', 'record'].includes(issue.expected) && issue.input === null) {
    replaceAt(value, issue.path, {});
  }
}
