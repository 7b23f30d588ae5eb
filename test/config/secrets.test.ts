/** Secrets that are not in the file itself. Those that are, in every odd place: in the corpus. */
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configWith, folderOf, load, problemsOf } from './folder.ts';
import { join } from 'node:path';

const SECRET = 'correct-horse-battery';

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

test('a secret of more than one line is a warning, and no line of it is seen', async () => {
  const { warnings } = await load({
    'config.yaml': configWith({}).replace(
      'client_secret: hunter2hunter2',
      'client_secret_file: secret',
    ),
    secret: 'riverside-api\ncorrect-horse-battery\n',
  });
  expect(warnings.map((warning) => warning.replace(/^.*\//, ''))).toEqual([
    [
      'config.yaml:7:25: customers[0].client_secret_file: the file holds more than one line: leave no more than the secret in it',
      '      client_secret_file: secret',
      '                          ^^^^^^',
    ].join('\n'),
  ]);
});

test('the loaded configuration shows no secret either', async () => {
  const folder = await folderOf({ 'config.yaml': configWith({}) });
  const loaded = await loadConfig({ path: join(folder, 'config.yaml'), env: {} });
  expect(JSON.stringify(loaded)).not.toContain('hunter2');
});
