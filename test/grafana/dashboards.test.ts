import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { generatedFiles } from '../../grafana/dashboards.ts';
import { labelsOf } from './contract-metrics.ts';
import { RATE_INTERVAL, asPromql, queriesOf, readDashboards } from './dashboard.ts';
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
/** Units that Grafana knows: a misspelt one shows no unit and no error. */
const UNITS = ['none', 'locale', 'm', 'percentunit', 's', 'dateTimeFromNow', 'reqps', 'bytes'];

/** The oldest Grafana that the dashboards are for. */
const MINIMUM_GRAFANA = '12.2.0';
const SCHEMA_VERSION = 42;
/** The options and field settings in use that its panels have, by @grafana/schema of that version. */
const KNOWN: Readonly<Record<string, string>> = {
  barchart:
    'barRadius barWidth fillOpacity fullHighlight gradientMode groupWidth legend lineWidth orientation ' +
    'showValue stacking text tooltip xField xTickLabelMaxLength xTickLabelRotation xTickLabelSpacing',
  bargauge:
    'displayMode legend maxVizHeight minVizHeight minVizWidth namePlacement orientation ' +
    'reduceOptions showUnfilled sizing valueMode',
  stat:
    'colorMode graphMode justifyMode orientation percentChangeColorMode reduceOptions ' +
    'showPercentChange textMode wideLayout',
  'state-timeline':
    'alignValue fillOpacity legend lineWidth mergeValues perPage rowHeight showValue tooltip',
  table:
    'align cellHeight cellOptions frameIndex inspect minWidth showHeader showTypeIcons sortBy width',
  text: 'content mode',
  timeseries:
    'axisSoftMax axisSoftMin barAlignment drawStyle fillBelowTo fillOpacity hideFrom legend lineStyle ' +
    'lineWidth showPoints spanNulls stacking thresholdsStyle tooltip transform',
};
const TRANSFORMATIONS =
  'calculateField filterFieldsByName groupBy groupingToMatrix joinByField organize sortBy';

const ORGANIZED = z.object({
  renameByName: z.record(z.string(), z.string()),
  indexByName: z.record(z.string(), z.number()),
});

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

test.each(generatedFiles())('the committed %s is what npm run dashboards makes', (name, text) => {
  expect(read(`grafana/${name}`)).toBe(text);
});

test('there is no other dashboard than those that are made, and each file has the name of its uid', () => {
  const files = readdirSync(new URL('../../grafana/dashboards/', import.meta.url)).toSorted();
  const made = generatedFiles().map(([name]) => name);
  expect([...files.map((name) => `dashboards/${name}`), 'rules.json']).toEqual(made.toSorted());
  const uids = Object.keys(CHOSEN).toSorted();
  expect(files).toEqual(uids.map((uid) => `${uid}.json`));
  expect(
    readDashboards()
      .map(([, { uid }]) => uid)
      .toSorted(),
  ).toEqual(uids);
});

describe.each(readDashboards())('%s', (_file, dashboard) => {
  const { uid, panels, links, annotations, templating } = dashboard;
  const queries = panels.flatMap(queriesOf);
  const choice = uid === 'library-exporter' ? 'instance' : 'customer';

  test('cannot be edited in place, and marks alerts unless it is for librarians and visitors', () => {
    const [builtIn, ...alerts] = annotations.list;
    expect([dashboard.editable, dashboard.schemaVersion]).toEqual([false, SCHEMA_VERSION]);
    expect(builtIn).toMatchObject({ type: 'dashboard' });
    expect(alerts).toHaveLength(WITHOUT_ALERTS.has(uid) ? 0 : 1);
    for (const { datasource, expr } of alerts) {
      const matchers = ['alertname=~"Library.+"', 'alertstate="firing"'];
      expect(datasource).toEqual(DATASOURCE);
      expect(syntaxErrors(expr ?? '')).toEqual([]);
      expect(selectorsOf(expr ?? '')).toMatchObject([
        { metric: 'ALERTS', matchers: expect.arrayContaining(matchers) },
      ]);
    }
  });

  test('links to all others, and passes the library only where it is one', () => {
    const linked = links.map(({ url }) => /^\/d\/([\w-]+)\?/.exec(url)?.[1] ?? '');
    expect([...linked, uid].toSorted()).toEqual(Object.keys(CHOSEN).toSorted());
    for (const [index, other] of linked.entries()) {
      const passesLibrary = links[index]?.url.includes('${customer:') ?? false;
      expect(passesLibrary).toBe(hasOneLibrary(uid) && takesOneLibrary(other));
    }
  });

  test('lets its reader choose data source, job and whom, in that order', () => {
    expect(templating.list).toMatchObject([
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
      { name: 'job', label: 'Job', ...CHOICE, ...ANY },
      ...(uid === 'library-overview' ? LABELS : []),
      { ...CHOICE, ...CHOSEN[uid] },
    ]);
  });

  test('numbers its panels, and lays them side by side without a hole', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    const rows = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
    expect([new Set(cells).size, cells.length]).toEqual([24 * rows, 24 * rows]);
  });

  test.each(panels.map((panel) => [panel.title, panel] as const))(
    '%s shows values with a unit and a text for none, by options that Grafana has',
    (_, panel) => {
      const { type, targets, options, transformations, fieldConfig } = panel;
      const { defaults, overrides } = fieldConfig;
      for (const { expr, datasource } of targets) {
        expect(datasource).toEqual(expr === undefined ? OTHER_PANEL : DATASOURCE);
      }
      expect(type === 'text' || targets.length > 0).toBe(true);
      expect(type === 'text' ? UNITS[0] : defaults.unit).toBeOneOf(UNITS);
      expect(type === 'text' ? 'none' : defaults.noValue).toMatch(/\w/);
      const settings = overrides
        .flatMap(({ properties }) => properties.map(({ id }) => id))
        .flatMap((id) => /^custom\.(.+)$/.exec(id)?.[1] ?? []);
      const used = [...Object.keys(options), ...Object.keys(defaults.custom), ...settings];
      expect(KNOWN[type]?.split(' ')).toEqual(expect.arrayContaining(used));
      expect(TRANSFORMATIONS.split(' ')).toEqual(
        expect.arrayContaining(transformations.map(({ id }) => id)),
      );
      const byName = overrides.filter(({ matcher }) => matcher.id === 'byName');
      expect(shownNames(panel)).toEqual(
        expect.arrayContaining(byName.map(({ matcher }) => matcher.options)),
      );
    },
  );

  test.each(panels.filter(({ type }) => type === 'table').map((p) => [p.title, p] as const))(
    '%s has a heading for each query and label, in an order',
    (_, { targets, transformations }) => {
      const { renameByName, indexByName } = ORGANIZED.parse(transformations.at(-1)?.options);
      const values = targets.length > 1 ? targets.map(({ refId }) => `Value #${refId}`) : [];
      expect(Object.keys(indexByName)).toEqual(expect.arrayContaining(Object.keys(renameByName)));
      expect(Object.keys(renameByName)).toEqual(expect.arrayContaining(values));
      const labels = Object.keys(renameByName).filter((name) => /^\w+$/.test(name));
      const known = targets.flatMap(({ expr = '' }) => labelsAfter(asPromql(expr)));
      expect(known).toEqual(expect.arrayContaining(labels));
      const own = targets.filter(({ expr }) => expr !== undefined);
      expect(own.filter(({ format }) => format !== 'table')).toEqual([]);
    },
  );

  test.each(queries)('%s selects what was chosen, of series and labels that exist', (query) => {
    const expression = asPromql(query);
    const selectors = selectorsOf(expression);
    expect(syntaxErrors(expression)).toEqual([]);
    expect(selectors).not.toEqual([]);
    for (const selector of selectors) {
      const isOfAll = choice === 'customer' && isAboutExporters(selector);
      const chosen = isOfAll ? [] : [`${choice}=~"$${choice}"`];
      expect(selector.matchers).toEqual(expect.arrayContaining(['job=~"$job"', ...chosen]));
      expect(labelsOf(selector.metric) ?? [`no metric ${selector.metric}`]).toEqual(
        expect.arrayContaining([...matchedLabels(selector)]),
      );
    }
    expect([...labelsAfter(expression), 'le']).toEqual(
      expect.arrayContaining([...groupingLabels(expression)]),
    );
  });

  test.each(queries)('%s uses a counter only for its growth, and the chosen window', (query) => {
    const selectors = selectorsOf(asPromql(query));
    const rates = selectors.filter(({ call = '' }) => ['rate', 'irate'].includes(call));
    expect(rates.filter(({ range }) => range !== RATE_INTERVAL)).toEqual([]);
    const values = selectors
      .filter(({ metric }) => /_(total|sum|count|bucket)$/.test(metric))
      .filter(({ call = '' }) => !['rate', 'irate', 'increase'].includes(call));
    expect(WITH_TOTALS.has(uid) ? [] : values).toEqual([]);
  });
});

test('provisioning puts the files into one folder, and knows the interval of the example', () => {
  expect(parse(read('grafana/provisioning/dashboards/library.yaml'))).toMatchObject({
    providers: [
      { type: 'file', allowUiUpdates: false, options: { foldersFromFilesStructure: false } },
    ],
  });
  const [, interval] = /^  scrape_interval: (\w+)$/m.exec(read('prometheus/prometheus.yml')) ?? [];
  expect(parse(read('grafana/provisioning/datasources/prometheus.yaml'))).toMatchObject({
    datasources: [{ type: 'prometheus', jsonData: { timeInterval: interval } }],
  });
  expect(read('deploy/compose.yaml')).toContain(`image: grafana/grafana:${MINIMUM_GRAFANA}\n`);
});

/** The labels of the series of an expression, and those that it makes. */
function labelsAfter(expression: string): readonly string[] {
  const selectors = selectorsOf(expression);
  return [...selectors.flatMap(({ metric }) => labelsOf(metric) ?? []), ...madeLabels(expression)];
}

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
  const options = transformations.at(-1)?.options;
  const renamed = ORGANIZED.safeParse(options).data?.renameByName ?? {};
  const sorted = z.object({ sort: z.array(z.object({ field: z.string() })) }).safeParse(options);
  return [
    ...Object.values(renamed),
    ...(sorted.data?.sort.map(({ field }) => field) ?? []),
    ...targets.map(({ legendFormat }) => legendFormat),
  ];
}
