/** Reads and validates the files of one load of a configuration, and collects problems and warnings. */
import { createHash } from 'node:crypto';
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { closestMatch } from 'leven';
import type { z } from 'zod';
import { ConfigError, messageOf } from '../base/errors.ts';
import { readTextFile } from '../base/files.ts';
import type { FileContent } from '../base/files.ts';
import { EXPOSED, isExposed, MAX_SECRET_BYTES } from './credentials.ts';
import { ProblemFormatter } from './problems.ts';
import type { SchemaKeys } from './problems.ts';
import { FOUND, isMapping, isPath } from './values.ts';
import { YamlFile } from './yaml-file.ts';
import type { Path, Place, Problem } from './yaml-file.ts';

const MAX_FILE_BYTES = 4 * 1_048_576;
const MAX_SHOWN_PROBLEMS = 1_000;
/** Files of customers that are searched or found, of all patterns together. Without a limit, `/**` takes minutes and all memory. */
const MAX_SEARCHED_FILES = 100_000;

export interface LoadResult<Config> {
  readonly config: Config;
  /** Hash of every file that was read: YAML files, secrets, certificates, keys. */
  readonly digest: string;
  /** What works but should be changed, each with its place. */
  readonly warnings: readonly string[];
}

/** Made for one load. */
export class ConfigReader {
  readonly formatter: ProblemFormatter;
  readonly #hash = createHash('sha256');
  readonly #env: NodeJS.ProcessEnv;
  readonly #yamlFiles: YamlFile[] = [];

  /** `keys` are those of the files; `env` is what `${NAME}` stands for. */
  constructor(env: NodeJS.ProcessEnv, keys: SchemaKeys) {
    this.formatter = new ProblemFormatter(keys);
    this.#env = env;
  }

  /** Reads a YAML file. `name` is the file as the user named it. */
  async readYaml(name: string): Promise<YamlFile> {
    const content = await this.#readText(resolve(name), MAX_FILE_BYTES).catch(messageOf);
    const file = new YamlFile(name, content, this.#env);
    this.#yamlFiles.push(file);
    return file;
  }

  /** Returns what a part of a file says, with defaults. Undefined if it is invalid, which is a problem, or missing. */
  validate<Schema extends z.ZodType>(
    schema: Schema,
    { file, path }: Place,
  ): z.output<Schema> | undefined {
    const value = file.valueAt(path);
    const { data, error } =
      value === undefined ? {} : schema.safeParse(value, { reportInput: true });
    for (const issue of error?.issues ?? []) {
      this.#addIssue(file, [...path, ...issue.path], issue);
    }
    return data;
  }

  #addIssue(file: YamlFile, path: Path, issue: z.core.$ZodIssue): void {
    const { code, message, input } = issue;
    if (code === 'unrecognized_keys') {
      // The path is that of the mapping, the message the list of its keys.
      issue.keys.forEach((key) => file.add([...path, key], unknownKey(key, message), 'key'));
    } else if (code === 'invalid_key') {
      const [problem = issue] = issue.issues;
      file.add(path, problem.message.replace(FOUND, 'another key'), 'key');
    } else {
      const quoted = this.formatter.quote(file, path);
      const isWrongText = typeof input === 'string' && code !== 'invalid_type';
      const found = quoted ?? (isWrongText ? 'another value' : typeOf(input));
      const unquoted = code === 'custom' ? (issue.params?.['unquoted'] as string) : undefined;
      const text = quoted === undefined ? (unquoted ?? message) : message;
      file.add(path, text.split(FOUND).join(found));
    }
  }

  /**
   * Reads and parses a file that the text at a path names, relative to the file with the text. Returns undefined
   * without a name, and after a problem: the file cannot be read, or `parse` throws an Error. Its message follows
   * the name of the file.
   */
  async readNamed<Result>(
    file: YamlFile,
    path: Path,
    parse: (content: FileContent, path: string) => Result,
    isSecret = false,
  ): Promise<Result | undefined> {
    const name = file.valueAt(path);
    if (typeof name !== 'string' || !isPath(name)) {
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

/**
 * Returns the files of customers in the order of the patterns and by name, relative ones to the file of the patterns.
 * Reports patterns that match none or too many.
 */
export async function findCustomerFiles(
  file: YamlFile,
  patterns: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  let files = 0;
  /** `glob` asks for each file and folder below `**`, and for each folder that another part matches. */
  function isTooMany(): boolean {
    files += 1;
    return files > MAX_SEARCHED_FILES;
  }
  for (const [i, pattern] of patterns.entries()) {
    const names: string[] = [];
    for await (const name of glob(pattern, { cwd: dirname(file.path), exclude: isTooMany })) {
      if (isTooMany()) {
        break;
      }
      names.push(isAbsolute(name) ? name : join(dirname(file.name), name));
    }
    if (names.length === 0 || files > MAX_SEARCHED_FILES) {
      const got = files > MAX_SEARCHED_FILES ? 'more' : 'none';
      file.add(['customer_files', i], `expected 1 to ${MAX_SEARCHED_FILES} files, got ${got}`);
    }
    names.toSorted().forEach((name) => found.add(name));
  }
  return files > MAX_SEARCHED_FILES ? new Set() : found;
}

/** Throws a ConfigError if there are problems. */
export function failOn(problems: readonly string[]): void {
  if (problems.length > 0) {
    throw new ConfigError(problems.join('\n'), problems.length);
  }
}

function unknownKey(key: string, keys: string): string {
  // One of three characters may be different, two at most.
  const maxDistance = Math.min(2, Math.ceil(key.length / 3));
  const nearest = closestMatch(key.toLowerCase(), keys.split(', '), { maxDistance });
  return `unknown key, ${nearest ? `did you mean ${nearest}?` : `expected one of ${keys}`}`;
}

function typeOf(value: unknown): string {
  if (value === undefined || value === null) {
    return value === undefined ? 'nothing' : 'an empty value';
  }
  return Array.isArray(value) ? 'a list' : isMapping(value) ? 'a mapping' : 'a string';
}
