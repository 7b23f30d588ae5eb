import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { generatedFiles } from '../../grafana/dashboards.ts';
import { labelsOf } from './contract-metrics.ts';
import { RATE_INTERVAL, asPromql, labelValues, readDashboards } from './dashboard.ts';
import type { Panel } from './dashboard.ts';
import { groupingLabels, madeLabels, matchedLabels, selectorsOf, syntaxErrors } from './promql.ts';
import type { Selector } from './promql.ts';

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const OTHER_PANEL = { type: 'datasource', uid: '-- Dashboard --' };
const CHOICE = { type: 'query', datasource: DATASOURCE, refresh: 2 };
const ANY = { multi: true, includeAll: true, allValue: '.+' };
/** What the reader of each dashboard chooses, after data source and job. */
const CHOSEN: Readonly<Record<string, object>> = {
  'library-overview': { name: 'customer', label: 'Library', multi: true, includeAll: true },
  'library-customer': { name: 'customer', label: 'Library' },
  'library-patterns': { name: 'customer', label: 'Library', multi: true },
  'library-statistics': { name: 'customer', label: 'Library', ...ANY },
  'library-now': { name: 'customer', label: 'Library' },
  'library-exporter': { name: 'instance', label: 'Instance', ...ANY },
};
const LABELS = [
  { name: 'label', query: 'label_names(library_customer_info)', ...CHOICE },
  { name: 'value', ...CHOICE, ...ANY, allValue: '.*' },
];
const WITHOUT_ALERTS = new Set(['library-statistics', 'library-now']);
/** They show a counter's own value: the month's total, or a device's share of it. */
const WITH_TOTALS = new Set(['library-overview', 'library-customer', 'library-statistics']);
/** Of those that Grafana knows: a misspelt one shows no unit and no error. */
const UNITS = ['none', 'locale', 'm', 'percentunit', 's', 'dateTimeFromNow', 'reqps', 'bytes'];
/** Besides the text. */
const COUNTERS = ['stat', 'table', 'timeseries', 'bargauge', 'barchart', 'state-timeline'];

const ORGANIZED = z.object({
  renameByName: z.record(z.string(), z.string()),
  indexByName: z.record(z.string(), z.number()),
});
const GROUPED = z.object({ fields: z.record(z.string(), z.unknown()) });
const SORTED = z.object({ sort: z.array(z.object({ field: z.string() })) });

function read(path: string): string {
  return readFileSync(new URL(`../../grafana/${path}`, import.meta.url), 'utf8');
}

test.each(generatedFiles())('the committed %s is what npm run dashboards makes', (name, text) => {
  expect(read(name)).toBe(text);
});

test('there is no other dashboard than those that are made', () => {
  const files = readdirSync(new URL('../../grafana/dashboards/', import.meta.url));
  expect([...files.map((name) => `dashboards/${name}`).toSorted(), 'rules.json']).toEqual(
    generatedFiles()
      .map(([name]) => name)
      .toSorted(),
  );
  expect(
    Object.keys(CHOSEN)
      .map((uid) => `${uid}.json`)
      .toSorted(),
  ).toEqual(readDashboards().map(([name]) => name));
});

describe.each(readDashboards())('%s', (file, dashboard) => {
  const queries = dashboard.panels.flatMap((panel) => panel.targets.map(({ expr }) => expr));
  const choice = file === 'library-exporter.json' ? 'instance' : 'customer';

  test('has its own uid and cannot be edited in place', () => {
    expect(`${dashboard.uid}.json`).toBe(file);
    expect(dashboard.editable).toBe(false);
    expect(dashboard.annotations.list[0]).toMatchObject({ type: 'dashboard' });
  });

  test('marks the alerts that fired, unless it is for librarians and visitors', () => {
    const alerts = dashboard.annotations.list.filter(({ type }) => type !== 'dashboard');
    expect(alerts).toHaveLength(WITHOUT_ALERTS.has(dashboard.uid) ? 0 : 1);
    for (const { datasource, expr } of alerts) {
      expect(datasource).toEqual(DATASOURCE);
      expect(selectorsOf(expr ?? '')).toMatchObject([
        {
          metric: 'ALERTS',
          matchers: expect.arrayContaining(['alertname=~"Library.+"', 'alertstate="firing"']),
        },
      ]);
    }
  });

  test('links to all others, and passes the library only where it is one', () => {
    const others = Object.keys(CHOSEN).filter((uid) => uid !== dashboard.uid);
    const linked = dashboard.links.map(({ url }) => /^\/d\/([\w-]+)\?/.exec(url)?.[1] ?? '');
    expect(linked.toSorted()).toEqual(others.toSorted());
    for (const [index, uid] of linked.entries()) {
      const passesLibrary = dashboard.links[index]?.url.includes('${customer:') ?? false;
      expect(passesLibrary).toBe(hasOneLibrary(dashboard.uid) && takesOneLibrary(uid));
    }
  });

  test('lets its reader choose data source, job and whom, in that order', () => {
    expect(dashboard.templating.list).toMatchObject([
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
      { name: 'job', label: 'Job', ...CHOICE, ...ANY },
      ...(dashboard.uid === 'library-overview' ? LABELS : []),
      { ...CHOICE, ...CHOSEN[dashboard.uid] },
    ]);
  });

  test('has at most twenty panels, one of them a text', () => {
    expect(dashboard.panels.length).toBeLessThanOrEqual(20);
    const words = dashboard.panels.filter(({ type }) => type === 'text');
    expect(words).toHaveLength(dashboard.uid === 'library-now' ? 0 : 1);
    for (const { options } of words) {
      expect(options.content?.length).toBeLessThan(1_000);
    }
  });

  test('numbers its panels, and lays them side by side', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    for (const panel of dashboard.panels) {
      expect(panel.gridPos.x + panel.gridPos.w).toBeLessThanOrEqual(24);
      expect(dashboard.panels.filter((other) => overlap(panel, other))).toEqual([panel]);
    }
  });

  test('leaves no hole between its panels', () => {
    const cells = dashboard.panels.reduce((sum, { gridPos: { w, h } }) => sum + w * h, 0);
    const rows = Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => y + h));
    expect(cells).toBe(24 * rows);
  });

  test.each(
    dashboard.panels.filter(({ type }) => type !== 'text').map((p) => [p.title, p] as const),
  )('%s says how its values are to be read', (_, panel) => {
    expect(COUNTERS).toContain(panel.type);
    const shares = panel.sharedPanels.length > 0;
    expect(panel.datasource).toEqual(shares ? OTHER_PANEL : DATASOURCE);
    expect(panel.targets.length + panel.sharedPanels.length).toBeGreaterThan(0);
    for (const target of panel.targets) {
      expect(target.datasource).toEqual(DATASOURCE);
      expect(target.instant).toBe(!target.range);
    }
    const letters = panel.targets.map(({ refId }) => refId);
    expect(letters).toEqual([...new Set(letters)]);
    expect(UNITS).toContain(panel.fieldConfig?.defaults.unit);
    expect(panel.fieldConfig?.defaults.thresholds).toBeDefined();
    expect(panel.fieldConfig?.defaults.noValue).toMatch(/\w/);
    expect(panel.fieldConfig?.defaults.custom?.spanNulls ?? false).toBe(false);
    expect(panel.options.reduceOptions?.calcs ?? ['lastNotNull']).toEqual(['lastNotNull']);
  });

  test.each(dashboard.panels.map((panel) => [panel.title, panel] as const))(
    '%s gives looks only to columns and lines that it has',
    (_, panel) => {
      const names = panel.fieldConfig?.overrides.filter(({ matcher }) => matcher.id === 'byName');
      for (const { matcher } of names ?? []) {
        expect(shownNames(panel)).toContain(matcher.options);
      }
    },
  );

  test.each(
    dashboard.panels.filter(({ type }) => type === 'table').map((p) => [p.title, p] as const),
  )('%s has a heading for each query and label, in an order', (_, { targets, transformations }) => {
    const { renameByName, indexByName } = ORGANIZED.parse(transformations.at(-1)?.options);
    const values = targets.length > 1 ? targets.map(({ refId }) => `Value #${refId}`) : [];
    expect(Object.keys(indexByName)).toEqual(expect.arrayContaining(Object.keys(renameByName)));
    expect(Object.keys(renameByName)).toEqual(expect.arrayContaining(values));
    const labels = Object.keys(renameByName).filter((name) => /^\w+$/.test(name));
    const made = targets.flatMap(({ expr }) => [
      ...groupingLabels(asPromql(expr)),
      ...madeLabels(asPromql(expr)),
      ...selectorsOf(asPromql(expr)).flatMap(({ metric }) => labelsOf(metric) ?? []),
    ]);
    expect(made).toEqual(expect.arrayContaining(labels));
    for (const { format } of targets) {
      expect(format).toBe('table');
    }
  });

  test('shares only answers that have the fields it groups by', () => {
    for (const { sharedPanels, transformations } of dashboard.panels) {
      for (const id of sharedPanels) {
        const source = dashboard.panels.find((panel) => panel.id === id);
        const labels = source?.targets.flatMap(({ expr }) => groupingLabels(asPromql(expr))) ?? [];
        const { fields } = GROUPED.parse(transformations[0]?.options);
        expect(source?.targets.map(({ format }) => format)).toEqual(['table']);
        expect([...labels, 'Value']).toEqual(expect.arrayContaining(Object.keys(fields)));
      }
    }
  });

  test.each(queries)('%s selects what was chosen, of series and labels that exist', (query) => {
    const selectors = selectorsOf(asPromql(query));
    expect(syntaxErrors(asPromql(query))).toEqual([]);
    expect(selectors).not.toEqual([]);
    for (const selector of selectors) {
      expect(selector.matchers).toContain('job=~"$job"');
      const isOfAll = choice === 'customer' && isAboutExporters(selector);
      const wanted = isOfAll ? [] : [`${choice}=~"$${choice}"`];
      expect(selector.matchers).toEqual(expect.arrayContaining(wanted));
      expect(labelsOf(selector.metric) ?? [`no metric ${selector.metric}`]).toEqual(
        expect.arrayContaining([...matchedLabels(selector)]),
      );
    }
    const known = selectors.flatMap(({ metric }) => labelsOf(metric) ?? []);
    const made = madeLabels(asPromql(query));
    expect([...known, ...made, 'le']).toEqual(
      expect.arrayContaining([...groupingLabels(asPromql(query))]),
    );
  });

  test.each(queries)('%s uses a counter only for its growth, and the chosen window', (query) => {
    const selectors = selectorsOf(asPromql(query));
    const rates = selectors.filter(({ call }) => call === 'rate' || call === 'irate');
    expect(rates.filter(({ range }) => range !== RATE_INTERVAL)).toEqual([]);
    const values = selectors
      .filter(({ metric }) => /_(total|sum|count|bucket)$/.test(metric))
      .filter(({ call = '' }) => !['rate', 'irate', 'increase'].includes(call));
    expect(WITH_TOTALS.has(dashboard.uid) ? [] : values).toEqual([]);
  });

  test.each(queries.filter((query) => choice === 'customer' || query.includes('by (customer')))(
    '%s counts no customer twice that two exporters show',
    (query) => {
      const selectors = selectorsOf(asPromql(query)).filter((one) => !isAboutExporters(one));
      for (const { metric, aggregation } of selectors) {
        expect(`${metric}: ${aggregation}`).toMatch(/: max by \((customer|device)\b/);
      }
    },
  );

  test('asks its variables of series that exist', () => {
    const asked = dashboard.templating.list.flatMap(({ query }) => labelValues(query) ?? []);
    expect(asked).toHaveLength(dashboard.uid === 'library-overview' ? 3 : 2);
    for (const { series, label } of asked) {
      expect(syntaxErrors(series)).toEqual([]);
      expect(selectorsOf(series).flatMap(({ metric }) => labelsOf(metric) ?? [])).toContain(label);
    }
  });
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

/** Queries of "Needs attention" about the exporters themselves. */
function isAboutExporters({ metric, call }: Selector): boolean {
  return ['up', 'library_exporter_build_info'].includes(metric) || call === 'absent';
}

/** Whether its reader chooses exactly one library. */
function hasOneLibrary(uid: string): boolean {
  return takesOneLibrary(uid) && !('multi' in (CHOSEN[uid] ?? {}));
}

/** Whether a library that a link passes is no unexpected restriction. */
function takesOneLibrary(uid: string): boolean {
  const choice = CHOSEN[uid] ?? {};
  return 'name' in choice && choice.name === 'customer' && !('includeAll' in choice);
}

/** What Grafana calls the columns and lines of a panel, as far as it is known without data. */
function shownNames({ targets, transformations }: Panel): readonly unknown[] {
  const organized = ORGANIZED.safeParse(transformations.at(-1)?.options).data?.renameByName ?? {};
  const sorted = SORTED.safeParse(transformations.at(-1)?.options).data?.sort ?? [];
  return [
    ...Object.values(organized),
    ...sorted.map(({ field }) => field),
    ...targets.map(({ legendFormat }) => legendFormat),
  ];
}

function overlap(one: Panel, other: Panel): boolean {
  const [a, b] = [one.gridPos, other.gridPos];
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
