/** The examples of the pages: configurations, commands and queries. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Terminal } from '../cli/terminal.ts';
import { folderOf, load } from '../config/folder.ts';
import { seriesLabels } from '../grafana/contract-metrics.ts';
import { syntaxErrors } from '../grafana/promql.ts';

const DOCS = new URL('../../docs/', import.meta.url);
const TEXT = ['../README.md', ...readdirSync(DOCS).filter((name) => name.endsWith('.md'))]
  .map((page) => readFileSync(new URL(page, DOCS), 'utf8'))
  .join('\n');

function matches(pattern: RegExp): readonly string[] {
  return Array.from(TEXT.matchAll(pattern), ([, found = '']) => found);
}

test('the configurations of the README and of docs/debian.md are complete', async () => {
  const examples = matches(/```yaml\n(service:\n[^`]+)```/g);
  expect(examples).toHaveLength(2);
  for (const example of examples) {
    const files = { 'config.yaml': example, 'secrets/riverside': 'hunter2hunter2' };
    const env = { CREDENTIALS_DIRECTORY: await folderOf({ secrets_riverside: 'hunter2' }) };
    const { config, warnings } = await load(files, env);
    expect(config.customers.map(({ name }) => name)).toEqual(['riverside']);
    expect(warnings).toEqual([]);
  }
});

const QUERIES = [
  ...matches(/```promql\n([^`]+)```/g).flatMap((block) => block.trimEnd().split('\n')),
  ...matches(/PromQL:\s`([^`]+)`/g),
  ...matches(/^\| [^|]+\? +\| `([^`]+)` +\|$/gm),
];

test.each(QUERIES)('%s reads metrics that exist', (query) => {
  expect(syntaxErrors(query)).toEqual([]);
  expect(seriesLabels(query)).not.toEqual([]);
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
