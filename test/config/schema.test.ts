/** config.example.yaml explains every key of the schema. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createConfigSchema } from '../../src/config/schema.ts';
import { innerType } from '../../src/config/values.ts';
import { makeAuthority } from '../support/certificates.ts';
import { load } from './folder.ts';

const EXAMPLE = readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8');

/** The names of the keys of a type, at every level. */
function keysOf(type: z.ZodType): readonly string[] {
  const inner = innerType(type);
  if (inner instanceof z.ZodObject) {
    const shape: Readonly<Record<string, z.ZodType>> = inner.shape;
    return Object.entries(shape).flatMap(([key, value]) => [key, ...keysOf(value)]);
  }
  if (inner instanceof z.ZodArray) {
    return keysOf(inner.element as z.ZodType);
  }
  return inner instanceof z.ZodRecord ? keysOf(inner.valueType as z.ZodType) : [];
}

test('config.example.yaml has every key, with a comment that is not empty before its group', () => {
  const keys = [...new Set(keysOf(createConfigSchema()))];
  expect(keys.length).toBeGreaterThan(30);
  expect(
    keys.filter((key) => !new RegExp(`^[ {]*(- |# |.*[{,] )?${key}: ?`, 'm').test(EXAMPLE)),
  ).toEqual([]);
});

test('config.example.yaml is valid, also with what it has commented out', async () => {
  const env = { HILLSIDE_SECRET: 'hunter2hunter2' };
  const secrets = { 'secrets/riverside': 'hunter2', 'secrets/northern-jutland': 'hunter2' };
  const ca = makeAuthority().cert;
  const all = EXAMPLE.replaceAll(/^( *)# (\w+: )/gm, '$1$2');
  for (const text of [EXAMPLE, all]) {
    const files = { 'config.yaml': text, 'ca.pem': ca, 'customers/more.yaml': '[]', ...secrets };
    const { config } = await load(files, env);
    expect(config.customers.map(({ name }) => name)).toEqual([
      'riverside',
      'hillside',
      'northern-jutland',
    ]);
  }
});
