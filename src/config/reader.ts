/** Reads and validates the files of one load of a configuration, and collects problems and warnings. */
import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { closestMatch } from 'leven';
import { z } from 'zod';
import { ConfigError, messageOf } from '../base/errors.ts';
import { readTextFile } from '../base/files.ts';
import type { FileContent } from '../base/files.ts';
import { EXPOSED, isExposed, MAX_SECRET_BYTES } from './credentials.ts';
import { ProblemFormatter } from './problems.ts';
import { innerType, metaOf, typeAt } from './values.ts';
import { YamlFile } from './yaml-file.ts';
import type { Path, Problem } from './yaml-file.ts';

const MAX_FILE_BYTES = 4 * 1_048_576;
const MAX_SHOWN_PROBLEMS = 1_000;

export interface LoadResult<Config> {
  readonly config: Config;
  /** Hash of every file that was read: YAML files, secrets, certificates, keys. */
  readonly digest: string;
  /** What works but should be changed, each with its place. */
  readonly warnings: readonly string[];
}

/** A YAML file and its values. */
export interface ValidatedFile<Values> {
  readonly file: YamlFile;
  /** Without problems, nothing is missing. After one, what is valid. */
  readonly values: DeepPartial<Values>;
}

/** A type whose keys may all be missing, at every level. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly (DeepPartial<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T;

/** Made for one load. */
export class ConfigReader {
  readonly formatter: ProblemFormatter;
  readonly #hash = createHash('sha256');
  readonly #env: NodeJS.ProcessEnv;
  readonly #yamlFiles: YamlFile[] = [];

  /** `schema` describes the main file; `env` is what `${NAME}` stands for. */
  constructor(schema: z.ZodType, env: NodeJS.ProcessEnv) {
    this.formatter = new ProblemFormatter(schema);
    this.#env = env;
  }

  /** Reads a YAML file and validates it. `name` is the file as the user named it. */
  async readYaml<Schema extends z.ZodType>(
    name: string,
    schema: Schema,
  ): Promise<ValidatedFile<z.output<Schema>>> {
    const content = await this.#readText(resolve(name), MAX_FILE_BYTES).catch(messageOf);
    const file = new YamlFile(name, content, this.#env);
    this.#yamlFiles.push(file);
    return { file, values: this.#validate(file, schema) as DeepPartial<z.output<Schema>> };
  }

  #validate(file: YamlFile, schema: z.ZodType): unknown {
    const value = file.read();
    if (value === undefined) {
      return {};
    }
    const result = schema.safeParse(value, { reportInput: true });
    for (const issue of result.error?.issues ?? []) {
      if (issue.code === 'unrecognized_keys') {
        this.#addUnknownKeys(file, schema, issue);
      } else {
        this.#addIssue(file, schema, issue);
      }
    }
    return result.success ? result.data : (validPart(schema, value) ?? {});
  }

  #addUnknownKeys(
    file: YamlFile,
    schema: z.ZodType,
    { path, keys }: z.core.$ZodIssueUnrecognizedKeys,
  ): void {
    // The path is that of the mapping.
    const knownKeys = Object.keys((innerType(typeAt(schema, path)) as z.ZodObject).shape);
    for (const key of keys) {
      const keyPath = [...path, key];
      // One of three characters may be different, two at most.
      const maxDistance = Math.min(2, Math.ceil(key.length / 3));
      const nearest = closestMatch(key.toLowerCase(), knownKeys, { maxDistance });
      const hint = nearest ? `did you mean ${nearest}?` : `expected one of ${knownKeys.join(', ')}`;
      file.add(keyPath, `unknown key, ${hint}`, file.locate(keyPath, 'key')[0]);
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

  /** Returns what completes "got …". */
  #found(file: YamlFile, { code, input, path }: z.core.$ZodIssue): string {
    if (isObject(input)) {
      return Array.isArray(input) ? 'a list' : 'a mapping';
    }
    if (input === undefined || input === null) {
      return input === null ? 'an empty value' : 'nothing';
    }
    const other = code === 'invalid_type' ? `a ${typeof input}` : 'another value';
    return this.formatter.quote(file, path) ?? other;
  }

  /**
   * Reads and parses a file that a key names, relative to the file with the key. Returns undefined without
   * a name, and after a problem: the file cannot be read, or `parse` throws an Error. Its message follows
   * the name of the file.
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
    try {
      const maxBytes = isSecret ? MAX_SECRET_BYTES : MAX_FILE_BYTES;
      const content = await this.#readText(absolute, maxBytes);
      if (isSecret && isExposed(content)) {
        file.warn(path, `the file ${EXPOSED}`);
      }
      return parse(content, absolute);
    } catch (error) {
      file.add(path, `${absolute} ${messageOf(error)}`);
      return undefined;
    }
  }

  async #readText(path: string, maxBytes: number): Promise<FileContent> {
    const content = await readTextFile(path, maxBytes);
    this.#hash.update(`${path}\0${content.text}\0`);
    return content;
  }

  /** All problems as text, in the order of files and lines. */
  get problems(): readonly string[] {
    const problems = this.#sorted('problems');
    const shown = problems.slice(0, MAX_SHOWN_PROBLEMS).map((one) => this.formatter.format(one));
    const more = problems.length - shown.length;
    return more === 0 ? shown : [...shown, `and ${more} more problems`];
  }

  /** Hash of every file that was read so far. */
  get digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** All warnings as text. Those that differ in their place alone are one. */
  get warnings(): readonly string[] {
    const groups = Map.groupBy(this.#sorted('warnings'), ({ message }) => message);
    return Array.from(groups).flatMap(([text, warnings]) => {
      const others = warnings.length - 1;
      const message = others === 0 ? text : `${text} (and ${others} more of these)`;
      return warnings.slice(0, 1).map((first) => this.formatter.format({ ...first, message }));
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

/** Returns a value without the parts that are invalid: they are undefined, and so are whole records. */
function validPart(type: z.ZodType, value: unknown): unknown {
  const result = type.safeParse(value);
  const inner = innerType(type);
  if (result.success) {
    return result.data;
  }
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => validPart(inner.element as z.ZodType, item));
  }
  const fields = value ?? {};
  if (inner instanceof z.ZodObject && isObject(fields)) {
    const entries = Object.entries<z.ZodType>(inner.shape);
    return Object.fromEntries(entries.map(([key, one]) => [key, validPart(one, fields[key])]));
  }
  return undefined;
}
