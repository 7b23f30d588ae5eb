/** No output of the loader holds a secret, in every odd place. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ProblemFormatter, SchemaKeys } from '../../src/config/problems.ts';
import { CONFIG, CUSTOMER } from '../../src/config/schema.ts';
import { hidden, text } from '../../src/config/values.ts';
import { YamlFile } from '../../src/config/yaml-file.ts';
import { configWith, problemsOf } from './folder.ts';

/** Its letters are nowhere else in the files or in messages: three of them in a row are a leak. */
const SECRET = 'QZJJ-ZQJZ8JZQJZQ';
const LEAK = /[QZJ]{3}/;

test.each([
  `client_secret: [${SECRET}]`,
  `client_secret: |\n    ${SECRET}`,
  `client_secret: "${SECRET}\\q"`,
  `client_secret: *${SECRET}`,
  `client_secret: !${SECRET} x`,
  `client_secret: x # was ${SECRET}\n    capacity: many # or ${SECRET}`,
  `client_secret: \${A:-${SECRET}}`,
  `client_secret=${SECRET}`,
  `client_secret${SECRET}: x`,
  `? client_secret\n    : ${SECRET}\n    colour: red`,
  `client_secret: ${SECRET}\n    capacity: ${SECRET}`,
  `client_secret: ${SECRET}\n    opening_hours: ${SECRET}`,
  `client_secret: ${SECRET}\n    labels: { ${SECRET}: x }`,
  `capacity: &a ${SECRET}\n    client_secret: *a`,
  `client_secret_file: secret\n    colour: ${SECRET}\n    capacity: ${SECRET}`,
  `client_secret: x\nservice2: { proxy_url: "http://u:${SECRET}@proxy" }`,
  `client_secret: x\n    timezone2: \${SECRET}\n    holidays: \${SECRET}\n    labels: { "\${SECRET}": x }`,
])('%j shows nothing of the secret', async (text) => {
  const file = configWith().replace('client_secret: hunter2hunter2', text);
  const problems = await problemsOf({ 'config.yaml': file, secret: SECRET }, { SECRET });
  expect(problems).toMatch(/^config\.yaml:\d+:\d+: .+: .+/);
  expect(problems).not.toMatch(LEAK);
});

test.each([
  [configWith({ service: `proxy_url: http://u:${SECRET}@proxy.example.org/path` }), ''],
  [configWith({ service: 'ca_file: secret' }), SECRET],
  [configWith({ more: 'customer_files: [secret]' }), `${SECRET}: x`],
  [SECRET, ''],
])('%j with the file %j shows nothing of the secret', async (file, secret) => {
  expect(await problemsOf({ 'config.yaml': file, secret })).not.toMatch(LEAK);
});

function formatter(): ProblemFormatter {
  return new ProblemFormatter(new SchemaKeys(CONFIG, CUSTOMER));
}

function parse(text: string): YamlFile {
  return new YamlFile('f', { text, mode: 0o600 }, {});
}

/** Source lines that are shown up to their comment, and those that are not. */
const SHOWN = [
  '  - name: riverside # of 1901',
  'client_secret: # x',
  'opening_hours: "Mo-Fr 08:00-20:00; PH off"',
  "scope: 'a: b'",
  'customer_files: ["customers/*.yaml", b.yaml]',
  'base_url: https://a.example:8080/path',
  `scope: ${'a'.repeat(153)}`,
  'polling: {interval: 60s,reconcile_interval: "1h"} # or 2h',
  "102: { name: 'North', capacity: 80 }",
];
// prettier-ignore
const NOT_SHOWN = [
  'client_secret: x', 'colour: x', 'scope=x', '? scope', 'scope: x client_secret: y', 'scope: x: y', `scope: ${'a'.repeat(154)}`, 'scope: a\u202Eb',
  'base_url: https://u:p@a.example', 'base_url: https://a.example?key', 'base_url: https://a.example#key', 'scope: ${NAME}', 'scope: { a: b }', 'streams: [a: b]', 'streams: [[a]]',
  'scope: *a', 'scope: &a x', 'scope: !a x', 'scope: |', 'scope: @a', 'scope: "a', 'scope: a"b', 'scope: "a\\n"', 'scope: "a" b',
  '{ name: a, client_secret: x }', '{ client_secret: x, name: a }', '{ name: a', '{ name: a } x', 'colour: { name: a }', '1234567890: { name: a }', '{ name: *a }', '{ name: "a, client_secret: x }',
];

test.each([...SHOWN, ...NOT_SHOWN])(
  'the source line %j is shown only if it is harmless',
  (line) => {
    const output = formatter().format({ file: parse(line), offset: 0, path: [], message: 'wrong' });
    const shown = SHOWN.includes(line) ? [`  ${line.replace(/ # (?!b).*/, '')}`, '  ^'] : [];
    expect(output.split('\n')).toEqual(['f:1:1: (file): wrong', ...shown]);
  },
);

test.each([
  ['one_two_three_four', 'one_two_three_four'],
  ['one_two_three_four_five', '(file)'],
  ['abcdefghijklmnopq', '(file)'],
  ['a1b2', '(file)'],
])('the key %j is shown as %s', (key, shown) => {
  const problem = { file: parse(`${key}: x`), offset: 0, path: [key], message: 'wrong' };
  expect(formatter().format(problem)).toBe(`f:1:1: ${shown}: wrong`);
});

test('of a secret with 4 characters or more, no message shows anything', () => {
  const withSecrets = formatter();
  withSecrets.addSecret('four');
  withSecrets.addSecret('two');
  const problem = { file: parse('x'), offset: 0, path: [], message: 'four of twofour' };
  expect(withSecrets.format(problem)).toBe('f:1:1: (file): [redacted] of two[redacted]');
});

test('a key that is a secret in another section is not shown, before or after that', () => {
  const key = text('');
  const secrets = z.strictObject({ key: hidden('', () => true) });
  for (const schema of [z.strictObject({ secrets, key }), z.strictObject({ key, secrets })]) {
    const quoting = new ProblemFormatter(new SchemaKeys(schema));
    expect(quoting.quote(parse('key: a'), ['key'])).toBeUndefined();
  }
});
