/** The values of a YAML file, in the form that a schema expects. */
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Pair } from 'yaml';
import { z } from 'zod';
import { innerType } from './values.ts';
import { expandKey, keyOf, rangeOf } from './yaml-source.ts';
import type { Path, Range, YamlSource } from './yaml-source.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The message quotes nothing from the file. */
type Report = (path: Path, message: string, range?: Range) => void;

/** The limit on what aliases may expand to. */
const MAX_ENTRIES = 1_000_000;

/**
 * Reads a file as the schema expects it: a text field gets a scalar as it is written (`client_id: 0123`),
 * with `${NAME}` expanded. What does not fit is left for the schema to reject. What is unknown is not
 * read, so that aliases cannot expand it. Undefined if there is too much.
 */
export function readValues(
  source: YamlSource,
  schema: z.ZodType,
  env: Environment,
  report: Report,
): unknown {
  let entries = 0;

  function read(node: unknown, type: z.ZodType, path: Path): unknown {
    const inner = innerType(type);
    const target = source.resolve(node);
    if (isMap(target)) {
      return readMapping(target.items, inner, path);
    }
    if (isSeq(target)) {
      return inner instanceof z.ZodArray && mayExpand(target.items.length, path)
        ? target.items.map((item, i) => read(item, inner.element as z.ZodType, [...path, i]))
        : [];
    }
    if (isAlias(target)) {
      report(path, 'unknown anchor; put a value that begins with * in quotes');
    }
    const { value = null, source: written = '' } = isScalar(target) ? target : {};
    if (value === null) {
      // All entries of a mapping may be commented out.
      return inner instanceof z.ZodObject || inner instanceof z.ZodRecord ? {} : null;
    }
    const text = expand(written, path);
    if (inner instanceof z.ZodString || inner instanceof z.ZodEnum) {
      return text;
    }
    // A scalar with ${NAME} has no type of its own, quoted or not.
    return typeof value === 'string' && text === written ? value : typed(text);
  }

  function readMapping(pairs: readonly Pair[], type: z.ZodType, path: Path) {
    const result: Record<string, unknown> = Object.create(null);
    const isRecord = type instanceof z.ZodRecord;
    if (!(isRecord || type instanceof z.ZodObject) || !mayExpand(pairs.length, path)) {
      return result;
    }
    for (const pair of pairs) {
      const written = keyOf(pair);
      if (isRecord) {
        expandKey(pair, (text) => expand(text, [...path, written]));
      }
      const key = keyOf(pair);
      const at = [...path, key];
      // Zod ignores __proto__ silently.
      if (key === '__proto__' || Object.hasOwn(result, key)) {
        const message = key === '__proto__' ? 'unsupported key' : 'duplicate key';
        report(at, message, rangeOf(pair.key));
        continue;
      }
      const valueType = (isRecord ? type.valueType : type.shape[key]) as z.ZodType | undefined;
      result[key] = valueType === undefined ? null : read(pair.value, valueType, at);
    }
    return result;
  }

  /** Reports the first time that there are too many. */
  function mayExpand(more: number, path: Path): boolean {
    if (entries <= MAX_ENTRIES && entries + more > MAX_ENTRIES) {
      report(path, `more than ${MAX_ENTRIES} entries, with aliases expanded`);
    }
    entries += more;
    return entries <= MAX_ENTRIES;
  }

  /** `${NAME}` is the environment's value, `$${` a literal `${`. Values are not expanded again. */
  function expand(text: string, path: Path): string {
    return text.replaceAll(/\$\$\{|\$\{([^}]*)(\}?)/g, (whole, name: string, end: string) => {
      if (whole === '$${') {
        return '${';
      }
      const isName = end !== '' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
      const value = isName && Object.hasOwn(env, name) ? env[name] : undefined;
      if (value === undefined) {
        const problem = isName ? `environment variable ${name} is not set` : 'expected ${NAME}';
        report(path, `${problem}; write $\${ for a literal \${`);
      }
      return value ?? '';
    });
  }

  const value = read(source.contents, schema, []);
  return entries > MAX_ENTRIES ? undefined : value;
}

/** A number in decimal digits (0x10, 1e3 and 0123 are not what was meant), a boolean, or the text. */
function typed(text: string): unknown {
  if (/^(true|false)$/i.test(text)) {
    return text.toLowerCase() === 'true';
  }
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? Number(text) : text;
}
