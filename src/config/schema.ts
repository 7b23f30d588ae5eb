/**
 * What JSON Schema (draft 7) can say of a configuration, for editors. The shapes say it of themselves,
 * so that the checks and the schema have one source. Where the two differ the schema is the laxer one.
 */

export type Json = string | number | boolean | null | readonly Json[] | JsonSchema;
export interface JsonSchema {
  readonly [keyword: string]: Json;
}

/** A value, or text with `${NAME}` in it, of which nothing is known before it is filled in. */
export function orEnvironment(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { $ref: '#/definitions/environment' }] };
}

/** At least one `${`, each with a name, or as a literal `$${`. */
const REFERENCES =
  '^(?=[\\s\\S]*\\$\\{)([^$]|\\$\\$\\{|\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}|\\$(?!\\$?\\{))*$';

/** A whole document about what `schema` describes. */
export function documentOf(title: string, schema: JsonSchema): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title,
    ...schema,
    definitions: {
      environment: {
        description: 'With ${NAME} in it: filled in from the environment.',
        type: 'string',
        pattern: REFERENCES,
      },
    },
  };
}

/** What is known of a key of a mapping. */
interface Key {
  readonly shape: { readonly schema: JsonSchema };
  readonly about: string;
  readonly required?: true;
  readonly default?: Json;
}

/** A key with nothing after it is an empty mapping, which will do where no key is required. */
export function schemaOfKeys(table: Readonly<Record<string, Key>>): JsonSchema {
  const keys = Object.entries(table);
  const required = keys.filter(([, rule]) => rule.required === true).map(([key]) => key);
  const properties = keys.map(([key, { about, shape, default: standard }]) => [
    key,
    {
      description: about,
      ...shape.schema,
      ...(standard === undefined ? {} : { default: standard }),
    },
  ]);
  return {
    type: required.length === 0 ? ['object', 'null'] : 'object',
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
  };
}

/** Without control characters, and without `${`: that is for {@link orEnvironment}. */
export const ONE_LINE = '^([^$\\u0000-\\u001f\\u007f-\\u009f]|\\$(?!\\$?\\{))*$';

/** A text in any case, as a pattern: the flags of patterns are not the schema's. */
export function inAnyCase(text: string): string {
  return literally(text).replaceAll(
    /[a-z]/gi,
    (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`,
  );
}

/** A text as a pattern that matches it and nothing else, in JavaScript's and in Go's syntax. */
export function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
