/**
 * What JSON Schema can say of the checks of several keys together, which are in service.ts,
 * customers.ts and load.ts.
 */
import { INSECURE_URL } from './values.ts';

/** Plain http to another machine only where that is allowed. */
export const SECURE_OR_ALLOWED = {
  anyOf: [
    { required: ['allow_insecure'], properties: { allow_insecure: { not: { const: false } } } },
    { properties: { base_url: { not: INSECURE_URL }, auth_url: { not: INSECURE_URL } } },
  ],
};

/** In the file, or in one of its own. */
export const ONE_SECRET = {
  oneOf: [{ required: ['client_secret'] }, { required: ['client_secret_file'] }],
};

const WITH_TIMEZONE = { type: 'object', required: ['timezone'] };

export const CUSTOMERS_AND_ZONES = {
  allOf: [
    {
      description: 'There are customers, here or in customer_files.',
      anyOf: ['customers', 'customer_files'].map((key) => ({
        required: [key],
        properties: { [key]: { type: 'array', minItems: 1 } },
      })),
    },
    {
      description: 'Every customer has a time zone, of its own or by default.',
      anyOf: [
        { required: ['defaults'], properties: { defaults: WITH_TIMEZONE } },
        { properties: { customers: { type: 'array', items: WITH_TIMEZONE } } },
      ],
    },
  ],
};
