/** config.example.yaml explains every key of the schema, and its comments are the defaults. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CONFIG, CUSTOMER } from '../../src/config/schema.ts';
import { makeAuthority } from '../support/certificates.ts';
import { load } from './folder.ts';

const EXAMPLE = readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8');
const ALL = EXAMPLE.replaceAll(/^( *)# (\w+: )/gm, '$1$2');

test('config.example.yaml has every key, with a comment that is not empty before its group', () => {
  const keys = new Set<string>();
  for (const schema of [CONFIG, CUSTOMER]) {
    JSON.stringify(z.toJSONSchema(schema, { unrepresentable: 'any' }), (key, value) => {
      Object.keys(key === 'properties' ? value : {}).forEach((one) => keys.add(one));
      return value as unknown;
    });
  }
  expect(keys.size).toBeGreaterThan(30);
  expect(
    [...keys].filter((key) => !new RegExp(`^[ {]*(- |# |.*[{,] )?${key}: ?`, 'm').test(EXAMPLE)),
  ).toEqual([]);
});

test('config.example.yaml is valid, also with what it has commented out: the defaults', async () => {
  const files = {
    'ca.pem': (await makeAuthority()).cert,
    'customers/more.yaml': '- { name: more, client_id: m, client_secret: hunter3hunter3 }\n',
    'secrets/riverside': 'hunter2',
    'secrets/northern-jutland': 'hunter2',
  };
  const env = { HILLSIDE_SECRET: 'hunter2hunter2' };
  const { config } = await load({ ...files, 'config.yaml': EXAMPLE }, env);
  const { config: all } = await load({ ...files, 'config.yaml': ALL }, env);
  const names = ['riverside', 'hillside', 'northern-jutland'];
  expect(config.customers.map(({ name }) => name)).toEqual(names);
  expect(all.customers.map(({ name }) => name)).toEqual([...names, 'more']);
  expect(all.polling).toEqual(config.polling);
  expect(all.service).toEqual({
    ...config.service,
    proxyUrl: 'http://proxy.example.org:3128',
    ca: files['ca.pem'],
  });
});
