/** docs/reference: made of the code, and nothing that the outside relies on is missing in it. */
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { referencePages } from '../../docs/reference/pages.ts';
import { BREAKDOWNS } from '../../src/base/model.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { breakdownFamilies } from '../../src/metrics/breakdown-families.ts';
import { CUSTOMER_FAMILIES } from '../../src/metrics/families.ts';
import { Terminal } from '../cli/terminal.ts';
import {
  CONDITIONAL_METRICS,
  CUSTOMER_METRICS,
  EXPORTER_METRICS,
} from '../grafana/contract-metrics.ts';
import { riverside } from '../metrics/fixtures.ts';

const FOLDER = new URL('../../docs/reference/', import.meta.url);
const PAGES = await referencePages();

function page(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

/** The names at the head of the lines of a page's tables. */
function firstCells(text: string): readonly string[] {
  return Array.from(text.matchAll(/^\| `([^`]+)` /gm), ([, name = '']) => name);
}

test.each(PAGES)('the committed %s is what npm run reference makes', (name, text) => {
  expect(page(name)).toBe(text);
});

test('there is no other page than those that are made', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.md'));
  expect(files.toSorted()).toEqual(PAGES.map(([name]) => name).toSorted());
});

describe('metrics.md', () => {
  const text = page('metrics.md');
  const sections = new Map(
    Array.from(text.matchAll(/^### `(\w+)`\n\n(\*\*.+)$/gm), ([, name, kind]) => [name, kind]),
  );

  test.each(Object.entries({ ...CUSTOMER_METRICS, ...CONDITIONAL_METRICS, ...EXPORTER_METRICS }))(
    '%s of the contract is there, with its labels',
    (name, labels) => {
      const shown = Array.from(
        (sections.get(name) ?? '').matchAll(/`(\w+)`/g),
        ([, label]) => label,
      );
      const own = labels.filter((label) => label !== 'customer');
      expect(sections.has(name)).toBe(true);
      expect(shown.filter((label) => label !== 'labels')).toEqual(own);
    },
  );

  test('the families of the process are there', () => {
    expect(firstCells(text)).toEqual(
      expect.arrayContaining(['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds']),
    );
  });

  test.each([...CUSTOMER_FAMILIES, ...breakdownFamilies(new Set(BREAKDOWNS))])(
    'the labels that the table has of $name are those of its series',
    ({ samples, labels }) => {
      const found = samples(everythingKnown(), { infoLabelNames: [] });
      expect(found).not.toEqual([]);
      for (const sample of found) {
        expect(sample.labels.map(([name]) => name)).toEqual(labels);
      }
    },
  );
});

describe('configuration.md', () => {
  const text = page('configuration.md');

  test('every property of the schema is there', () => {
    const schema: unknown = JSON.parse(
      readFileSync(new URL('../config.schema.json', FOLDER), 'utf8'),
    );
    const keys = propertiesOf(schema);
    expect(keys.length).toBeGreaterThan(30);
    expect(keys.filter((key) => !firstCells(text).includes(key))).toEqual([]);
  });
});

describe('command-line.md', () => {
  const text = page('command-line.md');

  test.each(['run', 'demo', 'service', 'check', 'query', 'backfill'])(
    'every flag that %s --help tells of is there, in its section',
    async (command) => {
      const { out } = await new Terminal().run(command, '--help');
      const flags = Array.from(out.matchAll(/^ {2}(--[\w.-]+)/gm), ([, flag = '']) => flag);
      const section = text.split(/^## /m).find((part) => part.startsWith(`\`${command}\``)) ?? '';
      const shown = firstCells(section).map((cell) => cell.replace(/ .*/, ''));
      const everywhere = ['--version', '--help'];
      expect(flags.filter((flag) => !everywhere.includes(flag))).toEqual(shown);
    },
  );
});

/** A customer with a figure for every series. */
function everythingKnown(): CustomerMetrics {
  const { counters } = riverside();
  const figures = {
    keys: [{ key: '101', counters, occupancy: 5 }],
    droppedKeys: 0,
    names: [['101', 'Main Library'] as const],
  };
  return riverside({ breakdowns: { branch: figures, client: figures, device: figures } });
}

const OBJECT = z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() });

/** The names of the properties of a schema, at every level. */
function propertiesOf(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) {
    return schema.flatMap(propertiesOf);
  }
  const parsed = OBJECT.safeParse(schema);
  if (!parsed.success) {
    return [];
  }
  const { properties = {}, ...others } = parsed.data;
  return [
    ...Object.keys(properties),
    ...[properties, others].flatMap((part) => Object.values(part).flatMap(propertiesOf)),
  ];
}
