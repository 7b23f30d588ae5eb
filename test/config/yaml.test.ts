/** What YAML 1.2 offers and is good in a configuration. What is not: in the corpus. */
import { expect, test } from 'vitest';
import type { CustomerConfig } from '../../src/config/types.ts';
import { load } from './folder.ts';

const SERVICE =
  'service: { base_url: https://statistics.example.org, auth_url: https://identity.example.org }\n';

async function customersOf(text: string): Promise<readonly CustomerConfig[]> {
  return (await load({ 'config.yaml': SERVICE + text })).config.customers;
}

test('anchors and aliases save writing, of any value', async () => {
  const customers = await customersOf(`customers:
  - name: riverside
    client_id: &id shared-api
    client_secret: &secret hunter2hunter2
    timezone: &zone Europe/Copenhagen
    opening_hours: &hours "Mo-Fr 08:00-20:00"
    capacity: &capacity 250
    labels: &labels { region: &region north, kind: *region }
    streams: &streams [people]
  - name: hillside
    client_id: *id
    client_secret: *secret
    timezone: *zone
    opening_hours: *hours
    capacity: *capacity
    labels: *labels
    streams: *streams
`);
  const [first, second] = customers.map(({ clientSecret, ...rest }) => ({
    ...rest,
    name: 'either',
    secret: clientSecret.secret.reveal(),
  }));
  expect(second).toEqual(first);
  expect(second).toMatchObject({
    clientId: 'shared-api',
    secret: 'hunter2hunter2',
    capacity: 250,
    labels: { region: 'north', kind: 'north' },
    streams: ['people'],
  });
});

test('an alias means the last anchor of its name before it', async () => {
  const customers = await customersOf(`customers:
  - { name: &it a, client_id: *it, client_secret: hunter2hunter2, timezone: UTC }
  - { name: &it b, client_id: *it, client_secret: hunter2hunter2, timezone: UTC }
`);
  expect(customers.map(({ clientId }) => clientId)).toEqual(['a', 'b']);
});

test.each([
  [
    'JSON',
    '"customers": [{"name":"riverside","client_id":"0123","client_secret":"hunter2hunter2","timezone":"UTC"}]',
  ],
  [
    'brackets that are closed at the margin',
    'customers: [\n  { name: riverside, client_id: 0123, client_secret: hunter2hunter2, timezone: UTC }\n]',
  ],
  [
    'tabs between words, and before comments',
    'customers:\t# all\n  - name:\triverside\t# one\n    client_id:\t0123\n    client_secret:\thunter2hunter2\n    timezone:\tUTC\t\n\t# end\n',
  ],
  [
    'quotes around keys, and explicit keys',
    'customers:\n  - "name": riverside\n    \'client_id\': 0123\n    ? client_secret\n    : hunter2hunter2\n    timezone: "UTC"',
  ],
  [
    'text over several lines, and a block without a line end',
    'customers:\n  - name: |-\n      riverside\n    client_id: >-\n      0123\n    client_secret:\n      hunter2hunter2\n    timezone: "U\\\n      TC"',
  ],
  [
    'an end of the document',
    'customers:\n- name: riverside\n  client_id: 0123\n  client_secret: hunter2hunter2\n  timezone: UTC\n...\n# end\n',
  ],
])('%s', async (_what, text) => {
  const [customer, ...others] = await customersOf(text);
  expect(others).toEqual([]);
  expect(customer).toMatchObject({ name: 'riverside', clientId: '0123', timezone: 'UTC' });
  expect(customer?.clientSecret.secret.reveal()).toBe('hunter2hunter2');
});

test('words that older YAML took for true and false are text', async () => {
  const [customer] = await customersOf(`customers:
  - { name: on, client_id: yes, client_secret: hunter2hunter2, timezone: UTC, holidays: no }
`);
  expect(customer).toMatchObject({ name: 'on', clientId: 'yes', holidays: 'no' });
});
