/** One load of a configuration: reads files and validates them, and collects problems and warnings. */
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import { Problems, WHOLE_FILE, YAML_SYNTAX } from './problems.ts';
import { MAX_CONFIG_FILE_BYTES, readTextFile } from './read-file.ts';
import type { FileContent } from './read-file.ts';
import { YamlSource } from './yaml-source.ts';
import type { Path } from './yaml-source.ts';
import { readValues } from './yaml-values.ts';
import type { Environment } from './yaml-values.ts';

export interface LoadedFile<Values> {
  readonly source: YamlSource;
  readonly content: FileContent;
  /** Without problems, nothing is missing. After one, what is valid, as it is written. */
  readonly values: DeepPartial<Values>;
}

export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly (DeepPartial<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T;

export class Loading {
  readonly problems: Problems;
  /** Every file that was read or tried, absolute. */
  readonly files = new Set<string>();
  readonly #env: Environment;

  /** `schema` is that of the main file. */
  constructor(schema: z.ZodType, env: Environment) {
    this.problems = new Problems(schema);
    this.#env = env;
  }

  /** Reads a YAML file and validates it. `name` is the file as the user named it. Undefined if it has no values. */
  async readYaml<Schema extends z.ZodType>(
    name: string,
    schema: Schema,
    path = resolve(name),
  ): Promise<LoadedFile<z.output<Schema>> | undefined> {
    this.files.add(path);
    const content = await readTextFile(path, MAX_CONFIG_FILE_BYTES).catch(messageOf);
    const source = new YamlSource(name, path, typeof content === 'string' ? '' : content.text);
    this.problems.addSource(source);
    if (typeof content === 'string') {
      this.problems.add(source, [WHOLE_FILE], `${path} ${content}`);
      return undefined;
    }
    for (const { range, message } of source.syntaxProblems) {
      this.problems.add(source, [YAML_SYNTAX], message, range);
    }
    if (source.contents === undefined) {
      if (source.syntaxProblems.length === 0) {
        this.problems.add(source, [WHOLE_FILE], 'empty');
      }
      return undefined;
    }
    return { source, content, values: this.#validate(source, schema) };
  }

  #validate<Schema extends z.ZodType>(
    source: YamlSource,
    schema: Schema,
  ): DeepPartial<z.output<Schema>> {
    const value = readValues(source, schema, this.#env, (path, message, range) =>
      this.problems.add(source, path, message, range),
    );
    const result = schema.safeParse(value);
    if (result.success) {
      return result.data as DeepPartial<z.output<Schema>>;
    }
    if (value !== undefined) {
      this.problems.addIssues(source, schema, result.error.issues);
    }
    for (const { code, path } of result.error.issues) {
      // The path of an unknown key is that of its mapping.
      remove(value, code === 'unrecognized_keys' ? [] : path);
    }
    return (isObject(value) ? value : {}) as DeepPartial<z.output<Schema>>;
  }

  /**
   * Reads a file that a key names, relative to the file with the key. Undefined after a problem, be it
   * in the file or that `parse` throws an Error; its message follows the name of the file.
   */
  async readNamed<Result>(
    source: YamlSource,
    path: Path,
    file: string,
    parse: (content: FileContent) => Result,
    maxBytes = MAX_CONFIG_FILE_BYTES,
  ): Promise<Result | undefined> {
    const absolute = resolve(dirname(source.path), file);
    this.files.add(absolute);
    try {
      return parse(await readTextFile(absolute, maxBytes));
    } catch (error) {
      this.problems.add(source, path, `${absolute} ${messageOf(error)}`);
      return undefined;
    }
  }
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Removes the value at a path; an item of a list becomes undefined. */
function remove(value: unknown, path: Path): void {
  const container = path
    .slice(0, -1)
    .reduce<unknown>((inner, step) => (isObject(inner) ? inner[step] : undefined), value);
  const last = path.at(-1);
  if (isObject(container) && last !== undefined) {
    container[last] = undefined;
  }
}
