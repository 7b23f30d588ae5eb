/** The examples of the pages: configurations, commands and queries. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadWebConfig } from '../../src/config/web.ts';
import { Terminal } from '../cli/terminal.ts';
import { folderOf, load } from '../config/folder.ts';
import { labelsOf } from '../grafana/contract-metrics.ts';
import { selectorsOf, syntaxErrors } from '../grafana/promql.ts';
import { readRecordings } from '../prometheus/rules.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';

const PAGES = [
  '../README',
  'alerts',
  'backfill',
  'commands',
  'debian',
  'occupancy',
  'operations',
  'troubleshooting',
];
const TEXT = PAGES.map((page) =>
  readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8'),
).join('\n');

function matches(pattern: RegExp): readonly string[] {
  return Array.from(TEXT.matchAll(pattern), ([, found = '']) => found);
}

test('the configuration of the README is complete', async () => {
  const [example = ''] = matches(/```yaml\n(service:\n[^`]+)```/g);
  const files = { 'config.yaml': example, 'secrets/riverside': 'hunter2hunter2' };
  const { config, warnings } = await load(files);
  expect(config.customers.map(({ name }) => name)).toEqual(['riverside']);
  expect(warnings).toEqual([]);
});

test('the configuration of docs/debian.md has secrets that systemd hands over', async () => {
  const [, example = ''] = matches(/```yaml\n(service:\n[^`]+)```/g);
  const credentials = await folderOf({ secrets_riverside: 'hunter2' });
  const env = { CREDENTIALS_DIRECTORY: credentials };
  const { config, warnings } = await load({ 'config.yaml': example }, env);
  expect(config.customers.map(({ name }) => name)).toEqual(['riverside']);
  expect(warnings).toEqual([]);
});

test('the web.yml of docs/operations.md is valid and causes no warning', async () => {
  const { cert, key } = makeCertificate({ name: 'server' });
  const [example = ''] = matches(/```yaml\n(# web\.yml\n[^]*?)```/g);
  const files = { 'web.yml': example, 'server.pem': cert, 'server-key.pem': key };
  const folder = await folderOf({ ...files, 'clients-ca.pem': makeAuthority().cert });
  const { config, warnings } = await loadWebConfig({ path: join(folder, 'web.yml'), env: {} });
  expect(warnings).toEqual([]);
  expect(config.tls?.clientAuth).toBe('RequireAndVerifyClientCert');
  expect([...config.users.keys()]).toEqual(['prometheus']);
});

const QUERIES = [
  ...matches(/```promql\n([^`]+)```/g).flatMap((block) => block.trimEnd().split('\n')),
  ...matches(/PromQL:\s`([^`]+)`/g),
  ...matches(/^\| [^|]+\? +\| `([^`]+)` +\|$/gm),
];

test.each(QUERIES)('%s reads metrics that exist', (query) => {
  const recordings = readRecordings().map(({ record }) => record);
  const unknown = selectorsOf(query)
    .map(({ metric }) => metric)
    .filter((metric) => !labelsOf(metric) && !['ALERTS', ...recordings].includes(metric));
  expect(syntaxErrors(query)).toEqual([]);
  expect(unknown).toEqual([]);
});

/** The command and the flags of each command line, continued lines included. */
const COMMANDS = matches(
  /(?:(?<!-u |stop )library-stats-exporter|npm start(?: --silent)? --|main\.js) ((?:\\\n|[^\n`#|>])+)/g,
).map((line) => line.replaceAll('\\\n', ' ').trim());

test.each([...new Set(COMMANDS)])('%s has flags that exist', async (line) => {
  const [first = ''] = line.split(' ');
  const command = /^[a-z]+$/.test(first) ? first : 'run';
  const { status, out } = await new Terminal().run(command, '--help');
  expect(status).toBe(0);
  for (const [flag] of line.matchAll(/--[a-z][\w.-]+/g)) {
    expect(out).toContain(`  ${flag}`);
  }
});

test('there are queries and command lines', () => {
  expect(QUERIES.length).toBeGreaterThan(20);
  expect(COMMANDS.length).toBeGreaterThan(8);
});
