/** Mappings of the configuration whose keys are the person's own. */
import { entriesOf, joinPath, MERGE_KEY, MERGED, withoutDuplicates } from './entries.ts';
import { expand } from './expand.ts';
import { spend } from './lists.ts';
import { orEnvironment } from './schema.ts';
import type { JsonSchema } from './schema.ts';
import { wordFor } from './shapes.ts';
import type { Shape } from './shapes.ts';
import type { Place } from './source.ts';

export interface FreeKeys {
  readonly expects: string;
  readonly most: number;
  /** What is wrong with a key, and after a colon what would be right; or undefined. */
  readonly keyProblem: (key: string) => string | undefined;
  /** What JSON Schema can say of a good key. */
  readonly keySchema: JsonSchema;
}

/** A mapping whose keys are the person's own. The record has no prototype: its keys are all there is. */
export function record(
  value: Shape<string>,
  rules: FreeKeys,
): Shape<Readonly<Record<string, string>>> {
  return {
    expects: rules.expects,
    schema: {
      type: ['object', 'null'],
      propertyNames: orEnvironment(rules.keySchema),
      additionalProperties: value.schema,
      maxProperties: rules.most,
    },
    read(node, path, reader) {
      function fail(place: Place, at: string, message: string): undefined {
        reader.problems.add({ place, path: at, message });
      }
      const all = entriesOf(node);
      if (all === undefined) {
        return fail(node.place, path, `is ${wordFor(node)}: give ${rules.expects}`);
      }
      if (all.length > rules.most) {
        return fail(node.place, path, `has more than ${rules.most} entries: give fewer`);
      }
      if (!spend(reader, node, path, all.length)) {
        return undefined;
      }
      const result: Record<string, string> = Object.create(null);
      for (const entry of withoutDuplicates(all, path, reader)) {
        const at = joinPath(path, entry.key);
        const key = expand(entry.key, reader.environment);
        const merged = entry.key === MERGE_KEY ? MERGED : undefined;
        const problem = key.problem ?? merged ?? rules.keyProblem(key.text);
        if (problem !== undefined) {
          fail(entry.keyPlace, at, problem);
        } else if (Object.hasOwn(result, key.text)) {
          fail(entry.keyPlace, at, 'is the same as another key here: remove one of them');
        } else {
          result[key.text] = value.read(entry.value, at, reader) ?? '';
        }
      }
      return result;
    },
  };
}
