/** config.schema.json: the schema of the configuration for editors, as JSON Schema (draft 7). */
import { z } from 'zod';
import { createConfigSchema } from '../../src/config/schema.ts';

type Json = Record<string, unknown>;

const ENVIRONMENT = { $ref: '#/definitions/environment' };
const QUOTED_NUMBER = { $ref: '#/definitions/quotedNumber' };
const QUOTED_TRUTH_VALUE = { $ref: '#/definitions/quotedTruthValue' };
/** Per type of a scalar, what else it may be. */
const ALTERNATIVES = new Map<unknown, readonly Json[]>([
  ['string', [ENVIRONMENT]],
  ['integer', [ENVIRONMENT, QUOTED_NUMBER]],
  ['number', [ENVIRONMENT, QUOTED_NUMBER]],
  ['boolean', [ENVIRONMENT, QUOTED_TRUTH_VALUE]],
]);

/** Accepts whatever the exporter accepts; it cannot know files, time zones or opening hours. */
export function configJsonSchema(): Json {
  const schema: Json = z.toJSONSchema(createConfigSchema(), {
    target: 'draft-7',
    io: 'input',
    override: ({ jsonSchema, zodSchema }) => {
      const { shorthand, ...object } = jsonSchema as Json;
      if (typeof shorthand === 'string') {
        // The object itself is adapted before what converts a text to it.
        delete object['expected'];
        const { [shorthand]: text } = object['properties'] as Json;
        Object.keys(jsonSchema).forEach((key) => delete jsonSchema[key as 'type']);
        Object.assign(jsonSchema, { anyOf: [text, object] });
        return;
      }
      adapt(jsonSchema);
      // Zod leaves out the default of what is converted.
      if (zodSchema instanceof z.ZodDefault && typeof zodSchema.def.defaultValue !== 'object') {
        jsonSchema.default = zodSchema.def.defaultValue as string | number | boolean;
      }
    },
  });
  return {
    ...schema,
    title: 'Configuration of library-stats-exporter',
    anyOf: [{ required: ['customers'] }, { required: ['customer_files'] }],
    definitions: {
      environment: {
        description: 'A text with ${NAME}, which stands for an environment variable.',
        type: 'string',
        pattern: '\\$\\{',
      },
      quotedNumber: {
        description: 'A number in quotes is the number.',
        type: 'string',
        pattern: '^[-+]?(\\d+\\.?\\d*|\\.\\d+)([eE][-+]?\\d+)?$',
      },
      quotedTruthValue: {
        description: 'true or false in quotes is true or false.',
        enum: ['true', 'false'],
      },
    },
  };
}

/** Changes the JSON Schema of one type in place. */
function adapt(schema: Json): void {
  delete schema['expected'];
  delete schema['harmless'];
  const alternatives = ALTERNATIVES.get(schema['type']);
  if (schema['type'] === 'object') {
    adaptObject(schema);
  } else if (alternatives !== undefined) {
    const { description, default: value, ...type } = schema;
    if (type['type'] === 'string' && type['pattern'] === undefined && type['enum'] === undefined) {
      // An id may look like a number.
      type['type'] = ['string', 'number', 'boolean'];
    }
    Object.keys(schema).forEach((key) => delete schema[key]);
    Object.assign(schema, description === undefined ? {} : { description });
    Object.assign(
      schema,
      { anyOf: [type, ...alternatives] },
      value === undefined ? {} : { default: value },
    );
  }
}

function adaptObject(schema: Json): void {
  const required = schema['required'];
  if (!Array.isArray(required) || required.length === 0) {
    // All keys may be commented out.
    schema['type'] = ['object', 'null'];
  } else if (required.includes('client_id')) {
    schema['oneOf'] = [{ required: ['client_secret'] }, { required: ['client_secret_file'] }];
  }
}
