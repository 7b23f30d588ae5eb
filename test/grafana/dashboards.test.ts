import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { dashboardFile } from '../../grafana/finish.ts';
import { libraryOverview } from '../../grafana/library-overview.ts';
import { labelsOf } from './contract-metrics.ts';
import { readDashboards } from './dashboard.ts';
import type { Panel } from './dashboard.ts';
import { matchedLabels, selectorsOf } from './promql.ts';

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
/** Of those that Grafana knows: a misspelt one shows no unit and no error. */
const UNITS = ['none', 'percentunit', 's', 'dateTimeFromNow'];

function read(path: string): string {
  return readFileSync(new URL(`../../grafana/${path}`, import.meta.url), 'utf8');
}

test('the committed dashboard is what grafana/generate.ts makes', () => {
  expect(read('dashboards/library-overview.json')).toBe(dashboardFile(libraryOverview()));
});

test('no two dashboards have one uid', () => {
  const uids = readDashboards().map(([, dashboard]) => dashboard.uid);
  expect(uids).toContain('library-overview');
  expect(new Set(uids).size).toBe(uids.length);
});

describe.each(readDashboards())('%s', (file, dashboard) => {
  const queries = dashboard.panels.flatMap((panel) => panel.targets.map(({ expr }) => expr));

  test('is classic, has its own uid and cannot be edited in place', () => {
    expect(dashboard.schemaVersion).toBe(42);
    expect(`${dashboard.uid}.json`).toBe(file);
    expect(dashboard.editable).toBe(false);
    expect(dashboard.annotations.list).toContainEqual({ type: 'dashboard' });
  });

  test('lets its reader choose data source, job and customer, in that order', () => {
    const chosen = { datasource: DATASOURCE, refresh: 2, multi: true, includeAll: true };
    expect(dashboard.templating.list).toMatchObject([
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
      { name: 'job', label: 'Job', type: 'query', allValue: '.+', ...chosen },
      { name: 'customer', label: 'Customer', type: 'query', allValue: '.+', ...chosen },
    ]);
    for (const { type, query } of dashboard.templating.list) {
      expect(type === 'query' ? query : 'label_values(up, job)').toMatch(
        /^label_values\(.+, \w+\)$/,
      );
    }
  });

  test('numbers its panels, and lays them side by side', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    for (const panel of dashboard.panels) {
      expect(panel.gridPos.x + panel.gridPos.w).toBeLessThanOrEqual(24);
      expect(dashboard.panels.filter((other) => overlap(panel, other))).toEqual([panel]);
    }
  });

  test.each(
    dashboard.panels.filter(({ type }) => type !== 'text').map((p) => [p.title, p] as const),
  )('%s asks the chosen data source, and says how its values are to be read', (_, panel) => {
    expect(panel.datasource).toEqual(DATASOURCE);
    expect(panel.targets).not.toEqual([]);
    for (const target of panel.targets) {
      expect(target.datasource).toEqual(DATASOURCE);
      expect(target.instant).toBe(!target.range);
    }
    const letters = panel.targets.map(({ refId }) => refId);
    expect(letters).toEqual([...new Set(letters)]);
    expect(UNITS).toContain(panel.fieldConfig?.defaults.unit);
    expect(panel.fieldConfig?.defaults.thresholds).toBeDefined();
    expect(panel.options.reduceOptions?.calcs ?? ['lastNotNull']).toEqual(['lastNotNull']);
  });

  test.each(queries)('%s selects what was chosen, of series that exist', (query) => {
    expect(selectorsOf(query)).not.toEqual([]);
    for (const selector of selectorsOf(query)) {
      expect(selector.matchers).toContain('job=~"$job"');
      expect(selector.matchers).toContain('customer=~"$customer"');
      expect(labelsOf(selector.metric) ?? [`no metric ${selector.metric}`]).toEqual(
        expect.arrayContaining([...matchedLabels(selector)]),
      );
    }
  });

  test('asks its variables of series that exist', () => {
    const asked = dashboard.templating.list.flatMap(({ query }) => selectorsOf(query));
    expect(asked).toHaveLength(2);
    expect(asked.map(({ metric }) => labelsOf(metric))).not.toContain(undefined);
  });

  test.each(queries)(
    '%s looks at counters only by how they grow, and not over a fixed window',
    (query) => {
      for (const { metric } of selectorsOf(query).filter((one) => one.metric.endsWith('_total'))) {
        expect(query).toMatch(
          new RegExp(
            `(increase\\(${metric}[^\\[]*\\[\\$__(interval|range)\\]|rate\\(${metric}[^\\[]*\\[\\$__rate_interval\\])`,
          ),
        );
      }
    },
  );
});

describe('provisioning', () => {
  test('puts the dashboards into a folder of their own, from classic files', () => {
    expect(parse(read('provisioning/dashboards/library.yaml'))).toMatchObject({
      apiVersion: 1,
      providers: [
        { type: 'file', allowUiUpdates: false, options: { foldersFromFilesStructure: false } },
      ],
    });
  });

  test('tells Grafana the interval at which the example scrapes', () => {
    const example = parse(
      readFileSync(new URL('../../prometheus/prometheus.yml', import.meta.url), 'utf8'),
    ) as { global: { scrape_interval: string } };
    expect(parse(read('provisioning/datasources/prometheus.yaml'))).toMatchObject({
      apiVersion: 1,
      datasources: [
        { type: 'prometheus', jsonData: { timeInterval: example.global.scrape_interval } },
      ],
    });
  });
});

function overlap(one: Panel, other: Panel): boolean {
  const [a, b] = [one.gridPos, other.gridPos];
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
