/** The configuration as people may see it: YAML with the values that the schema calls harmless. */
import { stringify } from 'yaml';
import { z } from 'zod';
import type { CustomerFileEntry } from './checks.ts';
import type { ProblemFormatter } from './problems.ts';
import type { ValidatedFile } from './reader.ts';
import type { ConfigFile, createConfigSchema } from './schema.ts';
import { innerType, metaOf } from './values.ts';
import type { Path, YamlFile } from './yaml-file.ts';

/** Stands for secrets, for what may hold one, and for what comes from the environment. */
const HIDDEN = '<secret>';

/** Returns the configuration as YAML, with defaults and with the customers of all files. */
export function showConfig(
  { file: main, values }: ValidatedFile<ConfigFile>,
  entries: readonly CustomerFileEntry[],
  schema: ReturnType<typeof createConfigSchema>,
  formatter: ProblemFormatter,
): string {
  const { customers: _, ...sections } = values;

  function show(type: z.ZodType, value: unknown, file: YamlFile, path: Path): unknown {
    const inner = innerType(type);
    if (value === undefined) {
      return undefined;
    }
    if (inner instanceof z.ZodObject || inner instanceof z.ZodRecord) {
      const shown = Object.entries(value as object).map(([key, one]) => {
        const oneType = inner instanceof z.ZodObject ? inner.shape[key] : inner.valueType;
        const keyPath = [...path, key];
        const isKept = isWritten(file, keyPath, 'key') && !formatter.isSecret(key);
        const { shorthand } = metaOf(type);
        const onePath = key === shorthand && !file.has(keyPath) ? path : keyPath;
        return [isKept ? key : HIDDEN, show(oneType as z.ZodType, one, file, onePath)];
      });
      return Object.fromEntries(shown);
    }
    const isShown = metaOf(type).harmless === true && isWritten(file, path);
    return isShown && !formatter.isSecret(value) ? value : HIDDEN;
  }

  const others = show(schema, sections, main, []);
  const customer = schema.shape.customers.unwrap().element;
  // A line of JSON, which is YAML, for each customer: of 10,000 it takes a twentieth of the time.
  const lines = entries.map(
    (entry) => `  - ${JSON.stringify(show(customer, entry.values, entry.file, entry.path))}\n`,
  );
  return `${stringify(others)}customers:\n${lines.join('')}`;
}

/** Whether a value, or a key, is as the file or a default has it, and not from the environment. */
function isWritten(file: YamlFile, path: Path, part?: 'key'): boolean {
  return !file.hasVariables || !file.has(path) || !file.textAt(path, part).includes('${');
}
