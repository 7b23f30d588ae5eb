import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { labelsOf } from '../grafana/contract-metrics.ts';
import { matchedLabels, selectorsOf } from '../grafana/promql.ts';
import type { Selector } from '../grafana/promql.ts';
import { filesOf, readPrometheusFile, readRules } from './rules.ts';
import type { Alert, Recording } from './rules.ts';

const RULES = readRules();
const ALERTS = RULES.filter((rule): rule is Alert => 'alert' in rule);
const RECORDINGS = RULES.filter((rule): rule is Recording => 'record' in rule);

test.each(RULES.map((rule) => ['alert' in rule ? rule.alert : rule.record, rule.expr]))(
  '%s asks for series that exist',
  (_, expression) => {
    expect(selectorsOf(expression)).not.toEqual([]);
    for (const selector of selectorsOf(expression).filter(isNotRecorded)) {
      expect(labelsOf(selector.metric) ?? [`no metric ${selector.metric}`]).toEqual(
        expect.arrayContaining([...matchedLabels(selector)]),
      );
    }
  },
);

test.each(RECORDINGS)('$record is named level:metric:operations', ({ record }) => {
  expect(record).toMatch(/^customer:library_\w+:\w+$/);
});

describe.each(ALERTS)('$alert', ({ alert, annotations }) => {
  test('tells what is wrong, where, and what to do', () => {
    expect(annotations.summary).toMatch(/^[A-Z][^{}]*\.$/);
    expect(annotations.description).toMatch(/\{\{ (with )?\$labels\./);
    expect(annotations.runbook).toMatch(/\.$/);
  });

  test('has a unit test in which it fires, and one in which it does not', () => {
    const cases = filesOf('tests')
      .map((path) => readPrometheusFile(path))
      .join('\n');
    const unquoted = cases.replaceAll('\n', ' ');
    expect(unquoted).toMatch(
      new RegExp(`alertname: ${alert}\\s+eval_time: \\S+( #[^:]*?)?\\s+exp_alerts: \\[\\]`),
    );
    expect(unquoted).toMatch(
      new RegExp(`alertname: ${alert}\\s+eval_time: \\S+\\s+exp_alerts:\\s+- exp_labels`),
    );
  });
});

test('the example configuration loads the rules, and scrapes the job that they name', () => {
  const example = parse(readPrometheusFile('prometheus.yml')) as {
    rule_files: string[];
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
  };
  expect(example.rule_files).toEqual(['rules/*.yml']);
  expect(filesOf('rules').every((path) => path.endsWith('.yml'))).toBe(true);
  expect(example.scrape_configs).toEqual([
    { job_name: 'library', static_configs: [{ targets: ['localhost:10096'] }] },
  ]);
  const named = RULES.flatMap(({ expr }) => selectorsOf(expr)).flatMap(({ matchers }) => matchers);
  expect(named.filter((matcher) => matcher.startsWith('job'))).toEqual([
    'job="library"',
    'job="library"',
  ]);
});

test('every test file tests the shipped rules', () => {
  for (const path of filesOf('tests')) {
    expect(parse(readPrometheusFile(path))).toMatchObject({ rule_files: ['../rules/library.yml'] });
  }
});

function isNotRecorded({ metric }: Selector): boolean {
  return !RECORDINGS.some(({ record }) => record === metric);
}
