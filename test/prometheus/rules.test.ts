import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { prometheusRule } from '../../deploy/rules.ts';
import { VERSION } from '../../src/cli/io.ts';
import { seriesLabels } from '../grafana/contract-metrics.ts';
import { asPromql, queriesOf, readDashboards } from '../grafana/dashboard.ts';
import { groupingLabels, madeLabels, selectorsOf } from '../grafana/promql.ts';
import { RULE_FILES, readAlerts, readGroups, readPrometheusFile } from './rules.ts';

const EXPRESSIONS = readGroups().flatMap(({ rules }) =>
  rules.map((rule) => ['record' in rule ? rule.record : rule.alert, rule.expr] as const),
);
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
    .flatMap(({ rules }) => rules.map((rule) => ('record' in rule ? rule.record : '')));
  const queries = readDashboards().flatMap(([, { panels }]) => panels.flatMap(queriesOf));
  const readers = [...queries.map(asPromql), ...readAlerts().map(({ expr }) => expr)]
    .flatMap(selectorsOf)
    .filter(({ metric }) => rare.includes(metric));
  expect(readers).not.toEqual([]);
  expect(readers.filter(({ range }) => range === undefined)).toEqual([]);
});

test('the rules of deploy/kubernetes are what npm run rules makes', () => {
  const path = new URL('../../deploy/kubernetes/prometheusrule.yaml', import.meta.url);
  expect(readFileSync(path, 'utf8')).toBe(prometheusRule());
});

test('docs/alerts.md has a section for each alert, and for no other', () => {
  const headings = [...DOCS.matchAll(/^### (Library\w+)$/gm)].map(([, name = '']) => name);
  expect(headings.toSorted()).toEqual(
    readAlerts()
      .map(({ alert }) => alert)
      .toSorted(),
  );
});
