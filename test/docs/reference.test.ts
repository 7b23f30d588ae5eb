/** docs/reference: made of the code, and nothing that the outside relies on is missing in it. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { referencePages } from '../../docs/reference/pages.ts';
import { Terminal } from '../cli/terminal.ts';
import { CONTRACT_METRICS } from '../grafana/contract-metrics.ts';

const FOLDER = new URL('../../docs/reference/', import.meta.url);
const PAGES = await referencePages();

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

/** The names at the head of the lines of the tables. */
function firstCells(text: string): readonly string[] {
  return Array.from(text.matchAll(/^\| `([^` ]+)[^`]*` /gm), ([, name = '']) => name);
}

test.each(PAGES)('the committed %s is what npm run reference makes', (name, text) => {
  expect(read(name)).toBe(text);
});

test('there is no other page than those that are made', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.md'));
  expect(files.toSorted()).toEqual(PAGES.map(([name]) => name).toSorted());
});

test('metrics.md has the metrics of the contract with their labels, and no others of ours', () => {
  const text = read('metrics.md');
  const sections = Array.from(
    text.matchAll(/^### `(\w+)`\n\n\*\*(.+)$/gm),
    ([, name = '', kind]) => {
      const labels = Array.from(kind?.matchAll(/`(\w+)`/g) ?? [], ([, label]) => label);
      return [name, labels.filter((label) => label !== 'labels')];
    },
  );
  const contract = Object.entries(CONTRACT_METRICS).map(([name, labels]) => [
    name,
    labels.filter((label) => label !== 'customer'),
  ]);
  expect(Object.fromEntries(sections)).toEqual(Object.fromEntries(contract));
  expect(firstCells(text)).toEqual(
    expect.arrayContaining(['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds']),
  );
});

test('configuration.md has every property of the schema', () => {
  const keys = propertiesOf(JSON.parse(read('../config.schema.json')));
  expect(keys.length).toBeGreaterThan(30);
  expect(firstCells(read('configuration.md'))).toEqual(expect.arrayContaining(keys));
});

test.each(['run', 'demo', 'service', 'check', 'query', 'backfill'])(
  'command-line.md has every flag that %s --help shows, in its section',
  async (command) => {
    const { out } = await new Terminal().run(command, '--help');
    const flags = Array.from(out.matchAll(/^ {2}(--[\w.-]+)/gm), ([, flag = '']) => flag);
    const sections = read('command-line.md').split(/^## /m);
    const section = sections.find((part) => part.startsWith(`\`${command}\``)) ?? '';
    const everywhere = ['--version', '--help'];
    expect(flags.filter((flag) => !everywhere.includes(flag))).toEqual(firstCells(section));
  },
);

const OBJECT = z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) });

/** The names of the properties of a schema, at every level. */
function propertiesOf(schema: unknown): string[] {
  if (Array.isArray(schema)) {
    return schema.flatMap(propertiesOf);
  }
  const parsed = OBJECT.safeParse(schema);
  if (!parsed.success) {
    return [];
  }
  const { properties, ...others } = parsed.data;
  const parts = [...Object.values(properties), ...Object.values(others)];
  return [...Object.keys(properties), ...parts.flatMap(propertiesOf)];
}
