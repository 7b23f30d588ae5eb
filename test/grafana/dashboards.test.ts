import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { generatedFiles } from '../../grafana/dashboards.ts';
import { contrastOfText, contrastOnBackground } from './colours.ts';
import { readRecordings } from '../prometheus/rules.ts';
import { labelsOf } from './contract-metrics.ts';
import {
  RATE_INTERVAL,
  asPromql,
  backgroundColours,
  queriesOf,
  readDashboards,
  textColours,
} from './dashboard.ts';
import type { Panel } from './dashboard.ts';
import { groupingLabels, madeLabels, matchedLabels, selectorsOf, syntaxErrors } from './promql.ts';
import type { Selector } from './promql.ts';

const RECORDINGS = new Set(readRecordings().map(({ record }) => record));
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const OTHER_PANEL = { type: 'datasource', uid: '-- Dashboard --' };
const CHOICE = { type: 'query', datasource: DATASOURCE, refresh: 2 };
const ANY = { multi: true, includeAll: true, allValue: '.+' };
/** In a menu, because most people have one. */
const IN_MENU = { hide: 3 };
const LIBRARY = { name: 'customer', label: 'Library', ...CHOICE };
const BRANCH = { name: 'branch', label: 'Branch', ...CHOICE };
const LABELS = [
  { name: 'label', query: 'label_names(library_site_info)', ...CHOICE },
  { name: 'value', ...CHOICE, ...ANY, allValue: '.*' },
  { ...LIBRARY, ...ANY },
];
/** What the reader of each dashboard chooses, after data source and job. */
const CHOSEN: Readonly<Record<string, readonly object[]>> = {
  'library-overview': [...LABELS, { name: 'rows', label: 'Rows', type: 'custom' }],
  'library-customer': [LIBRARY, { ...BRANCH, ...ANY, allValue: '.*' }],
  'library-patterns': [
    { ...LIBRARY, multi: true },
    { ...BRANCH, ...ANY, allValue: '.*' },
  ],
  'library-statistics': [...LABELS, { name: 'rows', label: 'Rows', type: 'custom' }],
  'library-now': [LIBRARY, BRANCH],
  'library-exporter': [{ name: 'instance', label: 'Instance', ...CHOICE, ...ANY }],
};
/** Shows one library; the others of those that take a library from a link show several. */
const WITH_ONE_LIBRARY = ['library-customer', 'library-now'];
const TAKE_ONE_LIBRARY = [...WITH_ONE_LIBRARY, 'library-patterns'];
/** The days that a dashboard shows when it is opened. */
const RANGES: Readonly<Record<string, object>> = {
  'library-overview': { from: 'now/d', to: 'now' },
  'library-customer': { from: 'now/d', to: 'now' },
};
const MAX_QUERIES = 25;
/** Words of programs, and names that one thing had beside another. */
const FORBIDDEN =
  /\braw\b|\bdrift\b|(?<![$`])\bcustomers?\b|\bdevices?\b(?!\])|_missing|\bvs\b|(against|compared with) last week|usually\?/i;
/** Of text, in both themes: WCAG 2, level AA. */
const MIN_CONTRAST = 4.5;
/** They need a counter's own value: the month's total, a door's share of it, or what is polled. */
const WITH_TOTALS = new Set([
  'library-overview',
  'library-customer',
  'library-statistics',
  'library-now',
  'library-exporter',
]);
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
    'showPercentChange text textMode wideLayout',
  'state-timeline':
    'alignValue fillOpacity legend lineWidth mergeValues perPage rowHeight showValue tooltip',
  table:
    'align cellHeight cellOptions frameIndex footer.reducers inspect minWidth showHeader showTypeIcons sortBy width',
  text: 'content mode',
  timeseries:
    'axisSoftMax axisSoftMin barAlignment drawStyle fillBelowTo fillOpacity hideFrom legend ' +
    'lineInterpolation lineStyle lineWidth showPoints spanNulls stacking thresholdsStyle tooltip transform',
};
const TRANSFORMATIONS =
  'calculateField filterFieldsByName groupBy groupingToMatrix merge organize sortBy';

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
  const { uid, panels, places, links, annotations, templating } = dashboard;
  const queries = panels.flatMap(queriesOf);
  const choice = uid === 'library-exporter' ? 'instance' : 'customer';

  test('cannot be edited in place, says what it is of, and marks alerts', () => {
    const [builtIn, ...alerts] = annotations.list;
    expect([dashboard.editable, dashboard.schemaVersion]).toEqual([false, SCHEMA_VERSION]);
    expect(dashboard.title).toMatch(/^Libraries \/ \w+$/);
    expect(dashboard.time).toMatchObject(RANGES[uid] ?? {});
    expect(builtIn).toMatchObject({ type: 'dashboard' });
    expect(alerts).toHaveLength(1);
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
      expect(passesLibrary).toBe(
        WITH_ONE_LIBRARY.includes(uid) && TAKE_ONE_LIBRARY.includes(other),
      );
    }
  });

  test('lets its reader choose data source, job and whom, in that order', () => {
    expect(templating.list).toMatchObject([
      {
        name: 'datasource',
        label: 'Data source',
        type: 'datasource',
        query: 'prometheus',
        ...IN_MENU,
      },
      { name: 'job', label: 'Job', ...CHOICE, ...ANY, ...IN_MENU },
      ...(CHOSEN[uid] ?? []),
    ]);
  });

  test(`asks Prometheus at most ${MAX_QUERIES} times`, () => {
    expect(queries.length).toBeLessThanOrEqual(MAX_QUERIES);
  });

  test('numbers its panels, and lays them side by side without a hole', () => {
    const cells = places.flatMap(({ x, y, w, h }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    const rows = Math.max(...places.map(({ y, h }) => y + h));
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(Math.max(...places.map(({ x, w }) => x + w))).toBe(24);
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

  test.each(panels.map((panel) => [panel.title, panel] as const))(
    '%s has words for people, and colours in which they can be read',
    (_, panel) => {
      const legends = panel.targets.flatMap(({ legendFormat = '' }) =>
        legendFormat.split(/{{.*?}}/),
      );
      const all = [panel.title, panel.description, ...legends, ...headingsOf(panel)];
      for (const words of all) {
        expect(words).not.toMatch(FORBIDDEN);
      }
      for (const colour of textColours(panel)) {
        expect([colour, contrastOfText(colour)]).toEqual([colour, expect.toSatisfy(isReadable)]);
      }
      for (const colour of backgroundColours(panel)) {
        expect([colour, contrastOnBackground(colour)]).toEqual([
          colour,
          expect.toSatisfy(isReadable),
        ]);
      }
    },
  );

  test.each(panels.filter(({ type }) => type === 'table').map((p) => [p.title, p] as const))(
    '%s has a heading for each query and label, in an order',
    (_, { targets, transformations }) => {
      const { renameByName, indexByName } = ORGANIZED.parse(transformations.at(-1)?.options);
      const values = targets.length > 1 ? targets.map(({ refId }) => `Value #${refId}`) : [];
      expect(Object.keys(indexByName)).toEqual(expect.arrayContaining(Object.keys(renameByName)));
      expect(Object.keys(renameByName)).toEqual(expect.arrayContaining(values));
      const labels = Object.keys(renameByName).filter((name) =>
        /^(?!Value$)[A-Za-z]\w*$/.test(name),
      );
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
      expect(labelsThere(selector) ?? [`no metric ${selector.metric}`]).toEqual(
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
  return [...selectors.flatMap((one) => labelsThere(one) ?? []), ...madeLabels(expression)];
}

/** The labels of a metric of the exporter or of a recording; undefined where it does not exist. */
function labelsThere({ metric }: Selector): readonly string[] | undefined {
  return RECORDINGS.has(metric) ? metric.split(':')[0]?.split('_') : labelsOf(metric);
}

function isReadable(contrast: number): boolean {
  return contrast >= MIN_CONTRAST;
}

function headingsOf({ transformations }: Panel): readonly string[] {
  return transformations.flatMap(({ options }) =>
    Object.values(ORGANIZED.safeParse(options).data?.renameByName ?? {}),
  );
}

/** Queries of "Needs attention" about the exporters themselves. */
function isAboutExporters({ metric, call }: Selector): boolean {
  return ['up', 'library_exporter_build_info'].includes(metric) || call === 'absent';
}

/** What Grafana calls the columns and lines of a panel, as far as it is known without data. */
function shownNames({ targets, transformations }: Panel): readonly unknown[] {
  const options = transformations.at(-1)?.options;
  const { renameByName = {}, indexByName = {} } = ORGANIZED.safeParse(options).data ?? {};
  const sorted = z.object({ sort: z.array(z.object({ field: z.string() })) }).safeParse(options);
  return [
    ...Object.values(renameByName),
    ...Object.keys(indexByName),
    ...(sorted.data?.sort.map(({ field }) => field) ?? []),
    ...targets.map(({ legendFormat }) => legendFormat),
  ];
}
