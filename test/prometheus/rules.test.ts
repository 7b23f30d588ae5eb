import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { prometheusRule } from '../../deploy/rules.ts';
import { VERSION } from '../../src/cli/io.ts';
import { seriesLabels } from '../grafana/contract-metrics.ts';
import { groupingLabels, madeLabels, selectorsOf } from '../grafana/promql.ts';
import {
  PROMETHEUS_FOLDER,
  RULE_FILES,
  readAlerts,
  readGroups,
  readPrometheusFile,
  readRecordings,
} from './rules.ts';

const ALERTS = readAlerts();
const RECORDINGS = readRecordings();
const EXPRESSIONS = [
  ...RECORDINGS.map(({ record, expr }) => [record, expr] as const),
  ...ALERTS.map(({ alert, expr }) => [alert, expr] as const),
];
const DOCS = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8');

test.each(EXPRESSIONS)('%s reads and groups by labels that exist', (_, expression) => {
  expect([...seriesLabels(expression), ...madeLabels(expression)]).toEqual(
    expect.arrayContaining([...groupingLabels(expression)]),
  );
});

test.each(EXPRESSIONS)('%s has at most 300 characters', (_, expression) => {
  const lines = expression.trim().split('\n');
  expect(lines.map((line) => line.trim()).join('\n').length).toBeLessThanOrEqual(300);
});

test.each(RULE_FILES)('the first line of %s has the version', (path) => {
  expect(readPrometheusFile(path)).toMatch(new RegExp(`^# library-stats-exporter ${VERSION}\n`));
});

test('a recording that is older than the look-back of five minutes is read over a range', () => {
  const rare = readGroups()
    .filter(({ interval }) => interval === '4h')
    .flatMap(({ name, rules }) =>
      rules.flatMap((rule) => ('record' in rule ? [{ name, record: rule.record }] : [])),
    );
  expect(rare).not.toEqual([]);
  for (const { name, record } of rare) {
    const readers = readGroups()
      // In one group each rule reads what the rules before it have just recorded.
      .filter((group) => group.name !== name)
      .flatMap(({ rules }) => rules.flatMap(({ expr }) => selectorsOf(expr)))
      .filter(({ metric }) => metric === record);
    expect(readers.filter(({ range }) => range === undefined)).toEqual([]);
  }
});

test('the rules of deploy/kubernetes are what npm run rules makes', () => {
  const path = new URL('../../deploy/kubernetes/prometheusrule.yaml', import.meta.url);
  expect(readFileSync(path, 'utf8')).toBe(prometheusRule());
});

test('every file of the folder is known', () => {
  const files = readdirSync(new URL('rules/', PROMETHEUS_FOLDER)).map((name) => `rules/${name}`);
  expect(files.toSorted()).toEqual([...RULE_FILES].toSorted());
});

test('docs/alerts.md has a section for each alert, and for no other', () => {
  const headings = [...DOCS.matchAll(/^### (Library\w+)$/gm)].map(([, name = '']) => name);
  expect(headings.toSorted()).toEqual(ALERTS.map(({ alert }) => alert).toSorted());
});
