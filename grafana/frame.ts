/** What every dashboard has: variables, links, alerts as marks, and the places of its panels. */
import { DATASOURCE } from './panels.ts';
import type { Panel } from './panels.ts';

/**
 * The dashboards, and whether each shows one library. Between those a link passes the library; elsewhere one would
 * be all that an overview shows, or All would open mixed on a dashboard for one.
 */
const DASHBOARDS = [
  { uid: 'library-overview', title: 'Overview', libraries: 'all' },
  { uid: 'library-customer', title: 'Library', libraries: 'one' },
  { uid: 'library-statistics', title: 'Statistics', libraries: 'all' },
  { uid: 'library-now', title: 'Now', libraries: 'one' },
  { uid: 'library-exporter', title: 'Exporter', libraries: 'all' },
] as const;

type Uid = (typeof DASHBOARDS)[number]['uid'];

interface DashboardSettings {
  readonly uid: Uid;
  readonly description: string;
  /** How the time range begins; it ends now, because its end is when Grafana asks for single values. */
  readonly from: string;
  readonly refresh?: string;
  /** Those after data source and job. */
  readonly variables: readonly object[];
  readonly rows: readonly Row[];
}

/** The whole dashboard, as its file has it. */
export function dashboard(settings: DashboardSettings) {
  const { uid, description, from, refresh = '1m', variables, rows } = settings;
  const [own] = DASHBOARDS.filter((one) => one.uid === uid);
  return {
    uid,
    title: `Libraries / ${own?.title}`,
    description,
    tags: ['library'],
    // That of Grafana 12.0. Newer versions migrate it.
    schemaVersion: 41,
    editable: true,
    graphTooltip: 1,
    refresh,
    time: { from, to: 'now' },
    timezone: 'browser',
    weekStart: 'monday',
    annotations: { list: [alerts(uid)] },
    links: DASHBOARDS.filter((one) => one.uid !== uid).map((other) => {
      const library = own?.libraries === 'one' && other.libraries === 'one';
      const url = `${addressOf(other.uid)}${library ? '&${customer:queryparam}' : ''}`;
      return { title: other.title, type: 'link', url, keepTime: false, targetBlank: false };
    }),
    templating: { list: [SOURCE, JOB, ...variables] },
    panels: placed(rows),
  };
}

/** The address of a dashboard, with the reader's data source. */
export function addressOf(uid: Uid): string {
  return `/d/${uid}?\${datasource:queryparam}&\${job:queryparam}`;
}

/** Panels of one height and width side by side. With a title they are folded, and computed when they are unfolded. */
type Row = readonly [height: number, panels: readonly Panel[], title?: string];

/** Panels with numbers and places, row below row. */
function placed(rows: readonly Row[]): readonly object[] {
  let y = 0;
  let id = 0;
  return rows.flatMap(([h, panels, title]): readonly object[] => {
    const head = { id: (id += 1), type: 'row', title, gridPos: { x: 0, y, w: 24, h: 1 } };
    const top = title === undefined ? y : y + 1;
    const w = 24 / panels.length;
    const besides = panels.map((panel, index) => ({
      id: (id += 1),
      gridPos: { x: index * w, y: top, w, h },
      ...panel,
    }));
    y = title === undefined ? y + h : top;
    return title === undefined ? besides : [{ ...head, collapsed: true, panels: besides }];
  });
}

/** Marks where alerts fired. */
function alerts(uid: Uid) {
  const customers = uid === 'library-exporter' ? '' : ',customer=~"$customer|"';
  return {
    name: 'Alerts',
    datasource: DATASOURCE,
    enable: true,
    iconColor: 'red',
    expr: `ALERTS{alertname=~"Library.+",alertstate="firing"${customers}}`,
    step: '60s',
    titleFormat: '{{alertname}}',
    textFormat: '{{customer}} {{branch}} {{stream}} {{instance}}',
  };
}

const SOURCE = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
};
/** Hidden (2), because the libraries of all jobs are shown. */
const JOB = {
  ...anyOf(choice('job', 'Job', 'label_values(library_site_info, job)'), '.+'),
  hide: 2,
};
/** A configured label that narrows the choice of libraries; all are those without it, too. */
const REGION = choice('region', 'Region', 'label_values(library_site_info{job=~"$job"}, region)');

/** Any number of libraries. All are those of the chosen regions by name, so that no query knows the label. */
export const ANY_LIBRARIES = [
  anyOf(REGION, '.*'),
  anyOf(libraryChoice('job=~"$job",region=~"$region"')),
];

/** One library. */
export const ONE_LIBRARY = libraryChoice('job=~"$job"');

/** One branch of the library, by its name. */
export const ONE_BRANCH = {
  ...choice(
    'branch',
    'Branch',
    'query_result(max by (branch, name) (library_site_info{job=~"$job",customer="$customer",branch!=""}))',
  ),
  regex: '/branch="(?<value>[^"]+)".*name="(?<text>[^"]*)"/',
};

/** Any number of branches, and a library that has none. */
export const ANY_BRANCHES = anyOf(ONE_BRANCH, '.*');

const INSTANCES = 'label_values(library_exporter_build_info{job=~"$job"}, instance)';
/** Any number of exporters. */
export const ANY_EXPORTERS = anyOf(choice('instance', 'Instance', INSTANCES), '.+');

/** All of a choice, which without `allValue` is the list of what there is. */
function anyOf(one: object, allValue?: string) {
  const current = { text: ['All'], value: ['$__all'] };
  return { ...one, multi: true, includeAll: true, current, ...(allValue && { allValue }) };
}

function libraryChoice(of: string) {
  return choice('customer', 'Library', `label_values(library_site_info{${of}}, customer)`);
}

/** A choice among what there is, read anew (2) when the time range changes, by name (1). */
function choice(name: string, label: string, query: string) {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query,
    refresh: 2,
    sort: 1,
    hide: 0,
  };
}
