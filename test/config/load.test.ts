import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configWith, folderOf, load, problemsOf } from './folder.ts';

test('a small configuration is whole, with every default filled in', async () => {
  const { config, warnings } = await load({ 'config.yaml': configWith({}) });
  expect(warnings).toEqual([]);
  expect(config).toMatchObject({
    service: {
      baseUrl: 'https://statistics.example.org',
      authUrl: 'https://identity.example.org',
      scope: 'ServiceAPI',
      timeoutMs: 10_000,
      maxConcurrency: 32,
      maxRequestsPerSecond: 10,
      allowInsecure: false,
      proxyUrl: undefined,
      ca: undefined,
    },
    polling: { intervalMs: 60_000, reconcileIntervalMs: 3_600_000, breakdownIntervalMs: 300_000 },
    customers: [
      {
        name: 'riverside',
        clientId: 'riverside-api',
        timezone: 'Europe/Copenhagen',
        dayStartsAt: { hour: 4, minute: 0 },
        capacity: undefined,
        openingHours: undefined,
        holidays: undefined,
        labels: {},
        streams: ['people', 'logins'],
        breakdowns: [],
        branches: {},
      },
    ],
  });
  expect(config.customers[0]?.clientSecret.secret.reveal()).toBe('hunter2hunter2');
  expect(config.customers[0]?.clientSecret.path).toBeUndefined();
});

test('values, numbers as text and a slash at the end of a URL are taken as they are meant', async () => {
  const { config } = await load({
    'config.yaml': configWith({
      service: 'max_requests_per_second: 0.5\nproxy_url: http://proxy.example.org:3128/',
      customer: [
        'day_starts_at: "05:30"',
        'capacity: 250',
        'opening_hours: "Mo-Fr 08:00-20:00; PH off"',
        'holidays: DE-by',
        'labels: { region: 7, open: true, __proto: "" }'.replace('__proto', '_x'),
        'streams: [logins, people]',
        'breakdowns: [device, branch]',
        'branches: { 0101: Main Library, constructor: No }',
      ].join('\n'),
    }).replace('statistics.example.org', 'statistics.example.org/library/'),
  });
  expect(config.service).toMatchObject({
    baseUrl: 'https://statistics.example.org/library',
    maxRequestsPerSecond: 0.5,
    proxyUrl: 'http://proxy.example.org:3128',
  });
  expect(config.customers[0]).toMatchObject({
    dayStartsAt: { hour: 5, minute: 30 },
    capacity: 250,
    holidays: 'de-by',
    labels: { region: '7', open: 'true', _x: '' },
    streams: ['people', 'logins'],
    breakdowns: ['branch', 'device'],
    branches: { '0101': 'Main Library', constructor: 'No' },
  });
  expect(config.customers[0]?.labels['constructor']).toBeUndefined();
});

test('defaults count for a customer that does not say otherwise', async () => {
  const { config } = await load({
    'config.yaml': configWith({
      more: [
        '  - { name: hillside, client_id: h, client_secret: hunter3hunter3 }',
        'defaults: { timezone: Europe/London, day_starts_at: "03:00" }',
      ].join('\n'),
    }),
  });
  expect(config.customers).toMatchObject([
    { timezone: 'Europe/Copenhagen', dayStartsAt: { hour: 3, minute: 0 } },
    { timezone: 'Europe/London', dayStartsAt: { hour: 3, minute: 0 } },
  ]);
});

test('http is good on loopback, and elsewhere with allow_insecure', async () => {
  for (const host of ['localhost:1', '127.0.0.1:8080', '[::1]:9', 'a.localhost']) {
    const text = configWith({}).replace('https://statistics.example.org', `http://${host}`);
    expect((await load({ 'config.yaml': text })).config.service.baseUrl).toBe(`http://${host}`);
  }
  const text = configWith({ service: 'allow_insecure: true' }).replaceAll('https:', 'http:');
  expect((await load({ 'config.yaml': text })).config.service.allowInsecure).toBe(true);
});

test('the limit on requests is twice the need where that is above 10', async () => {
  const customers = Array.from(
    { length: 20 },
    (_, i) => `  - { name: c${i}, client_id: c, client_secret: hunter3hunter3, timezone: UTC }`,
  );
  const { config } = await load({
    'config.yaml': configWith({ polling: 'interval: 1s', more: customers.join('\n') }),
  });
  expect(config.service.maxRequestsPerSecond).toBe(84);
});

test('secrets are read from files, relative to the file that names them', async () => {
  const folder = await folderOf({
    'config.yaml': configWith({ more: 'customer_files: ["customers/*.yaml"]' }).replace(
      'client_secret: hunter2hunter2',
      'client_secret_file: secrets/riverside',
    ),
    'secrets/riverside': 'line one\r\nline two \r\n',
    'customers/b.yaml': '- { name: b, client_id: b, client_secret_file: b.secret, timezone: UTC }',
    'customers/b.secret': 'of b',
    'customers/a.yaml': '- { name: a, client_id: a, client_secret: of a, timezone: UTC }',
    'customers/.hidden.yaml': 'nonsense',
  });
  const { config, files } = await loadConfig({ path: join(folder, 'config.yaml'), env: {} });
  expect(config.customers.map((customer) => customer.name)).toEqual(['riverside', 'a', 'b']);
  expect(config.customers.map((customer) => customer.clientSecret.secret.reveal())).toEqual([
    'line one\r\nline two ',
    'of a',
    'of b',
  ]);
  expect(config.customers[2]?.clientSecret.path).toBe(join(folder, 'customers/b.secret'));
  expect(files).toEqual(
    [
      'config.yaml',
      'customers/a.yaml',
      'customers/b.yaml',
      'secrets/riverside',
      'customers/b.secret',
    ].map((name) => join(folder, name)),
  );
});

test('a file with certificates is read, and its text kept', async () => {
  const pem = await readFile(new URL('testdata/ca.pem', import.meta.url), 'utf8');
  const files = { 'config.yaml': configWith({ service: 'ca_file: ca.pem' }), 'ca.pem': pem };
  expect((await load(files)).config.service.ca).toBe(pem);
});

test('a section with everything in it commented out is as if it were not there', async () => {
  const text = configWith({ customer: 'labels:', more: 'polling:\ndefaults:' });
  expect((await load({ 'config.yaml': text })).config.polling.intervalMs).toBe(60_000);
});

test('a secret file that others can read is a warning', async () => {
  const folder = await folderOf({
    'config.yaml': configWith({}).replace(
      'client_secret: hunter2hunter2',
      'client_secret_file: secret',
    ),
    secret: 'hunter2hunter2\n',
  });
  await chmod(join(folder, 'secret'), 0o644);
  const { warnings } = await loadConfig({ path: join(folder, 'config.yaml'), env: {} });
  expect(warnings.map((warning) => warning.replace(`${folder}/`, ''))).toEqual([
    [
      'config.yaml:7:25: customers[0].client_secret_file: the file can be read by its group or by others: chmod it to 600 or 400',
      '      client_secret_file: secret',
      '                          ^^^^^^',
    ].join('\n'),
  ]);
});

test('a byte-order mark, CRLF, anchors, aliases and comments are good', async () => {
  const text = configWith({
    customer: 'labels: &north { region: north } # of all',
    more: '  - { name: b, client_id: b, client_secret: hunter3hunter3, timezone: UTC, labels: *north }',
  });
  const { config } = await load({ 'config.yaml': `\uFEFF${text.replaceAll('\n', '\r\n')}` });
  expect(config.customers.map(({ labels }) => labels)).toEqual([
    { region: 'north' },
    { region: 'north' },
  ]);
});

test('all problems of all files are told, in the order of the files and of their lines', async () => {
  const text = configWith({
    customer: 'capacity: many',
    more: 'customer_files: [b.yaml, "c*.yaml"]',
  });
  expect(
    await problemsOf({
      'config.yaml': text.replace('base_url', 'base_ulr'),
      'b.yaml': '- nmae: b\n  client_id: b\n  client_secret: hunter3hunter3\n',
      'c1.yaml': 'customers: []\n',
    }),
  ).toBe(`config.yaml:2:3: service.base_ulr: is not a known key: did you mean base_url?
    base_ulr: [redacted]
    ^^^^^^^^
config.yaml:9:15: customers[0].capacity: is text: give a whole number from 1 to 10000000 without quotes, as in 250
      capacity: many
                ^^^^
config.yaml:10:26: customer_files[1]: matches this file itself: put the files of customers into a directory
  customer_files: [b.yaml, "c*.yaml"]
                           ^^^^^^^^^
b.yaml:1:3: [0].nmae: is not a known key: did you mean name?
  - nmae: [redacted]
    ^^^^
b.yaml:1:3: [0].timezone: is missing: give an IANA name, as in Europe/Copenhagen, here or in defaults
  - nmae: [redacted]
    ^^^^^^^^^^^^^^^^
c1.yaml:1:1: (top level): is a mapping: give a list of customers, each beginning with "- name: "
  customers: []
  ^^^^^^^^^^^^^`);
});

test('more problems than anybody reads are counted', async () => {
  const text = `service: {}\ncustomers: [${'1, '.repeat(5_000)}]`;
  const problems = await problemsOf({ 'config.yaml': text });
  expect(problems.split('\n').at(-1)).toBe('and 4002 more problems');
});

test.each([
  ['brackets', '['.repeat(20_000)],
  ['lists', '- '.repeat(20_000)],
  [
    'aliases',
    `a: &a [1]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*a, *a]`).join('\n')}`,
  ],
  ['an alias of itself', 'customers: &a [*a]'],
  ['quotes', '"'.repeat(20_000)],
  ['URLs', `a: ${'://'.repeat(100_000)}`],
])('%s without an end are problems', async (_what, text) => {
  expect(await problemsOf({ 'config.yaml': text })).toMatch(/^config\.yaml:\d+:\d+: /);
});

test('aliases that multiply are stopped', async () => {
  const customer = `&c { labels: &l {${Array.from({ length: 32 }, (_, i) => `l${i}: x`).join(', ')}} }`;
  const text = configWith({}).replace(
    '  - name: riverside',
    `  - ${customer}\n${'  - *c\n'.repeat(40_000)}  - name: riverside`,
  );
  expect(await problemsOf({ 'config.yaml': text })).toContain(
    'has too many entries in all: write fewer aliases',
  );
});
