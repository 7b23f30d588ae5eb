/** Valid configurations, what is loaded of them, and the default limit on requests. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configWith, folderOf, load } from './folder.ts';

test('is shown with defaults, and without what is secret, may be, or is from the environment', async () => {
  const { shown } = await load(
    {
      'config.yaml': configWith({
        service: 'proxy_url: http://me:open-sesame@proxy.example.org:3128\nscope: "${SCOPE}"',
        customer:
          'labels: { region: hunter2hunter2, zone: north, hunter2hunter2: x, "${LABEL}": y }\nbranches: { 101: Main Library, 102: "${SCOPE}" }\ncapacity: ${CAP}\nholidays: ${PH}\nestimate: ${NO}',
        more: 'customer_files: [more.yaml]',
      }),
      'more.yaml': '[{ name: hilltop, client_id: h, client_secret_file: s, timezone: Asia/Tokyo }]',
      s: 'correct-horse',
    },
    { SCOPE: 'battery-staple', CAP: '0250', PH: 'SE', NO: 'False', LABEL: 'sesame' },
  );
  expect(shown).toBe(`service:
  base_url: https://statistics.example.org
  auth_url: https://identity.example.org
  scope: <secret>
  timeout: 10s
  max_concurrency: 32
  request_times: offset
  key_times: local
  allow_insecure: false
  proxy_url: <secret>
polling:
  interval: 60s
  reconcile_interval: 1h
  breakdown_interval: 5m
defaults:
  day_starts_at: 04:00
  estimate: true
customer_files:
  - more.yaml
customers:
  - {"name":"riverside","client_id":"riverside-api","client_secret":"<secret>","timezone":"Europe/Copenhagen","estimate":"<secret>","capacity":"<secret>","holidays":"<secret>","labels":{"region":"<secret>","zone":"north","<secret>":"y"},"streams":["people","logins"],"breakdowns":[],"branches":{"101":{"name":"Main Library"},"102":{"name":"<secret>"}}}
  - {"name":"hilltop","client_id":"h","client_secret_file":"<secret>","timezone":"Asia/Tokyo","labels":{},"streams":["people","logins"],"breakdowns":[],"branches":{}}
`);
});

test('values are normalized, and quotes make no difference', async () => {
  const { config } = await load(
    configWith({
      service:
        'timeout: 5m\nmax_requests_per_second: .5e0\nmax_concurrency: 08\nproxy_url: http://proxy.example.org:3128/',
      customer: [
        'day_starts_at: "05:30"',
        'estimate: "false"',
        'opening_hours: "Mo-Fr 08:00-20:00; PH off"',
        'holidays: DE-by',
        'labels: { region: 7, open: on, _x: "" }',
        'streams: [logins, people]',
        'breakdowns: [device, branch]',
        'branches: { 0101: " Caf\u0065\u0301 ", constructor: No }',
      ].join('\n'),
      more: 'polling:\ndefaults:',
    }).replace('statistics.example.org', 'statistics.example.org/library//'),
  );
  // All keys of this section are commented out.
  expect(config.polling.intervalMs).toBe(60_000);
  expect(config.service).toMatchObject({
    baseUrl: 'https://statistics.example.org/library',
    timeoutMs: 300_000,
    maxConcurrency: 8,
    maxRequestsPerSecond: 0.5,
    proxyUrl: 'http://proxy.example.org:3128',
  });
  expect(config.customers[0]).toMatchObject({
    dayStartsAt: { hour: 5, minute: 30 },
    estimate: false,
    holidays: 'de-by',
    labels: { region: '7', open: 'on', _x: '' },
    streams: ['people', 'logins'],
    breakdowns: ['branch', 'device'],
    branches: {
      '0101': { name: 'Café', holidays: 'de-by', estimate: false, capacity: undefined },
      constructor: { name: 'No' },
    },
  });
  expect(config.customers[0]?.labels['constructor']).toBeUndefined();
});

test('a branch has what its customer has, but for what it says, its name and its capacity', async () => {
  const customer = [
    'opening_hours: "Mo-Fr 08:00-20:00; PH off"',
    'staffed_hours: "Mo-Fr 10:00-18:00"',
    'holidays: dk',
    'breakdowns: [branch]',
    'branches:',
    '  101: Main Library',
    '  102: { opening_hours: "PH off", holidays: se, capacity: "80", estimate: "false" }',
  ];
  const { config } = await load(configWith({ customer: customer.join('\n') }));
  const own = {
    openingHours: 'Mo-Fr 08:00-20:00; PH off',
    staffedHours: 'Mo-Fr 10:00-18:00',
    holidays: 'dk',
    capacity: undefined,
    estimate: true,
  };
  expect(config.customers[0]).toMatchObject(own);
  const other = { openingHours: 'PH off', holidays: 'se', capacity: 80, estimate: false };
  expect(config.customers[0]?.branches).toEqual({
    101: { name: 'Main Library', ...own },
    102: { name: undefined, ...own, ...other },
  });
});

test('a comment in opening hours is a warning that names staffed_hours', async () => {
  const customer = [
    'opening_hours: \'Mo-Fr 08:00-10:00 "self-service", Mo-Fr 10:00-18:00\'',
    'staffed_hours: \'Mo-Fr 10:00-18:00 "two people"\'',
    'breakdowns: [branch]',
    'branches: { 101: { opening_hours: \'24/7 "with staff"\' } }',
  ];
  const { warnings } = await load(configWith({ customer: customer.join('\n') }));
  expect(warnings).toEqual([
    expect.stringMatching(
      /:9:20: customers\[0\]\.opening_hours: the comment is ignored; write hours with staff as staffed_hours \(and 1 more of these\)\n/,
    ),
  ]);
});

test('two customers with one client id are a warning that names both', async () => {
  const more = [
    '  - { name: old-town, client_id: own, client_secret: hunter3hunter3, timezone: UTC }',
    '  - { name: hillside, client_id: riverside-api, client_secret: hunter3hunter3, timezone: UTC }',
    '  - { name: "${NAME}", client_id: " ${ID}", client_secret: hunter3hunter3, timezone: UTC }',
  ];
  const env = { NAME: 'hunter5', ID: 'riverside-api' };
  const { warnings } = await load(configWith({ more: more.join('\n') }), env);
  expect(warnings.map((warning) => warning.replace(/^.*yaml:/, ''))).toEqual([
    '10:34: customers[2].client_id: hillside has the client_id of riverside, so both count the same people',
    '11:35: customers[3].client_id: this customer has the client_id of riverside, so both count the same people',
  ]);
});

test('defaults apply to customers without a value', async () => {
  const customer = '  - { name: hillside, client_id: h, client_secret: hunter3hunter3 }';
  const defaults = 'defaults: { timezone: Europe/London, day_starts_at: "03:00", estimate: false }';
  const { config } = await load(configWith({ more: `${customer}\n${defaults}` }));
  expect(config.customers).toMatchObject([
    { timezone: 'Europe/Copenhagen', dayStartsAt: { hour: 3, minute: 0 }, estimate: false },
    { timezone: 'Europe/London', dayStartsAt: { hour: 3, minute: 0 }, estimate: false },
  ]);
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
  const { config, path } = await loadConfig({ path: join(folder, 'config.yaml'), env: {} });
  expect(config.customers.map((customer) => customer.name)).toEqual(['riverside', 'a', 'b']);
  const secrets = config.customers.map(({ clientSecret }) => clientSecret.secret.reveal());
  expect(secrets).toEqual(['line one\r\nline two ', 'of a', 'of b']);
  expect(config.customers[2]?.clientSecret.path).toBe(join(folder, 'customers/b.secret'));
  expect(path).toBe(join(folder, 'config.yaml'));
});

test('anchors, a byte-order mark and CRLF are understood, and text is as it is written', async () => {
  const others = Array.from({ length: 101 }, (_, i) => {
    return `  - { name: b${i}, client_id: 007, client_secret: 1e3, timezone: UTC, labels: *north }`;
  });
  const first = 'labels: &north { region: 0123 }';
  const text = configWith({ customer: first, more: others.join('\n') });
  const { config } = await load(`\uFEFF${text.replaceAll('\n', '\r\n')}`);
  const customer = config.customers.at(-1);
  expect(customer).toMatchObject({ name: 'b100', clientId: '007', labels: { region: '0123' } });
  expect(customer?.clientSecret.secret.reveal()).toBe('1e3');
});

test('environment variables take the type of their place, and are not expanded again', async () => {
  const text = configWith({
    service: 'allow_insecure: ${YES}\nmax_requests_per_second: "${PER}"',
    customer: 'capacity: ${CAP}\nlabels: { "x${CAP}": "x${NESTED}$5$${A}" }',
  }).replace('riverside-api', '${CAP}');
  const env = { YES: 'true', PER: '7.5', CAP: '250', NESTED: '${CAP}' };
  const insecure = text.replaceAll('https:', 'http:');
  const { config } = await load(insecure, env);
  const baseUrl = 'http://statistics.example.org';
  expect(config.service).toMatchObject({ baseUrl, maxRequestsPerSecond: 7.5 });
  expect(config.customers).toMatchObject([
    { clientId: '250', capacity: 250, labels: { x250: 'x${CAP}$5${A}' } },
  ]);
});

test.for([
  ['50, if the customers need less', 20, {}, [], 50],
  ['as much as the first polls of a start take in 20 s', 200, {}, [], 110],
  ['more of that with breakdowns', 200, {}, ['branch', 'device'], 150],
  ['no more than 200 for the start', 1_000, {}, [], 200],
  ['twice what the customers need', 150, { interval: '1s' }, [], 600],
  ['more of that with breakdowns', 150, { interval: '1s' }, ['branch', 'device'], 904],
] as const)(
  'the default limit on requests is %s',
  async ([, count, polling, breakdowns, limit]) => {
    const service = { base_url: 'https://data.test', auth_url: 'https://identity.test' };
    const customer = { client_secret: 'hunter2hunter2', timezone: 'Europe/Oslo', breakdowns };
    const customers = Array.from({ length: count }, (_, i) => {
      return { ...customer, name: `c${i}`, client_id: `c${i}` };
    });
    const { config } = await load(JSON.stringify({ service, customers, polling }));
    expect(config.service.maxRequestsPerSecond).toBe(limit);
  },
);
