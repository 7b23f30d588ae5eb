import { expect, test } from 'vitest';
import { configWith, problemsOf } from './folder.ts';

/** `[section, lines, the message without its place and excerpt]`, one mistake each. */
const MISTAKES = [
  ['service', 'timeout: 10', 'service.timeout: has no unit: did you mean 10s?'],
  [
    'service',
    'timeout: 10 s',
    'service.timeout: is not a duration: give a duration from 100ms to 5m, as in 10s',
  ],
  [
    'service',
    'timeout: 1h',
    'service.timeout: is too long: give a duration from 100ms to 5m, as in 10s',
  ],
  ['service', 'timeout:', 'service.timeout: is empty: give a duration from 100ms to 5m, as in 10s'],
  ['service', 'scope: [a]', 'service.scope: is a list: give a scope, as in ServiceAPI'],
  ['service', 'scope: ""', 'service.scope: is empty: give a scope, as in ServiceAPI'],
  [
    'service',
    'max_concurrency: 0',
    'service.max_concurrency: is too small: give a whole number from 1 to 1000 without quotes, as in 32',
  ],
  [
    'service',
    'max_concurrency: 0x10',
    'service.max_concurrency: is not a whole number in plain digits: give a whole number from 1 to 1000 without quotes, as in 32',
  ],
  [
    'service',
    'max_concurrency: "8"',
    'service.max_concurrency: is text: give a whole number from 1 to 1000 without quotes, as in 32',
  ],
  [
    'service',
    'max_requests_per_second: 0.02',
    'service.max_requests_per_second: is below the 0.04 that the customers need: give more, poll less often, or leave it out',
  ],
  [
    'service',
    'allow_insecure: yes',
    'service.allow_insecure: is text: give true or false, without quotes',
  ],
  [
    'service',
    'allow-insecure: true',
    'service.allow-insecure: is not a known key: did you mean allow_insecure?',
  ],
  [
    'service',
    'allowInsecure: true',
    'service.allowInsecure: is not a known key: did you mean allow_insecure?',
  ],
  [
    'service',
    'proxy_url: proxy:3128',
    'service.proxy_url: does not begin with https:// and a host: give a URL without a path, as in http://proxy.example.org:3128',
  ],
  [
    'service',
    'ca_file: none.pem',
    'service.ca_file: the file does not exist: create it, or name another file',
  ],
  [
    'service',
    'ca_file: config.yaml',
    'service.ca_file: the file holds no certificate: give one in PEM, as in -----BEGIN CERTIFICATE-----',
  ],
  ['service', 'interval: 1m', 'service.interval: does not belong here: put it under polling'],
  [
    'service',
    'scope: a\nscope: b',
    'service.scope: is given twice, first in line 4: remove one of them',
  ],
  [
    'polling',
    'interval: 999ms',
    'polling.interval: is too short: give a duration from 1s to 1d, as in 60s',
  ],
  [
    'polling',
    'reconcile_interval: 59s',
    'polling.reconcile_interval: is shorter than interval: give at least as much as interval',
  ],
  [
    'customer',
    'timezone: UTC',
    'customers[0].timezone: is given twice, first in line 8: remove one of them',
  ],
  [
    'customer',
    'client_secret_file: a',
    'customers[0].client_secret_file: is given beside client_secret: remove one of them',
  ],
  [
    'customer',
    'capacity: 2.5',
    'customers[0].capacity: is not a whole number in plain digits: give a whole number from 1 to 10000000 without quotes, as in 250',
  ],
  [
    'customer',
    'day_starts_at: 4:00',
    'customers[0].day_starts_at: is not a time of day: give hours and minutes from "00:00" to "23:59", as in "04:00"',
  ],
  [
    'customer',
    'day_starts_at: "24:00"',
    'customers[0].day_starts_at: is not a time of day: give hours and minutes from "00:00" to "23:59", as in "04:00"',
  ],
  [
    'customer',
    'opening_hours: "PH off"',
    'customers[0].opening_hours: uses PH, but nothing says whose: set holidays, as in holidays: dk',
  ],
  [
    'customer',
    'opening_hours: Mo-Fr 8-20',
    'customers[0].opening_hours: can be read in more than one way: write it as Mo-Fr 08:00-20:00',
  ],
  [
    'customer',
    'holidays: dk-1',
    'customers[0].holidays: names a state, but the holidays of dk are known only as a whole: give dk',
  ],
  [
    'customer',
    'labels: { job: x }',
    'customers[0].labels.job: is a reserved label: choose another name',
  ],
  [
    'customer',
    'labels: { __x: x }',
    'customers[0].labels.__x: is a reserved label: choose another name',
  ],
  [
    'customer',
    'labels: { a-b: x }',
    'customers[0].labels.a-b: is not a label name: use letters, digits and _, and begin with a letter or _',
  ],
  [
    'customer',
    'labels: { a: x, a: y }',
    'customers[0].labels.a: is given twice, first in line 9: remove one of them',
  ],
  [
    'customer',
    'labels: [a]',
    'customers[0].labels: is a list: give labels with their values, as in { region: north }',
  ],
  [
    'customer',
    'streams: []',
    'customers[0].streams: is empty: give a list of one or more of people, logins, or remove the key',
  ],
  [
    'customer',
    'streams: people',
    'customers[0].streams: is text: give a list of one or more of people, logins',
  ],
  [
    'customer',
    'breakdowns: [room]',
    'customers[0].breakdowns[0]: is not a known word here: give one of branch, client, device',
  ],
  [
    'customer',
    'breakdowns: [branch, branch]',
    'customers[0].breakdowns[1]: is in the list twice: remove one of them',
  ],
  [
    'customer',
    'branches: { 101: }',
    'customers[0].branches.101: is empty: give a name, as in Main Library',
  ],
  [
    'customer',
    '<<: { capacity: 1 }',
    'customers[0]."<<": is a merge key, and those are not read: write the keys out, or put them under defaults',
  ],
  [
    'customer',
    'colour: red',
    'customers[0].colour: is not a known key: known here are name, client_id, client_secret, client_secret_file, timezone, day_starts_at, capacity, opening_hours, holidays, labels, streams, breakdowns, branches',
  ],
  [
    'more',
    'customer_files: customers/*.yaml',
    'customer_files: is text: give a list of files, as in ["customers/*.yaml"]',
  ],
  [
    'more',
    'customer_files: ["x/*.yaml"]',
    'customer_files[0]: matches no file: create one, or name another',
  ],
  ['more', 'base_url: x', 'base_url: does not belong here: put it under service'],
  [
    'more',
    '  - { name: riverside, client_id: a, client_secret: hunter3hunter3, timezone: UTC }',
    'customers[1].name: is the name of another customer, in config.yaml:5: give each a name of its own',
  ],
  [
    'more',
    '  - { name: b, client_id: a, timezone: UTC }',
    'customers[1].client_secret_file: is missing: give the file with the secret, or client_secret',
  ],
  [
    'more',
    '  - { name: b, client_id: a, client_secret: hunter3hunter3 }',
    'customers[1].timezone: is missing: give an IANA name, as in Europe/Copenhagen, here or in defaults',
  ],
  [
    'more',
    'defaults: { timezone: Europe/Copenhagn }',
    'defaults.timezone: is not a time zone that is known here: did you mean Europe/Copenhagen?',
  ],
  [
    'more',
    'defaults: { timezone: europe/copenhagen }',
    'defaults.timezone: is not written as IANA does: write Europe/Copenhagen',
  ],
  [
    'more',
    'defaults: { timezone: "+02:00" }',
    'defaults.timezone: is an offset, which knows no summer time: give an IANA name, as in Europe/Copenhagen',
  ],
  [
    'more',
    'defaults: { timezone: nowhere }',
    'defaults.timezone: is not a time zone that is known here: give an IANA name, as in Europe/Copenhagen',
  ],
  ['more', '? [a]\n: b', '(YAML): a key that is not plain text: write KEY: VALUE'],
  ['more', '\tx: 1', '(YAML): indented with a tab: use spaces'],
  [
    'more',
    '---\nb: c',
    '(YAML): a second document begins here: one file holds one, so remove the line ---',
  ],
  [
    'more',
    'defaults: !!set {}',
    '(YAML): this tag is not known: remove it, or put a value that begins with ! in quotes',
  ],
  [
    'more',
    'defaults: *none',
    '(YAML): no anchor of this name comes before it: write &NAME at the value that is meant',
  ],
  ['more', 'defaults: { timezone: UTC', '(YAML): a bracket that is not closed: close it'],
] as const;

test.each(MISTAKES)('%s: %s', async (section, lines, message) => {
  const problems = await problemsOf({
    'config.yaml': configWith({ [section]: lines }),
    a: 'hunter3hunter3',
  });
  const told = problems.split('\n').filter((line) => line.startsWith('config.yaml:'));
  expect(told.map((line) => line.replace(/^config\.yaml:\d+:\d+: /, ''))).toEqual([message]);
});

test.each([
  [
    'http://statistics.example.org',
    'is plain http, where everybody on the way reads the credentials: give https, or set allow_insecure: true',
  ],
  ['statistics.example.org', 'is not a URL: give a URL, as in https://statistics.example.org'],
  [
    'ftp://statistics.example.org',
    'does not begin with https:// and a host: give a URL, as in https://statistics.example.org',
  ],
  [
    'https://me:hunter2@statistics.example.org',
    'holds a user or a password: give a URL, as in https://statistics.example.org',
  ],
  [
    'https://statistics.example.org/?a=b',
    'has a query or a fragment: give a URL, as in https://statistics.example.org',
  ],
  [
    'https://statistics.example.org/v1/',
    'ends with /v1, which is appended by itself: give a URL, as in https://statistics.example.org',
  ],
])('base_url %s is a problem', async (url, message) => {
  const problems = await problemsOf({
    'config.yaml': configWith({}).replace('https://statistics.example.org', url),
  });
  expect(problems.split('\n')[0]).toBe(`config.yaml:2:13: service.base_url: ${message}`);
  expect(problems).not.toContain('hunter2');
});

test.each(['service', 'customers', 'auth_url', 'name', 'client_id'])(
  '%s is missing: that is said at what should hold it',
  async (key) => {
    const text = configWith({}).replace(
      new RegExp(`(^|[ -]+)${key}:.*(\n  .*)*\n`, 'm'),
      (lines) =>
        ['service', 'customers'].includes(key)
          ? ''
          : lines.replace(/[^\n]*\n/, key === 'name' ? '  -\n' : ''),
    );
    expect(await problemsOf({ 'config.yaml': text })).toMatch(
      new RegExp(`^config\\.yaml:\\d+:\\d+: [\\w.\\[\\]]*\\b${key}: is missing: give `, 'm'),
    );
  },
);

test('carets are under what is wrong, after tabs and wide lines too', async () => {
  const text = configWith({
    customer: `labels: {\tregion: "${'x'.repeat(200)}", "ä€𝄞": y, job: z }`,
  });
  expect(await problemsOf({ 'config.yaml': text })).toBe(
    [
      'config.yaml:9:227: customers[0].labels."ä€𝄞": is not a label name: use letters, digits and _, and begin with a letter or _',
      `  …${'x'.repeat(57)}", "ä€𝄞": y, job: z }`,
      `  ${' '.repeat(61)}^^^^^`,
      'config.yaml:9:237: customers[0].labels.job: is a reserved label: choose another name',
      `  …${'x'.repeat(46)}", "ä€𝄞": y, job: z }`,
      `  ${' '.repeat(60)}^^^`,
    ].join('\n'),
  );
});
