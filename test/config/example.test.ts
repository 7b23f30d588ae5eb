import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { allKeys } from '../../src/config/keys.ts';
import type { CustomerConfig } from '../../src/config/types.ts';
import { load } from './folder.ts';

const text = await readFile(new URL('../../config.example.yaml', import.meta.url), 'utf8');
const pem = await readFile(new URL('testdata/ca.pem', import.meta.url), 'utf8');
const files = {
  'secrets/riverside': 'hunter2hunter2\n',
  'ca.pem': pem,
  'customers/more.yaml': '- { name: more, client_id: m, client_secret: hunter3hunter3 }\n',
};
const env = { HILLSIDE_SECRET: 'hunter4hunter4' };
/** Comments that are keys: one word, a colon, and a value. */
const everything = text.replaceAll(/^( *)# (\w+: )/gm, '$1$2');

test('the example loads as it is', async () => {
  const { config } = await load({ ...files, 'config.yaml': text }, env);
  expect(config.customers.map(({ name }) => name)).toEqual(['riverside', 'hillside']);
});

test('the defaults in its comments are the defaults', async () => {
  const asIs = (await load({ ...files, 'config.yaml': text }, env)).config;
  const { config } = await load({ ...files, 'config.yaml': everything }, env);
  expect(config.polling).toEqual(asIs.polling);
  expect(config.service).toEqual({
    ...asIs.service,
    maxRequestsPerSecond: 50,
    proxyUrl: 'http://proxy.example.org:3128',
    ca: pem,
  });
  expect(config.customers.slice(0, 2).map(withoutSecret)).toEqual(
    asIs.customers.map(withoutSecret),
  );
  expect(config.customers).toHaveLength(3);
});

function withoutSecret(customer: CustomerConfig): Omit<CustomerConfig, 'clientSecret'> {
  const { clientSecret: _, ...rest } = customer;
  return rest;
}

test('it has every key', () => {
  const keys = new Set(
    Array.from(everything.matchAll(/(?:^|[ -])(\w+):(?= |$)/gm), (match) => match[1]),
  );
  const missing = [...allKeys().keys()].filter((path) => !keys.has(path.split('.').at(-1)));
  expect(allKeys().size).toBe(32);
  expect(missing).toEqual([]);
});
