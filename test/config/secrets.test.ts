import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configWith, folderOf, problemsOf } from './folder.ts';
import { join } from 'node:path';

const SECRET = 'correct-horse-battery';

/** Each has a mistake at or beside a secret, which must not be seen, nor any part of it. */
const ODD_PLACES = {
  'a list': 'client_secret: [correct-horse-battery]',
  'a mapping': 'client_secret: { correct-horse-battery: x }',
  'a key of a mapping':
    'labels: { correct-horse-battery: x }\nclient_secret: correct-horse-battery',
  'flow style with a mistake after it': 'client_secret: "correct-horse-battery", colour: red',
  'the same line': '{ client_secret: correct-horse-battery, colour: red }',
  'two lines': 'client_secret: correct-horse-battery\n  correct-horse-battery\ncolour: red',
  'the end of several lines': 'labels: { client_secret: "a\n  correct-horse-battery", job: x }',
  'a block': 'client_secret: |\n  correct-horse-battery\n  correct-horse-battery\ncolour: red',
  'a quote that is not closed': 'client_secret: "correct-horse-battery\n  correct-horse-battery',
  'a misspelt key': 'client_secert: correct-horse-battery',
  'another misspelt key': 'clientSecret: correct-horse-battery',
  'another key': 'password: correct-horse-battery',
  'no colon': 'client_secret correct-horse-battery\ncolour: red',
  'the next line': 'client_secret:\ncorrect-horse-battery\ncolour: red',
  'an anchor before': 'capacity: &a correct-horse-battery\nclient_secret: *a',
  'an anchor after': 'client_secret: &a correct-horse-battery\ncapacity: *a',
  'an alias where texts are quoted':
    'client_secret: &a correct-horse-battery\nopening_hours: *a\ntimezone: *a',
  'an anchor where texts are quoted': 'opening_hours: &a correct-horse-battery\nclient_secret: *a',
  'a copy where texts are quoted':
    'opening_hours: correct-horse-battery\nclient_secret: correct-horse-battery',
  'a copy in another key': 'client_secret: correct-horse-battery\ncapacity: correct-horse-battery',
  'a tab before it': 'client_secret:\t"correct-horse-battery"x',
  'a tag': 'client_secret: !x correct-horse-battery',
  'an escape that does not exist': 'client_secret: "correct-horse-battery\\q"',
  'a comment': 'colour: red # client_secret: correct-horse-battery',
  'quotes around the key':
    '"client_secret": correct-horse-battery\n"client_secret": correct-horse-battery',
  'an explicit key': '? client_secret\n: correct-horse-battery\ncolour: red',
  'a URL': 'colour: http://me:correct-horse-battery@example.org',
  'a URL with a slash in the password': 'colour: http://me:correct-horse/battery@example.org',
  'an open reference': 'client_secret: ${correct-horse-battery',
} as const;

test.each(Object.entries(ODD_PLACES))('a secret in %s is not seen', async (_where, lines) => {
  const text = configWith({})
    .replace('    client_secret: hunter2hunter2', '')
    .replace(
      'timezone: Europe/Copenhagen',
      ['x: y', ...lines.split('\n')].map((line, i) => (i === 0 ? line : `    ${line}`)).join('\n'),
    );
  const problems = await problemsOf({ 'config.yaml': text });
  expect(problems).toMatch(/^config\.yaml:\d+:\d+: /);
  for (const part of ['correct', 'horse', 'battery']) {
    expect(problems).not.toContain(part);
  }
});

test('a value from the environment is not seen, whatever it holds', async () => {
  const env = { VALUE: SECRET, ZONE: 'Europe/Copenhagn', HOURS: 'Mo-Fr 8-20', LAND: 'de-correct' };
  const text = configWith({
    service: 'scope: ${VALUE}\ntimeout: ${VALUE}\nproxy_url: ${VALUE}\nca_file: ${VALUE}',
    customer:
      'capacity: ${VALUE}\nopening_hours: ${HOURS}\nholidays: ${LAND}\nlabels: { "${VALUE}": "${VALUE}" }',
    more: 'defaults: { timezone: "${ZONE}" }\ncustomer_files: ["${VALUE}"]',
  }).replace('hunter2hunter2', '${VALUE}');
  const problems = await problemsOf({ 'config.yaml': text }, env);
  expect(problems.split('\n').filter((line) => line.startsWith('config.yaml'))).toHaveLength(9);
  for (const part of ['correct', 'horse', 'battery', 'Copenhagen?', 'Mo-Fr 8', '08:00-20:00; PH']) {
    expect(problems).not.toContain(part);
  }
});

test('a copy of a secret from a file or the environment is hidden as well', async () => {
  const text = configWith({ customer: `colour: ${SECRET}` });
  const fromFile = text.replace('client_secret: hunter2hunter2', 'client_secret_file: secret');
  const fromEnvironment = text.replace('hunter2hunter2', '${SECRET}');
  for (const config of [fromFile, fromEnvironment]) {
    const problems = await problemsOf({ 'config.yaml': config, secret: SECRET }, { SECRET });
    expect(problems.split('\n')[1]).toBe('      colour: [redacted]');
  }
});

test('the loaded configuration shows no secret either', async () => {
  const folder = await folderOf({ 'config.yaml': configWith({}) });
  const loaded = await loadConfig({ path: join(folder, 'config.yaml'), env: {} });
  expect(JSON.stringify(loaded)).not.toContain('hunter2');
});
