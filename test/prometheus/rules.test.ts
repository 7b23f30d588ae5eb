import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { labelsOf } from '../grafana/contract-metrics.ts';
import { groupingLabels, madeLabels, matchedLabels, selectorsOf } from '../grafana/promql.ts';
import type { Selector } from '../grafana/promql.ts';
import {
  RULE_FILES,
  readAlerts,
  readPrometheusFile,
  readRecordings,
  readRuleFile,
  ruleFilesThere,
} from './rules.ts';

const ALERTS = readAlerts();
const RECORDINGS = readRecordings();
const EXPRESSIONS = [
  ...RECORDINGS.map(({ record, expr }) => [record, expr] as const),
  ...ALERTS.map(({ alert, expr }) => [alert, expr] as const),
];
const DOCS = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8');

test.each(EXPRESSIONS)('%s reads and groups by labels that exist', (_, expression) => {
  const selectors = selectorsOf(expression);
  expect(selectors.filter((selector) => labelsThere(selector) === undefined)).toEqual([]);
  for (const selector of selectors) {
    expect(labelsThere(selector)).toEqual(expect.arrayContaining([...matchedLabels(selector)]));
  }
  const there = selectors.flatMap((selector) => labelsThere(selector) ?? []);
  expect([...there, ...madeLabels(expression)]).toEqual(
    expect.arrayContaining([...groupingLabels(expression)]),
  );
});

test('every recording is read by a rule', () => {
  const read = new Set(
    EXPRESSIONS.flatMap(([name, expression]) =>
      selectorsOf(expression)
        .map(({ metric }) => metric)
        .filter((metric) => metric !== name),
    ),
  );
  expect(RECORDINGS.map(({ record }) => record).filter((record) => !read.has(record))).toEqual([]);
});

test('a recording that is older than the look-back of five minutes is read over a range', () => {
  const rare = RULE_FILES.flatMap((path) => readRuleFile(path).groups)
    .filter(({ interval }) => interval === '15m' || interval === '1h')
    .flatMap(({ name, rules }) =>
      rules.flatMap((rule) => ('record' in rule ? [{ name, record: rule.record }] : [])),
    );
  expect(rare).not.toEqual([]);
  for (const { name, record } of rare) {
    const readers = RULE_FILES.flatMap((path) => readRuleFile(path).groups)
      // In one group each rule reads what the rules before it have just recorded.
      .filter((group) => group.name !== name)
      .flatMap(({ rules }) => rules.flatMap(({ expr }) => selectorsOf(expr)))
      .filter(({ metric }) => metric === record);
    expect(readers.filter(({ range }) => range === undefined)).toEqual([]);
  }
});

test('names are unique, and every file of the folder is known', () => {
  const names = EXPRESSIONS.map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(ruleFilesThere().toSorted()).toEqual([...RULE_FILES].toSorted());
});

describe.each(ALERTS)('$alert', ({ alert, expr, annotations }) => {
  test('has annotations that say what, where, and where to read on', () => {
    expect(annotations.summary).toMatch(/^[A-Z][^{}]*\.$/);
    expect(annotations.description).toMatch(/\{\{ .*(\.|\?)( \{\{ end \}\})?$/s);
    expect(annotations.runbook_url.split('#')[1]).toBe(alert.toLowerCase());
    const ofCustomer = annotations.dashboard_url.endsWith('?var-customer={{ $labels.customer }}');
    expect(ofCustomer).toBe(
      annotations.description.includes('$labels.customer') &&
        annotations.dashboard_url.includes('/d/library-customer'),
    );
  });

  test('has a section in docs/alerts.md with its meaning, a first step and PromQL', () => {
    const section = DOCS.split(/^### /m).find((one) => one.startsWith(`${alert}\n`));
    expect(section).toMatch(/\sFirst:\s[^]*PromQL:\s`[^`]+`/);
  });

  test('counts a customer once, whatever exporters show it', () => {
    for (const aggregation of expr.matchAll(/\b(?:max|min|sum) by \(([^)]*)\)/g)) {
      expect(aggregation[1]).not.toMatch(/\b(job|instance)\b/);
    }
  });
});

test('docs/alerts.md has no section about an alert that does not exist', () => {
  const headings = [...DOCS.matchAll(/^### (Library\w+)$/gm)].map(([, name = '']) => name);
  expect(headings.toSorted()).toEqual(ALERTS.map(({ alert }) => alert).toSorted());
});

test('the example configuration loads the rules, scrapes the exporter and has an Alertmanager', () => {
  expect(parse(readPrometheusFile('prometheus.yml'))).toMatchObject({
    rule_files: ['rules/*.yml'],
    scrape_configs: [{ job_name: 'library', static_configs: [{ targets: ['localhost:10096'] }] }],
    alerting: { alertmanagers: [{ static_configs: [{ targets: ['localhost:9093'] }] }] },
  });
});

/** The labels of a metric of the exporter, a recording, or ALERTS; undefined where it does not exist. */
function labelsThere({ metric }: Selector): readonly string[] | undefined {
  if (metric === 'ALERTS') {
    return ['alertname', 'alertstate'];
  }
  return RECORDINGS.some(({ record }) => record === metric)
    ? (metric.split(':')[0] ?? '').split('_')
    : labelsOf(metric);
}
