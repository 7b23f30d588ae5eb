import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { generatedFiles } from '../../grafana/dashboards.ts';
import { RUNBOOKS_URL } from '../../grafana/theme.ts';
import { PROBLEMS, PROBLEM_KINDS } from '../../src/counting/problems.ts';
import { readRecordings } from '../prometheus/rules.ts';
import { labelsOf } from './contract-metrics.ts';
import { RATE_INTERVAL, asPromql, queriesOf, readDashboards } from './dashboard.ts';
import type { Panel } from './dashboard.ts';
import { groupingLabels, matchedLabels, selectorsOf, syntaxErrors } from './promql.ts';
import type { Selector } from './promql.ts';

const DASHBOARDS = readDashboards();
const RECORDINGS = new Set(readRecordings().map(({ record }) => record));
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const UIDS = ['customer', 'exporter', 'now', 'overview', 'statistics'].map(
  (name) => `library-${name}`,
);
/** Links between these pass the library. */
const WITH_ONE_LIBRARY = ['library-customer', 'library-now'];
/** Units that Grafana knows: a misspelt one shows no unit and no error. */
const UNITS = ['none', 'locale', 'm', 'percentunit', 's', 'dateTimeFromNow', 'bytes'];

/** The options and field settings in use that panels of Grafana 12.0 have, the oldest that the dashboards are for. */
const KNOWN: Readonly<Record<string, string>> = {
  stat: 'colorMode graphMode justifyMode reduceOptions text textMode',
  table: 'cellHeight cellOptions minWidth showHeader sortBy width',
  timeseries:
    'axisSoftMax barAlignment drawStyle fillBelowTo fillOpacity hideFrom legend ' +
    'lineInterpolation lineStyle lineWidth showPoints spanNulls stacking thresholdsStyle tooltip',
};
const TRANSFORMATIONS = 'filterFieldsByName groupBy groupingToMatrix merge organize sortBy';
/** Of newer versions, or internal names: with them a dashboard is wrong somewhere. */
const TOO_NEW = /"hide": 3|footer|timeShift|-- Dashboard --|\\\\/;

/** What the exporter knows is not computed again, and a number never stands for "unknown". */
const NOT_IN_PROMQL =
  /\b(label_replace|label_join|count_values|year|month|days_in_month)\b\s*\(|-\s*1\b/;

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
  expect(files).toEqual(UIDS.map((uid) => `${uid}.json`));
  expect(DASHBOARDS.map(([, { uid }]) => uid).toSorted()).toEqual(UIDS);
});

test('no query is longer than 300 characters', () => {
  const queries = DASHBOARDS.flatMap(([, { panels }]) => panels.flatMap(queriesOf));
  expect(queries.filter((query) => query.length > 300)).toEqual([]);
});

test('problems have their words, and a section of docs/alerts.md that the page of runbooks has', () => {
  const page = read('docs/alerts.md');
  const anchors = Array.from(page.matchAll(/^<a id="(\w+)"><\/a>$/gm), ([, id = '']) => id);
  expect(anchors.toSorted()).toEqual(PROBLEM_KINDS.toSorted());
  expect(RUNBOOKS_URL).toMatch(/^https:\/\/.+\/docs\/alerts\.md$/);
  const looks = DASHBOARDS.flatMap(([, { panels }]) => panels)
    .filter(({ title }) => title === 'Needs attention')
    .map(({ fieldConfig }) =>
      fieldConfig.overrides.find(({ matcher }) => matcher.options === 'Problem'),
    );
  expect(looks).toHaveLength(2);
  for (const column of looks) {
    const properties = new Map(column?.properties.map(({ id, value }) => [id, value]));
    const words = Object.entries(PROBLEMS).map(([kind, problem]) => [
      kind,
      expect.objectContaining({ text: problem.words }),
    ]);
    expect(properties.get('mappings')).toMatchObject([
      { options: Object.fromEntries(words) as object },
      { type: 'special' },
    ]);
    expect(properties.get('links')).toMatchObject([{ url: `${RUNBOOKS_URL}#\${__value.raw}` }]);
  }
});

describe.each(DASHBOARDS)('%s', (file, dashboard) => {
  const { uid, panels, places, links, annotations } = dashboard;
  const queries = panels.flatMap(queriesOf);

  test('can be edited and copied, marks alerts, and needs nothing newer than Grafana 12.0', () => {
    expect([dashboard.editable, dashboard.schemaVersion]).toEqual([true, 41]);
    expect(dashboard.title).toMatch(/^Libraries \/ \w+$/);
    expect(read(`grafana/dashboards/${file}`)).not.toMatch(TOO_NEW);
    expect(annotations.list).toHaveLength(1);
    for (const { datasource, expr = '' } of annotations.list) {
      const matchers = ['alertname=~"Library.+"', 'alertstate="firing"'];
      expect(datasource).toEqual(DATASOURCE);
      expect(syntaxErrors(expr)).toEqual([]);
      expect(selectorsOf(expr)).toMatchObject([
        { metric: 'ALERTS', matchers: expect.arrayContaining(matchers) },
      ]);
    }
  });

  test('links to all others, and passes the library only where it is one', () => {
    const linked = links.map(({ url }) => /^\/d\/([\w-]+)\?/.exec(url)?.[1] ?? '');
    expect([...linked, uid].toSorted()).toEqual(UIDS);
    for (const [index, other] of linked.entries()) {
      const passesLibrary = links[index]?.url.includes('${customer:') ?? false;
      expect(passesLibrary).toBe([uid, other].every((one) => WITH_ONE_LIBRARY.includes(one)));
    }
  });

  test('numbers its panels, names them differently, and lays them side by side without a hole', () => {
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const side of places) {
      const top = Math.min(...side.map(({ y }) => y));
      const cells = side.flatMap(({ x, y, w, h }) =>
        Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
      );
      const height = Math.max(...side.map(({ y, h }) => y + h)) - top;
      expect(Math.max(...side.map(({ x, w }) => x + w))).toBe(24);
      expect([new Set(cells).size, cells.length]).toEqual([24 * height, 24 * height]);
    }
  });

  test.each(panels.map((panel) => [panel.title, panel] as const))(
    '%s shows values with a unit and a text for none, by options that Grafana has',
    (_, panel) => {
      const { type, targets, options, transformations, fieldConfig } = panel;
      const { defaults, overrides } = fieldConfig;
      expect(targets.map(({ datasource }) => datasource)).toEqual(targets.map(() => DATASOURCE));
      expect(defaults.unit).toBeOneOf(UNITS);
      expect(defaults.noValue).toMatch(/\w/);
      const settings = overrides
        .flatMap(({ properties }) => properties.map(({ id }) => id))
        .flatMap((id) => /^custom\.(.+)$/.exec(id)?.[1] ?? []);
      const used = [...Object.keys(options), ...Object.keys(defaults.custom), ...settings];
      expect(KNOWN[type]?.split(' ')).toEqual(expect.arrayContaining(used));
      expect(TRANSFORMATIONS.split(' ')).toEqual(
        expect.arrayContaining(transformations.map(({ id }) => id)),
      );
      expect(shownNames(panel)).toEqual(
        expect.arrayContaining(overrides.map(({ matcher }) => matcher.options)),
      );
    },
  );

  test.each(panels.filter(({ type }) => type === 'table').map((p) => [p.title, p] as const))(
    '%s names labels of its queries, and is sorted by what the reader sees',
    (_, panel) => {
      const { targets, transformations, options } = panel;
      const known = targets.flatMap(({ expr }) => labelsAfter(asPromql(expr)));
      const renamed = transformations.flatMap(({ options: of }) =>
        Object.keys(ORGANIZED.safeParse(of).data?.renameByName ?? {}),
      );
      const labels = renamed.filter((name) => /^(?!Value$)\w+$/.test(name));
      expect(known).toEqual(expect.arrayContaining(labels));
      expect(targets.map(({ format }) => format)).toEqual(targets.map(() => 'table'));
      const sorted = z.array(z.object({ displayName: z.string() })).optional();
      const by = sorted.parse(options['sortBy'])?.map(({ displayName }) => displayName) ?? [];
      expect(headingsOf(panel)).toEqual(expect.arrayContaining(by));
    },
  );

  test.each(queries)('%s selects what was chosen, of series and labels that exist', (query) => {
    const expression = asPromql(query);
    const selectors = selectorsOf(expression);
    expect(syntaxErrors(expression)).toEqual([]);
    expect(expression).not.toMatch(NOT_IN_PROMQL);
    expect(selectors).not.toEqual([]);
    for (const selector of selectors) {
      const labels = labelsThere(selector) ?? [];
      expect(selector.matchers).toEqual(expect.arrayContaining([...choicesFor(uid, selector)]));
      expect([selector.metric, labels]).toEqual([
        selector.metric,
        expect.arrayContaining([...matchedLabels(selector)]),
      ]);
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
    // Counters start at 0 with the month: their value is the month's total.
    expect(uid === 'library-statistics' ? [] : values).toEqual([]);
  });
});

/** Matchers by which a selector is of what the reader chose. Recordings are of all jobs. */
function choicesFor(uid: string, selector: Selector): readonly string[] {
  if (uid === 'library-exporter') {
    return ['job=~"$job"', 'instance=~"$instance"'];
  }
  const isOfExporters = /^up$|^library_exporter_/.test(selector.metric);
  const customer = WITH_ONE_LIBRARY.includes(uid)
    ? 'customer="$customer"'
    : 'customer=~"$customer"';
  const isRecorded = uid === 'library-statistics' && selector.range !== undefined;
  return [...(isRecorded ? [] : ['job=~"$job"']), ...(isOfExporters ? [] : [customer])];
}

/** The labels of the series of an expression. */
function labelsAfter(expression: string): readonly string[] {
  return selectorsOf(expression).flatMap((one) => labelsThere(one) ?? []);
}

/** The labels of a metric of the exporter or of a recording; undefined where it does not exist. */
function labelsThere({ metric }: Selector): readonly string[] | undefined {
  return RECORDINGS.has(metric) ? metric.split(':')[0]?.split('_') : labelsOf(metric);
}

function headingsOf({ transformations }: Panel): readonly string[] {
  return transformations.flatMap(({ options }) =>
    Object.values(ORGANIZED.safeParse(options).data?.renameByName ?? {}),
  );
}

/** What columns and lines of a panel are called; those of weekdays are numbers. */
function shownNames(panel: Panel): readonly string[] {
  const numbers = Array.from({ length: 7 }, (_, day) => String(day));
  return [
    ...headingsOf(panel),
    ...panel.targets.map(({ legendFormat }) => legendFormat),
    ...numbers,
  ];
}
