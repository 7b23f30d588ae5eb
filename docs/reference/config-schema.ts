/** config.schema.json: the schema of the configuration for editors, as JSON Schema (draft 7). */
import { z } from 'zod';
import { createConfigSchema } from '../../src/config/schema.ts';

type Json = Record<string, unknown>;

const ENVIRONMENT = { $ref: '#/definitions/environment' };
const SCALARS = new Set<unknown>(['string', 'integer', 'number', 'boolean']);

/** Accepts whatever the exporter accepts; it cannot know files, time zones or opening hours. */
export function configJsonSchema(): Json {
  const schema: Json = z.toJSONSchema(createConfigSchema(), {
    target: 'draft-7',
    io: 'input',
    override: ({ jsonSchema }) => adapt(jsonSchema),
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
    },
  };
}

/** Changes the JSON Schema of one type in place. */
function adapt(schema: Json): void {
  delete schema['expected'];
  delete schema['harmless'];
  if (schema['type'] === 'object') {
    adaptObject(schema);
  } else if (SCALARS.has(schema['type'])) {
    const { description, default: value, ...type } = schema;
    if (type['type'] === 'string' && type['pattern'] === undefined && type['enum'] === undefined) {
      // An id may look like a number.
      type['type'] = ['string', 'number', 'boolean'];
    }
    Object.keys(schema).forEach((key) => delete schema[key]);
    Object.assign(schema, description === undefined ? {} : { description });
    Object.assign(
      schema,
      { anyOf: [type, ENVIRONMENT] },
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
