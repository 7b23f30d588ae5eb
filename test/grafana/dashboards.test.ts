import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { generatedFiles } from '../../grafana/dashboards.ts';
import { RUNBOOKS_URL } from '../../grafana/theme.ts';
import { PROBLEM_KINDS } from '../../src/counting/problems.ts';
import { labelsOf, seriesLabels } from './contract-metrics.ts';
import { asPromql, columnsOf, queriesOf, readDashboards } from './dashboard.ts';
import { groupingLabels, selectorsOf, syntaxErrors } from './promql.ts';
import type { Selector } from './promql.ts';

const DASHBOARDS = readDashboards();

/** What the exporter knows is not computed again, and a number never stands for "unknown". */
const NOT_IN_PROMQL =
  /\b(label_replace|label_join|count_values|year|month|days_in_month)\b\s*\(|-\s*1\b/;

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

test.each(generatedFiles())('the committed %s is what npm run dashboards makes', (name, text) => {
  expect(read(`grafana/${name}`)).toBe(text);
});

test('there is no other dashboard than those that are made', () => {
  const files = readdirSync(new URL('../../grafana/dashboards/', import.meta.url));
  const made = generatedFiles().map(([name]) => name);
  expect([...files.map((name) => `dashboards/${name}`), 'rules.json'].toSorted()).toEqual(
    made.toSorted(),
  );
});

test('no query is longer than 300 characters', () => {
  const queries = DASHBOARDS.flatMap(([, { panels }]) => panels.flatMap(queriesOf));
  expect(queries.filter((query) => query.length > 300)).toEqual([]);
});

test('each problem has a section of docs/alerts.md, to which its words link', () => {
  const page = read('docs/alerts.md');
  const anchors = Array.from(page.matchAll(/^<a id="(\w+)"><\/a>$/gm), ([, id = '']) => id);
  expect(anchors.toSorted()).toEqual(PROBLEM_KINDS.toSorted());
  expect(read('grafana/dashboards/library-overview.json')).toContain(
    `"url": "${RUNBOOKS_URL}#\${__value.raw}"`,
  );
});

describe.each(DASHBOARDS)('%s', (_file, { uid, panels, templating }) => {
  const queries = panels.flatMap(queriesOf);

  const choices = templating.list.filter(({ query }) => query.startsWith('label_values('));

  test.each(choices)('lets its reader choose a $name by a label that there is', ({ query }) => {
    const [, series = '', label] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? [];
    const labels = selectorsOf(series).flatMap(({ metric }) => labelsOf(metric) ?? []);
    // A label of customers that the pages name.
    expect([...labels, 'region']).toContain(label);
  });

  test.each(panels)('$title renames, sorts and formats what its queries have', (panel) => {
    const { targets, options, fieldConfig } = panel;
    const columns = columnsOf(panel);
    const known = targets.flatMap(({ expr }) => seriesLabels(asPromql(expr)));
    const labels = Object.keys(columns).filter((name) => /^(?!Value$)\w+$/.test(name));
    expect(known).toEqual(expect.arrayContaining(labels));
    const by = options.sortBy.map(({ displayName }) => displayName);
    expect(Object.values(columns)).toEqual(expect.arrayContaining(by));
    const lines = targets.map(({ legendFormat }) => legendFormat);
    const changed = fieldConfig.overrides.map(({ matcher }) => matcher.options);
    // Columns of weekdays are numbers.
    const named = changed.filter((name) => !/^[0-6]$/.test(name));
    expect([...Object.values(columns), ...lines]).toEqual(expect.arrayContaining(named));
  });

  test.each(queries)('%s selects what was chosen, of series and labels that exist', (query) => {
    const expression = asPromql(query);
    const selectors = selectorsOf(expression);
    expect(syntaxErrors(expression)).toEqual([]);
    expect(expression).not.toMatch(NOT_IN_PROMQL);
    expect(selectors).not.toEqual([]);
    for (const selector of selectors) {
      expect(selector.matchers).toEqual(expect.arrayContaining([...choicesFor(uid, selector)]));
    }
    expect([...seriesLabels(expression), 'le']).toEqual(
      expect.arrayContaining([...groupingLabels(expression)]),
    );
  });
});

/** Matchers by which a selector is of what the reader chose. Recordings are of all jobs. */
function choicesFor(uid: string, selector: Selector): readonly string[] {
  if (uid === 'library-exporter') {
    return ['job=~"$job"', 'instance=~"$instance"'];
  }
  const isOfExporters = /^up$|^library_exporter_/.test(selector.metric);
  const customer = ['library-customer', 'library-now'].includes(uid)
    ? 'customer="$customer"'
    : 'customer=~"$customer"';
  const isRecorded = uid === 'library-statistics' && selector.range !== undefined;
  return [...(isRecorded ? [] : ['job=~"$job"']), ...(isOfExporters ? [] : [customer])];
}
