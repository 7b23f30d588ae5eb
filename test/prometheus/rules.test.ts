import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { labelsOf } from '../grafana/contract-metrics.ts';
import { groupingLabels, madeLabels, matchedLabels, selectorsOf } from '../grafana/promql.ts';
import type { Selector } from '../grafana/promql.ts';
import { ALERT_CASES } from './cases/all.ts';
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
const RUNBOOK = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');

test.each([
  ...RECORDINGS.map(({ record, expr }) => [record, expr] as const),
  ...ALERTS.map(({ alert, expr }) => [alert, expr] as const),
])('%s asks for series that exist', (_, expression) => {
  expect(selectorsOf(expression)).not.toEqual([]);
  for (const selector of selectorsOf(expression)) {
    expect(labelsThere(selector) ?? [`no metric ${selector.metric}`]).toEqual(
      expect.arrayContaining([...matchedLabels(selector)]),
    );
  }
});

test.each([
  ...RECORDINGS.map(({ record, expr }) => [record, expr] as const),
  ...ALERTS.map(({ alert, expr }) => [alert, expr] as const),
])('%s groups and matches by labels that its series have, or that it makes', (_, expression) => {
  const there = selectorsOf(expression).flatMap((selector) => labelsThere(selector) ?? []);
  expect([...there, ...madeLabels(expression)]).toEqual(
    expect.arrayContaining([...groupingLabels(expression)]),
  );
});

test.each(RECORDINGS)(
  '$record is named level:metric:operations, after its labels',
  ({ record }) => {
    const [, level = ''] = /^(\w+):library_\w+:\w+$/.exec(record) ?? [];
    expect(level.split('_')).toEqual(
      expect.arrayContaining([expect.stringMatching(/^(customer|shards)$/)]),
    );
  },
);

test('no rule is recorded or alerted twice, and none of another file is forgotten', () => {
  const names = [...RECORDINGS.map(({ record }) => record), ...ALERTS.map(({ alert }) => alert)];
  expect(new Set(names).size).toBe(names.length);
  expect(ruleFilesThere().toSorted()).toEqual([...RULE_FILES].toSorted());
  const groups = RULE_FILES.flatMap((path) => readRuleFile(path).groups);
  expect(groups.flatMap(({ rules }) => rules)).toHaveLength(names.length);
  expect(new Set(groups.map(({ name }) => name)).size).toBe(groups.length);
});

describe.each(ALERTS)('$alert', ({ alert, expr, annotations }) => {
  test('tells what is wrong, where, and where to read what to do', () => {
    expect(annotations.summary).toMatch(/^[A-Z][^{}]*\.$/);
    expect(annotations.description).toMatch(/\.(\{\{ end \}\})?$/);
    // Of a target that does not exist nothing can be said but that.
    const saysWhere = /\{\{ \$labels\.\w+ \}\}/.test(annotations.description);
    expect(saysWhere).toBe(alert !== 'LibraryExporterAbsent');
  });

  test('has a heading in the runbook, with what it means, what to look at and what to do', () => {
    expect(annotations.runbook_url).toMatch(/\/docs\/runbook\.md#\w+$/);
    expect(annotations.runbook_url.split('#')[1]).toBe(alert.toLowerCase());
    const chapter = RUNBOOK.split(/^## /m).find((one) => one.startsWith(`${alert}\n`));
    expect(chapter).toMatch(/\n\*\*Means\.\*\* \S[^]*\n\*\*Look at\.\*\* \S[^]*\n\*\*Do\.\*\* \S/);
  });

  test('takes a customer for one, whoever shows it', () => {
    for (const aggregation of expr.matchAll(/\b(?:max|min|sum) by \(([^)]*)\)/g)) {
      expect(aggregation[1]).not.toMatch(/\b(job|instance)\b/);
    }
  });

  test('has unit tests in which it fires, is silent, resolves, and is found out when weakened', () => {
    const cases = ALERT_CASES.filter((one) => one.alert === alert);
    expect(cases).not.toEqual([]);
    for (const { firesAt, silent, resolves, mutations } of cases) {
      expect(firesAt).toBeGreaterThan(1);
      expect(Object.keys(silent).length).toBeGreaterThanOrEqual(2);
      expect(Object.keys(resolves).length).toBeGreaterThanOrEqual(1);
      expect(mutations.length).toBeGreaterThanOrEqual(2);
    }
  });
});

test('the runbook has no chapter about an alert that does not exist', () => {
  const headings = [...RUNBOOK.matchAll(/^## (Library\w+)$/gm)].map(([, name = '']) => name);
  expect(headings.toSorted()).toEqual(ALERTS.map(({ alert }) => alert).toSorted());
});

test.each(ALERT_CASES)('the cases of $alert $side are told of names of their own', (alertCase) => {
  const names = [alertCase.alsoFires ?? {}, alertCase.silent, alertCase.resolves].flatMap((one) =>
    Object.keys(one),
  );
  expect(new Set(names).size).toBe(names.length);
});

test('the example configuration loads the rules, scrapes the exporter and knows an Alertmanager', () => {
  const example = parse(readPrometheusFile('prometheus.yml')) as {
    rule_files: string[];
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
    alerting: object;
  };
  expect(example.rule_files).toEqual(['rules/*.yml']);
  expect(example.scrape_configs).toEqual([
    { job_name: 'library', static_configs: [{ targets: ['localhost:10096'] }] },
  ]);
  expect(example.alerting).toEqual({
    alertmanagers: [{ static_configs: [{ targets: ['localhost:9093'] }] }],
  });
});

/** The labels that a series has, be it the exporter's or a rule's; undefined where there is none. */
function labelsThere({ metric }: Selector): readonly string[] | undefined {
  return RECORDINGS.some(({ record }) => record === metric)
    ? (metric.split(':')[0] ?? '').split('_')
    : labelsOf(metric);
}
