/** The values of a YAML file, in the form that a schema expects. */
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Pair } from 'yaml';
import { z } from 'zod';
import type { Path, YamlSource } from './yaml-source.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ReadProblem {
  readonly path: Path;
  /** Quotes nothing from the file. */
  readonly message: string;
  /** For a key that is there twice, where the second one is. */
  readonly start?: number | undefined;
}

/** The limit on what aliases may expand to. */
const MAX_ENTRIES = 1_000_000;

/**
 * Reads a file as the schema expects it: a text field gets a scalar as it is written (`client_id: 0123`),
 * with `${NAME}` expanded. What does not fit is left for the schema to reject; what is unknown is not
 * read, so that aliases cannot expand it.
 */
export function readValues(
  source: YamlSource,
  schema: z.ZodType,
  env: Environment,
): { readonly value: unknown; readonly problems: readonly ReadProblem[] } {
  const reader = new Reader(source, env);
  const value = reader.value(source.contents, schema, []);
  return { value: reader.isTooLarge ? undefined : value, problems: reader.problems };
}

class Reader {
  readonly problems: ReadProblem[] = [];
  readonly #source: YamlSource;
  readonly #env: Environment;
  #entries = 0;

  constructor(source: YamlSource, env: Environment) {
    this.#source = source;
    this.#env = env;
  }

  value(node: unknown, type: z.ZodType, path: Path): unknown {
    const schema = innerType(type);
    const target = this.#source.resolve(node);
    if (isMap(target)) {
      return this.#mapping(target.items, schema, path);
    }
    if (isSeq(target)) {
      return schema instanceof z.ZodArray && this.#mayExpand(target.items.length, path)
        ? target.items.map((one, i) => this.value(one, schema.element as z.ZodType, [...path, i]))
        : [];
    }
    if (isAlias(target)) {
      this.#report(path, 'unknown anchor; put a value that begins with * in quotes');
    }
    const { value = null, source = '' } = isScalar(target) ? target : {};
    if (value === null) {
      // All entries of a mapping may be commented out.
      return schema instanceof z.ZodObject || schema instanceof z.ZodRecord ? {} : null;
    }
    const written = typeof value === 'string' ? value : source;
    const text = this.#expand(written, path);
    if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) {
      return text;
    }
    // A scalar with ${NAME} has no type of its own, quoted or not.
    return typeof value === 'string' && text === written ? value : typed(text);
  }

  #mapping(pairs: readonly Pair[], schema: z.ZodType, path: Path): Record<string, unknown> {
    const result: Record<string, unknown> = Object.create(null);
    const isRecord = schema instanceof z.ZodRecord;
    if (!(isRecord || schema instanceof z.ZodObject) || !this.#mayExpand(pairs.length, path)) {
      return result;
    }
    for (const pair of pairs) {
      const at = [...path, this.#source.keyOf(pair)];
      if (isRecord) {
        this.#source.expandKey(pair, this.#expand(this.#source.keyOf(pair), at));
      }
      const key = this.#source.keyOf(pair);
      if (key === '__proto__') {
        // Zod drops it without a word.
        this.#report([...path, key], 'unsupported key');
        continue;
      }
      if (Object.hasOwn(result, key)) {
        const { line } = this.#source.position(this.#source.locate([...path, key], 'key').start);
        const message = `duplicate key, first given in line ${line}`;
        this.problems.push({
          path: at,
          message,
          start: isScalar(pair.key) ? pair.key.range?.[0] : undefined,
        });
        continue;
      }
      const type = (isRecord ? schema.valueType : schema.shape[key]) as z.ZodType | undefined;
      result[key] = type === undefined ? null : this.value(pair.value, type, [...path, key]);
    }
    return result;
  }

  get isTooLarge(): boolean {
    return this.#entries > MAX_ENTRIES;
  }

  #mayExpand(entries: number, path: Path): boolean {
    const wasTooLarge = this.isTooLarge;
    this.#entries += entries;
    if (!wasTooLarge && this.isTooLarge) {
      this.#report(path, `more than ${MAX_ENTRIES} entries, with aliases expanded`);
    }
    return !this.isTooLarge;
  }

  /** `${NAME}` is the environment's value, `$${` a literal `${`. Values are not expanded again. */
  #expand(text: string, path: Path): string {
    return text.includes('${')
      ? text.replaceAll(/\$\$\{|\$\{([^}]*)(\}?)/g, (whole, name: string, end: string) =>
          whole === '$${' ? '${' : this.#variable(end === '' ? '' : name, path),
        )
      : text;
  }

  #variable(name: string, path: Path): string {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      this.#report(path, 'expected ${NAME}, or $${ for a literal ${');
      return '';
    }
    const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
    if (value === undefined) {
      this.#report(path, `environment variable ${name} is not set; write $\${ for a literal \${`);
    }
    return value ?? '';
  }

  #report(path: Path, message: string): void {
    this.problems.push({ path, message });
  }
}

/** The type under defaults and optionality. */
export function innerType(type: z.ZodType): z.ZodType {
  let inner = type;
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault
  ) {
    inner = inner.unwrap() as z.ZodType;
  }
  return inner;
}

/** A number in decimal digits (0x10, 1e3 and 0123 are not what was meant), a boolean, or the text. */
function typed(text: string): unknown {
  if (/^(true|false)$/i.test(text)) {
    return text.toLowerCase() === 'true';
  }
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? Number(text) : text;
}
