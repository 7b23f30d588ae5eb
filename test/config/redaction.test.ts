/** No output of the loader holds a secret, in every odd place. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ProblemFormatter, SchemaKeys } from '../../src/config/problems.ts';
import { CONFIG, CUSTOMER } from '../../src/config/schema.ts';
import { hidden, text } from '../../src/config/values.ts';
import { YamlFile } from '../../src/config/yaml-file.ts';
import { configWith, load, problemsOf } from './folder.ts';

/** Its letters are nowhere else in the files or in messages: three of them in a row are a leak. */
const SECRET = 'QZJJ-ZQJZ8JZQJZQ';
const LEAK = /[QZJ]{3}/;

const IN_PLACE_OF_THE_SECRET: readonly string[] = [
  `client_secret: [${SECRET}]`,
  `client_secret: { ${SECRET}: x }`,
  `client_secret: |\n    ${SECRET}`,
  `client_secret: "${SECRET}\\q"`,
  `client_secret: "${SECRET}`,
  `client_secret: *${SECRET}`,
  `client_secret: &${SECRET} &b x`,
  `client_secret: !${SECRET} x`,
  `client_secret: @${SECRET}`,
  `client_secret: [x] # was ${SECRET}`,
  `client_secret: x # was ${SECRET}\n    capacity: many # or ${SECRET}`,
  `client_secret: \${${SECRET}`,
  `client_secret: \${A:-${SECRET}}`,
  `client_secret=${SECRET}`,
  `client_secret:${SECRET}`,
  `client_secret${SECRET}: x`,
  `x: ${SECRET}`,
  `${SECRET}: client_secret`,
  `? client_secret\n    : ${SECRET}\n    colour: red`,
  `<<: { client_secret: ${SECRET} }`,
  `client_id: x client_secret: ${SECRET}`,
  `client_secret: ${SECRET}\n    client_secret: [${SECRET}]`,
  `client_secret: ${SECRET}\n    capacity: ${SECRET}`,
  `client_secret: ${SECRET}\n    opening_hours: ${SECRET}`,
  `client_secret: ${SECRET}\n    labels: { ${SECRET}: x }`,
  `client_secret: &a ${SECRET}\n    opening_hours: *a\n    capacity: *a`,
  `capacity: &a ${SECRET}\n    client_secret: *a`,
  `client_secret_file: [${SECRET}]`,
  `client_secret_file: secret\n    colour: ${SECRET}\n    capacity: ${SECRET}`,
  `client_secret: x\n    labels: { client_secret: ${SECRET}, job: x }`,
  `client_secret: x\nservice2: { proxy_url: "http://u:${SECRET}@proxy" }`,
  `client_secret: \${SECRET}\n    capacity: \${SECRET}\n    opening_hours: \${SECRET}`,
  `client_secret: x\n    timezone2: \${SECRET}\n    holidays: \${SECRET}\n    labels: { "\${SECRET}": x }`,
];

test.each(IN_PLACE_OF_THE_SECRET)('%j shows nothing of the secret', async (text) => {
  const file = configWith({}).replace('client_secret: hunter2hunter2', text);
  const problems = await problemsOf({ 'config.yaml': file, secret: SECRET }, { SECRET });
  expect(problems).toMatch(/^config\.yaml:\d+:\d+: .+: .+/);
  expect(problems).not.toMatch(LEAK);
});

const IN_SERVICE = [
  `base_url: https://u:${SECRET}@statistics.example.org`,
  `proxy_url: http://u:${SECRET}@proxy.example.org/path`,
  `proxy_url: { password: ${SECRET} }`,
  `ca_file: secret`,
  `scope: "${SECRET}@\\n"`,
];
const WHOLE_FILES = [SECRET, `${SECRET}: x`, `x: ${SECRET}`, `[${SECRET}`];

test.each([
  ...IN_SERVICE.map((text) => [configWith({ service: text }), SECRET]),
  ...WHOLE_FILES.map((text) => [text, '']),
  ...WHOLE_FILES.map((text) => [configWith({ more: 'customer_files: [secret]' }), text]),
])('%j with the file %j shows nothing of the secret', async (file, secret = '') => {
  expect(await problemsOf({ 'config.yaml': file, secret })).not.toMatch(LEAK);
});

function formatter(): ProblemFormatter {
  return new ProblemFormatter(new SchemaKeys(CONFIG, CUSTOMER));
}

function parse(text: string): YamlFile {
  return new YamlFile('f', { text, mode: 0o600 }, {});
}

/** Source lines that are shown up to their comment, those that are not, and the scope in a mapping. */
const SHOWN = [
  'capacity: 250',
  '  - name: riverside # of 1901',
  'client_secret: # x',
  'opening_hours: "Mo-Fr 08:00-20:00; PH off"',
  'opening_hours: Mo-Fr 08:00-20:00, Sa 10:00-14:00',
  "scope: 'a: b'",
  'scope: "a # b"',
  'customer_files: ["customers/*.yaml", b.yaml]',
  'base_url: https://a.example:8080/path',
  `scope: ${'a'.repeat(153)}`,
  '{ scope: x }',
  'polling: {interval: 60s,reconcile_interval: "1h"} # or 2h',
  '  - { name: a b, streams: [people, logins], opening_hours: "Mo 08:00-20:00, 21:00-22:00" }',
  "102: { name: 'North', capacity: 80 }",
];
// prettier-ignore
const NOT_SHOWN = [
  '{ client_secret: x }', '{ name: a, client_secret: x }', '{ client_secret: x, name: a }', '{ name: a, x }', '{ x, name: a }', '{ name: a, colour: x }', '{ name: a', '{ name: a,',
  '{ name: a } x', 'colour: { name: a }', 'x1: { name: a }', '1234567890: { name: a }', '{ name: a, labels: { client_secret: x } }', 'labels: { region: x }', '{ name: *a }',
  '{ name: &a x }', '{ name: "${NAME}" }', '{ name: "a@b" }', '{ name: "a" b, capacity: 1 }', '{ name: a: b }', '{ name: "a, client_secret: x }', '{ streams: [a: b] }', '{ streams: [a }',
  'client_secret: { name: a }', 'client_secret: {}', 'name: { name: a }', '{ name: }', '{ base_url: https://u:p@a.example }', '{ name: a, }', '{ name: |, scope: x }',
  'client_secret: x', 'colour: x', 'scope', 'scope=x', '? scope', 'scope: x client_secret: y', 'scope: x: y',
  'base_url: https://u:p@a.example', 'base_url: https://a.example?key', 'base_url: https://a.example#key', 'scope: "a@b"', "scope: 'a?b'",
  'scope: ${NAME}', 'scope: "${NAME}"', 'scope: { a: b }', 'scope: a}', 'streams: [a, { b: c }]', 'streams: [a: b]', 'streams: [a', 'streams: [[a]]',
  'scope: *a', 'scope: &a x', 'scope: !a x', 'scope: |', 'scope: >-', 'scope: @a', 'scope: %a', 'scope: `a', 'scope: ,a',
  'scope: "a', "scope: 'a", 'scope: a"b', 'scope: "a\\n"', 'scope: a\\n', 'scope: "a" b',
  'scope: a\u0007', 'scope: a\u202Eb', `scope: ${'a'.repeat(154)}`,
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
  ['{ scope: a b, client_secret: x }', 'a b'],
  ['{ client_secret: x, "scope": "a" }', '"a"'],
  ['scope : a', 'a'],
  [`{ scope: ${'a'.repeat(160)} }`, 'a'.repeat(160)],
  [`{ scope: ${'a'.repeat(161)} }`, undefined],
  ['scope: a\n  b', undefined],
  ['scope: [a, # b\n a]', undefined],
  ['{ scope: "a\n b" }', undefined],
  ['{ scope: a@b }', undefined],
  ['{ name: &a x, scope: *a }', undefined],
])('in %j, the scope is shown as %j', (text, shown) => {
  expect(formatter().quote(parse(text), ['scope'])).toBe(shown);
});

test.each([
  ['colour', 'colour'],
  ['client_secret', 'client_secret'],
  ['one_two_three_four', 'one_two_three_four'],
  ['one_two_three_four_five', '(file)'],
  ['abcdefghijklmnopq', '(file)'],
  ['a1b2', '(file)'],
  ['a b', '(file)'],
  ['a-b', '(file)'],
])('the key %j is shown as %s', (key, shown) => {
  const problem = { file: parse(`"${key}": x`), offset: 0, path: [key], message: 'wrong' };
  expect(formatter().format(problem)).toBe(`f:1:1: ${shown}: wrong`);
});

test('of a secret with 4 characters or more, no message shows anything', () => {
  const withSecrets = formatter();
  withSecrets.addSecret('four');
  withSecrets.addSecret('two');
  const problem = { file: parse('x'), offset: 0, path: [], message: 'four of twofour' };
  expect(withSecrets.format(problem)).toBe('f:1:1: (file): [redacted] of two[redacted]');
});

test.each([
  [
    'before',
    z.strictObject({ secrets: z.strictObject({ key: hidden('', () => true) }), key: text('') }),
  ],
  [
    'after',
    z.strictObject({ key: text(''), secrets: z.strictObject({ key: hidden('', () => true) }) }),
  ],
])('a key that is a secret in another section is not shown, %s that', (_where, schema) => {
  expect(
    new ProblemFormatter(new SchemaKeys(schema)).quote(parse('key: a'), ['key']),
  ).toBeUndefined();
});

test('a loaded configuration and its warnings show no secret', async () => {
  const text = configWith({}).replace('hunter2hunter2', SECRET);
  expect(JSON.stringify(await load({ 'config.yaml': text }))).not.toMatch(LEAK);
});
