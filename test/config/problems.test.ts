/**
 * Invalid configurations, with every problem that is reported. A case changes one part of a valid
 * configuration; problems are without the file name. A ^ at the end says that the source line is shown
 * as well, with a caret at the column.
 */
import { expect, test } from 'vitest';
import { configWith, problemsOf } from './folder.ts';

type Part = 'service' | 'polling' | 'customer' | 'more' | 'name' | 'zone' | 'base' | 'file';

const ENVIRONMENT = { 'A-B': 'c', REGION: 'region', SECRET: 'correct-horse-battery' };

/** No secret of the cases, be it from the file or the environment, is in a message. */
const SECRETS = /correct|horse|battery|hunter/;

/** Values of the valid configuration. */
const PLACES: Partial<Record<Part, string>> = {
  name: 'riverside',
  zone: 'Europe/Copenhagen',
  base: 'https://statistics.example.org',
};

function fileWith(part: Part, text: string): string {
  const value = PLACES[part];
  const file = configWith({ [part]: text });
  return part === 'file' ? text : value === undefined ? file : file.replace(value, text);
}

// prettier-ignore
test.each<[Part, text: string, problems: string | readonly string[]]>([
  // types and ranges
  ['customer', 'capacity: "many"', '9:15: customers[0].capacity: expected an integer from 1 to 1000000, got "many" ^'],
  ['more', 'polling: { "interval": "1 s", breakdown_interval: 9e9s }', ['9:24: polling.interval: expected a duration from 1s to 1d, such as 60s, got "1 s"', '9:51: polling.breakdown_interval: expected a duration from 1s to 1d, such as 5m, got 9e9s']],
  ['more', '  - { name: b, client_id: b, client_secret: &a correct-horse, timezone: *a }', '9:48: customers[1].timezone: expected an IANA time zone such as Europe/Copenhagen, got another value'],
  ['customer', 'capacity:', '9:14: customers[0].capacity: expected an integer from 1 to 1000000, got an empty value ^'],
  ['service', 'max_requests_per_second: 0', '4:28: service.max_requests_per_second: expected a number from 0.01 to 100000, got 0 ^'],
  ['service', 'allow_insecure: yes', '4:19: service.allow_insecure: expected true or false, got yes ^'],
  ['customer', 'day_starts_at: "24:00"', '9:20: customers[0].day_starts_at: expected a time of day from "00:00" to "23:59", got "24:00" ^'],
  ['customer', 'streams: []', '9:14: customers[0].streams: expected a list of one or more of people, logins, got a list ^'],
  ['customer', 'labels: { job: x }', '9:15: customers[0].labels.job: expected a label name of letters, digits and _, not reserved (customer, branch, name, timezone, job, instance, __…), got another key'],
  ['customer', 'breakdowns: [branch]\nbranches:\n  101: { name: North, capacity: many }', '11:37: customers[0].branches.101.capacity: expected an integer from 1 to 1000000, got many ^'],
  ['customer', 'branches: { 101: { colour: red } }', '9:24: customers[0].branches.101.colour: unknown key, expected one of name, opening_hours, staffed_hours, holidays, capacity, estimate'],
  ['customer', 'branches: { 1234567890: { colour: red } }', '9:31: customers[0].branches: unknown key, expected one of name, opening_hours, staffed_hours, holidays, capacity, estimate'],
  ['customer', 'branches: Main', '9:15: customers[0].branches: expected branch ids with names such as { 101: Main Library }, got a string'],
  ['more', 'customer_files: [""]', '9:18: customer_files[0]: expected a file or pattern such as customers/*.yaml, got "" ^'],
  // names
  ['name', '"\\u200b"', '5:11: customers[0].name: expected a name of up to 128 visible characters, got another value'],
  // time zones
  ['zone', 'Europe/Copenhagn', '8:15: customers[0].timezone: expected an IANA time zone such as Europe/Copenhagen, got Europe/Copenhagn ^'],
  // URLs
  ['base', 'statistics.example.org', '2:13: service.base_url: expected an http(s) URL without user or query, such as https://statistics.example.org, got statistics.example.org ^'],
  ['base', 'https://statistics.example.org/?a=b', '2:13: service.base_url: expected an http(s) URL without user or query, such as https://statistics.example.org, got another value'],
  ['base', 'http://statistics.example.org', '2:13: service.base_url: must use https (or set allow_insecure: true) ^'],
  ['service', 'proxy_url: http://proxy.example.org:3128/path', '4:14: service.proxy_url: expected an http(s) URL without path or query, such as http://proxy.example.org:3128, got another value'],
  ['service', 'ca_file: secret', '4:12: service.ca_file: secret holds no certificate or an invalid one, expected PEM'],
  // opening hours and holidays
  ['customer', 'opening_hours: whenever', "9:20: customers[0].opening_hours: invalid syntax: expected OpenStreetMap's, as in Mo-Fr 08:00-20:00; Sa 10:00-16:00 ^"],
  ['customer', 'opening_hours: "PH off"', '9:20: customers[0].opening_hours: PH needs the key holidays, as in holidays: dk ^'],
  ['customer', 'opening_hours: "PH off"\nholidays: xx', '10:15: customers[0].holidays: expected a country or country-state such as dk or de-by, got xx ^'],
  ['customer', 'breakdowns: [branch]\nholidays: dk\nbranches:\n  main: { opening_hours: whenever }\n  north: { holidays: gb, opening_hours: "PH off" }', ["12:30: customers[0].branches.main.opening_hours: invalid syntax: expected OpenStreetMap's, as in Mo-Fr 08:00-20:00; Sa 10:00-16:00", '13:45: customers[0].branches.north.opening_hours: gb has no public holidays of its own: set holidays to one of gb-eng, gb-nir, gb-sct, gb-wls']],
  ['customer', 'opening_hours: PH off\nholidays: dk\nbreakdowns: [branch]\nbranches: { main: { holidays: gb } }', '12:35: customers[0].branches.main.holidays: gb has no public holidays of its own: set holidays to one of gb-eng, gb-nir, gb-sct, gb-wls'],
  // keys
  ['service', 'interval: 60s', '4:3: service.interval: unknown key, expected one of base_url, auth_url, scope, timeout, max_concurrency, max_requests_per_second, request_times, key_times, allow_insecure, proxy_url, ca_file ^'],
  ['customer', 'openinghours: 24/7', '9:5: customers[0].openinghours: unknown key, did you mean opening_hours?'],
  ['customer', 'labels: { __proto__: x }', '9:15: customers[0].labels: unsupported key'],
  ['more', 'polling: {}\npolling: 60s', ['10:1: polling: duplicate key', '10:10: polling: expected a mapping with interval, got a string']],
  // several keys
  ['customer', 'breakdowns: [branch]\nstreams: [logins]', '9:17: customers[0].breakdowns: expected people in streams, which breakdowns are of ^'],
  ['customer', 'breakdowns: [branch]\ncapacity: 250', '10:15: customers[0].capacity: expected capacity under branches, because breakdowns has branch ^'],
  ['customer', 'branches: { main: { name: Main, capacity: 80, estimate: false } }', ['9:47: customers[0].branches.main.capacity: expected branch in breakdowns, which this key needs', '9:61: customers[0].branches.main.estimate: expected branch in breakdowns, which this key needs']],
  ['customer', 'breakdowns: [branhc]\nbranches: { main: { capacity: 80 } }', '9:18: customers[0].breakdowns[0]: expected one of branch, client, device, got branhc ^'],
  ['customer', 'client_secret_file: secret', '9:25: customers[0].client_secret_file: expected one of client_secret_file and client_secret, got both'],
  ['polling', 'interval: 2m\nreconcile_interval: 1m', '6:23: polling.reconcile_interval: expected at least interval, got less ^'],
  ['service', 'max_requests_per_second: 0.02', '4:28: service.max_requests_per_second: expected at least 0.04, which the customers need, got less ^'],
  ['more', '  - { name: " riverside", client_id: b, client_secret: hunter3hunter3, timezone: UTC }', '9:13: customers[1].name: expected a unique name, got that of another customer'],
  ['more', '  - { name: hillside, client_id: b, client_secret: "", timezone: UTC }', '9:52: customers[1].client_secret: expected the secret, got another value'],
  ['more', '  - { name: hillside, client_id: b, timezone: UTC }', '9:5: customers[1].client_secret_file: expected one of client_secret_file and client_secret, got neither ^'],
  ['more', '  - { name: hillside, client_id: b, client_secret: hunter3hunter3 }', '9:5: customers[1].timezone: expected an IANA time zone, here or in defaults, got nothing'],
  // environment
  ['service', 'scope: ${UNSET}', '4:10: service.scope: environment variable UNSET is not set; write $${ for a literal ${'],
  ['service', 'ca_file: ${CREDENTIALS_DIRECTORY}/ca', '4:12: service.ca_file: environment variable CREDENTIALS_DIRECTORY is not set; systemd gave this process no credentials'],
  ['service', 'scope: ${UNSET', '4:10: service.scope: expected ${NAME}; write $${ for a literal ${'],
  ['customer', 'labels: { "${UNSET}": x }', ['9:15: customers[0].labels: environment variable UNSET is not set; write $${ for a literal ${', '9:15: customers[0].labels: expected a label name of letters, digits and _, not reserved (customer, branch, name, timezone, job, instance, __…), got another key']],
  ['customer', 'capacity: ${SECRET}', '9:15: customers[0].capacity: expected an integer from 1 to 1000000, got another value'],
  ['customer', 'timezone2: ${SECRET}', '9:5: customers[0]: unknown key, did you mean timezone?'],
  ['customer', 'labels: { "${SECRET}": x }', '9:15: customers[0].labels: expected a label name of letters, digits and _, not reserved (customer, branch, name, timezone, job, instance, __…), got another key'],
  ['customer', 'labels: { region: north, "${REGION}": south }', '9:30: customers[0].labels: duplicate key'],
  ['customer', 'opening_hours: Mo-Fr 10:00-18:00\n  Sa 10:00-14:00', "9:20: customers[0].opening_hours: expected OpenStreetMap's syntax, with ; between rules, as in Mo-Fr 08:00-20:00; Sa 10:00-16:00 ^"],
  // YAML
  ['file', 'service:\n\tbase_url: https://a.example\n\tauth_url: x\n', '2:1: (file): expected spaces as indentation, got a tab ^'],
  ['service', 'scope: !!binary c2NvcGU=', '4:10: (file): unknown tag; put a value that begins with ! in quotes'],
  ['service', 'scope: {{ scope }}', '4:11: (file): expected a plain key, got a list, mapping or alias; quote a value with { or ['],
  ['service', 'scope: *a', '4:10: service.scope: unknown anchor; put a value that begins with * in quotes'],
  ['customer', 'streams: [people]]', '9:22: (file): unexpected text; check the brackets and quotes before it, or quote the value'],
  ['file', '', ['1:1: (file): expected a mapping with service and customers, got an empty value', '1:1: customers: expected at least one customer, here or in customer_files, got none']],
  ['file', '{}', ['1:1: service: expected a mapping with base_url and auth_url, got nothing ^', '1:1: customers: expected at least one customer, here or in customer_files, got none ^']],
])('%s: %j', async (part, text, problems) => {
  const file = fileWith(part, text);
  const output = await problemsOf({ 'config.yaml': file, secret: 'hunter4' }, ENVIRONMENT);
  const expected = [problems].flat().flatMap((problem) => {
    const [, headline = '', caret] = /^(.*?)( \^)?$/.exec(problem) ?? [];
    const [line = 0, column = 0] = headline.split(':').map(Number);
    const excerpt = [`  ${file.split('\n')[line - 1]}`, `${' '.repeat(column + 1)}^`];
    return [`config.yaml:${headline}`, ...(caret === undefined ? [] : excerpt)];
  });
  expect(output.replaceAll(/\^+$/gm, '^').split('\n')).toEqual(expected);
  expect(output).not.toMatch(SECRETS);
});

/** Values at a limit that are valid, and those next to them that are not. */
// prettier-ignore
test.each<[Part, string, readonly string[], readonly string[]]>([
  ['name', 'name', ['n'.repeat(128)], ['n'.repeat(129), '""', '"a\\u0007b"']],
  ['base', 'base_url', ['https://a.example/b', 'http://localhost:1', 'http://127.0.0.100:80', 'http://[::1]:9', 'http://data.localhost'], ['xhttps://a.example', 'https://a.example:0', 'http://my-localhost', 'http://localhost.example.org']],
  ['zone', 'timezone', ['UTC'], ['europe/Copenhagen', '"+02:00"']],
  ['service', 'proxy_url', ['http://a.example:1/'], ['xhttp://a.example:1/']],
  ['service', 'timeout', ['100ms', '5m'], ['99ms', '5m1ms']],
  ['service', 'max_requests_per_second', ['0.04', '100000'], ['0.009', '100000.1']],
  ['service', 'scope', ['${A-B}'.replace('-', '_')], ['${toString}', '${A-B}']],
  ['customer', 'capacity', ['1', '1000000', '1e3'], ['0', '1000001', '1.5', '0x10']],
  ['polling', 'reconcile_interval', ['60s'], ['59s']],
  ['customer', 'estimate', ['true', 'FALSE'], ['truex', 'xtrue']],
  ['customer', 'day_starts_at', ['"00:00"', '"23:59"'], ['"x04:00"', '"04:000"', '"4:00"']],
  ['customer', 'holidays', ['dk', 'DE-by'], ['dk-by', 'de-xx']],
  ['customer', 'streams', ['[logins]'], ['[]']],
])('the limits of %s: %s', async (part, key, valid, invalid) => {
  for (const value of [...valid, ...invalid]) {
    const file = fileWith(part, part in PLACES ? value : `${key}: ${value}`);
    const output = await problemsOf(file, { A_B: 'c', ...ENVIRONMENT });
    const problem = expect.stringMatching(`^config.yaml:\\d+:\\d+: [^ ]*${key}: `) as string;
    expect([value, output]).toEqual([value, valid.includes(value) ? 'no problem' : problem]);
  }
});

test('problems of all files are reported in the order of files and lines', async () => {
  const more = 'customer_files: [b.yaml, "c?.yaml"]';
  const problems = await problemsOf({
    'config.yaml': configWith({ customer: 'capacity: many # not yet', more }),
    'b.yaml': '- nmae: b\n  client_id: b\n  client_secret: hunter3hunter3\n',
    'c1.yaml': 'customers: []\n',
  });
  expect(problems)
    .toBe(`config.yaml:9:15: customers[0].capacity: expected an integer from 1 to 1000000, got many
      capacity: many
                ^
b.yaml:1:3: [0].name: expected a name of up to 128 visible characters, got nothing
b.yaml:1:3: [0].nmae: unknown key, did you mean name?
b.yaml:1:3: [0].timezone: expected an IANA time zone, here or in defaults, got nothing
c1.yaml:1:1: (file): expected a list of customers, got a mapping`);
});

/** One that ends the validation of its section, of each type. */
test.each([
  'labels: [a]',
  'streams: [people, lgoins]',
  'branches: { 101: [x], 102: }',
  'branches: { 101: { estimate: maybe } }',
  'colour: red',
])('%s hides no rule of other keys', async (wrong) => {
  const output = await problemsOf(`service: { base_url: http://a.example, auth_url: x }
polling: { interval: 2m, reconcile_interval: 1m, breakdown_interval: [x] }
customers:
  - client_id: b
    opening_hours: PH off
    ${wrong}
`);
  const places = output.match(/(?<=^config\.yaml:\d+:\d+: )[^:]+/gm);
  expect(places).toEqual(
    expect.arrayContaining([
      'service.base_url',
      'service.auth_url',
      'polling.reconcile_interval',
      'polling.breakdown_interval',
      'customers[0].name',
      'customers[0].client_secret_file',
      'customers[0].timezone',
      'customers[0].opening_hours',
      expect.stringContaining(`customers[0].${wrong.replace(/:.*/, '')}`),
    ]),
  );
});

test('lines and columns count characters, with a byte-order mark and CRLF, too', async () => {
  const text = configWith({ customer: 'labels: { "🏛": x, "1": x }\ncapacity: many' });
  const problems = await problemsOf(`\uFEFF${text.replaceAll('\n', '\r\n')}`);
  expect(problems).toMatch(
    /^config\.yaml:9:15: .*\n.*:9:23: .*\n.*:10:15: .*\n {6}capacity: many\n {16}\^$/,
  );
});

const MULTIPLYING = Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*a, *a]`).join('\n');

test.each([
  ['brackets', '['.repeat(20_000)],
  ['an alias of itself', 'customers: &a [*a]'],
  ['aliases that multiply', `a: &a [1]\n${MULTIPLYING}`],
])('endless %s are a problem', async (_what, text) => {
  expect(await problemsOf(text)).toMatch(/^config\.yaml:\d+:\d+: /);
});

test('after 1000 problems, only their number is reported', async () => {
  const problems = await problemsOf(`customers: [${'1, '.repeat(5_000)}]`);
  expect(problems.split('\n').at(-1)).toBe('and 4001 more problems');
});
