/** The examples of the pages: configuration, commands and queries. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Terminal } from '../cli/terminal.ts';
import { load } from '../config/folder.ts';
import { labelsOf } from '../grafana/contract-metrics.ts';
import { selectorsOf, syntaxErrors } from '../grafana/promql.ts';
import { readRecordings } from '../prometheus/rules.ts';

const PAGES = [
  'README.md',
  'docs/alerts.md',
  'docs/backfill.md',
  'docs/commands.md',
  'docs/occupancy.md',
  'docs/operations.md',
];

const TEXTS = PAGES.map((page) => readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8'));

function matches(pattern: RegExp): readonly (readonly [string, string])[] {
  return TEXTS.flatMap((text) =>
    Array.from(text.matchAll(pattern), ([, first = '', second = '']) => [first, second] as const),
  );
}

test('the configuration of the README is complete', async () => {
  const [example] = matches(/```yaml\n(service:\n[^`]+)```/g);
  const { config, warnings } = await load({
    'config.yaml': example?.[0] ?? '',
    'secrets/riverside': 'hunter2hunter2',
  });
  expect(config.customers.map(({ name }) => name)).toEqual(['riverside']);
  expect(warnings).toEqual([]);
});

const QUERIES = [
  ...matches(/```promql\n([^`]+)```/g).flatMap(([block]) => block.trimEnd().split('\n')),
  ...matches(/PromQL:\s`([^`]+)`/g).map(([query]) => query),
  ...matches(/^\| [^|]+\? +\| `([^`]+)` +\|$/gm).map(([query]) => query),
];

test('there are queries', () => {
  expect(QUERIES.length).toBeGreaterThan(30);
});

test.each(QUERIES)('%s reads metrics that exist', (query) => {
  const others = ['ALERTS', ...readRecordings().map(({ record }) => record)];
  const unknown = selectorsOf(query)
    .map(({ metric }) => metric)
    .filter((metric) => labelsOf(metric) === undefined && !others.includes(metric));
  expect(syntaxErrors(query)).toEqual([]);
  expect(unknown).toEqual([]);
});

/** The command and the flags of each command line, continued lines included. */
const COMMANDS = matches(
  /(?:(?<!-u )library-stats-exporter|npm start(?: --silent)? --) ((?:\\\n|[^\n`#|>])+)/g,
).map(([line]) => line.replaceAll('\\\n', ' ').trim());

test('there are command lines', () => {
  expect(COMMANDS.length).toBeGreaterThan(8);
});

test.each([...new Set(COMMANDS)])('%s has flags that exist', async (line) => {
  const [first = ''] = line.split(' ');
  const command = /^[a-z]+$/.test(first) ? first : 'run';
  const { status, out } = await new Terminal().run(command, '--help');
  expect(status).toBe(0);
  for (const [flag] of line.matchAll(/--[a-z][\w.-]+/g)) {
    expect(out).toContain(`  ${flag}`);
  }
});
