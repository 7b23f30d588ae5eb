/** Variables, links and alert annotations of every dashboard. Contains no panel. */
import {
  AnnotationQueryBuilder,
  CustomVariableBuilder,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableHide,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DATASOURCE } from './finish.ts';

const TAG = 'library';

/**
 * Every dashboard, and how many libraries it shows. A link passes only a single library, and only to a
 * dashboard for one or several: All or several would open mixed on a dashboard for one, and one would be
 * all that an overview shows.
 */
const DASHBOARDS = [
  { uid: 'library-overview', title: 'Overview', libraries: 'all' },
  { uid: 'library-customer', title: 'Library', libraries: 'one' },
  { uid: 'library-patterns', title: 'Patterns', libraries: 'several' },
  { uid: 'library-statistics', title: 'Statistics', libraries: 'all' },
  { uid: 'library-now', title: 'Now', libraries: 'one' },
  { uid: 'library-exporter', title: 'Exporter', libraries: 'all' },
] as const;

export type Uid = (typeof DASHBOARDS)[number]['uid'];

/**
 * A dashboard without panels: with alerts as marks, variables for data source and job (since Grafana 12.3 in a
 * menu, because most people have one of each), and links to the others.
 */
export function frame(uid: Uid, description: string): DashboardBuilder {
  const own = DASHBOARDS.find((dashboard) => dashboard.uid === uid);
  const dashboard = new DashboardBuilder(`Libraries / ${own?.title}`)
    .uid(uid)
    .description(description)
    .tags([TAG])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .refresh('1m')
    .time({ from: 'now-24h', to: 'now' })
    .timezone('browser')
    .weekStart('monday')
    .annotation(alerts(uid === 'library-exporter' ? '' : ',customer=~"$customer|"'))
    .withVariable(
      new DatasourceVariableBuilder('datasource')
        .label('Data source')
        .type('prometheus')
        .hide(VariableHide.InControlsMenu),
    )
    // Every customer has this series as soon as it is configured.
    .withVariable(
      all(choice('job', 'Job', 'label_values(library_site_info, job)')).hide(
        VariableHide.InControlsMenu,
      ),
    );
  for (const other of DASHBOARDS.filter((one) => one.uid !== uid)) {
    const keepsLibrary = own?.libraries === 'one' && other.libraries !== 'all';
    dashboard.link(
      new DashboardLinkBuilder(other.title)
        .type(DashboardLinkType.Link)
        .url(
          `/d/${other.uid}?\${datasource:queryparam}&\${job:queryparam}${keepsLibrary ? '&${customer:queryparam}' : ''}`,
        )
        .keepTime(false),
    );
  }
  return dashboard;
}

/** A variable for one library; {@link all} or {@link several} allow more than one. */
export function customerChoice(matchers = ''): QueryVariableBuilder {
  return choice(
    'customer',
    'Library',
    `label_values(library_site_info{job=~"$job"${matchers}}, customer)`,
  );
}

/** A variable for one branch of the chosen libraries, by name. A library that is not polled by branch has none. */
export function branchChoice(): QueryVariableBuilder {
  return choice(
    'branch',
    'Branch',
    'query_result(max by (branch, name) (library_site_info{job=~"$job",customer=~"$customer",branch!=""}))',
  ).regex('/branch="(?<value>[^"]+)".*name="(?<text>[^"]*)"/');
}

/** Any number of branches, all of them by default; also those that have no branch. */
export function allBranches(): QueryVariableBuilder {
  return withAll(branchChoice()).allValue('.*');
}

/**
 * Variables for libraries by their configured labels, such as region: the label, its values, and the
 * libraries that have them. The queries know the label, so that All need not name each library.
 */
export function librariesByLabel(): QueryVariableBuilder[] {
  return [
    choice('label', 'Label', 'label_names(library_site_info)')
      .regex('/^(?!(__name__|branch|customer|instance|job|name)$).+$/')
      .current({ selected: true, text: 'timezone', value: 'timezone' }),
    all(choice('value', 'Value', 'label_values(library_site_info{job=~"$job"}, $label)')).allValue(
      '.*',
    ),
    all(customerChoice(',$label=~"$value"')),
  ];
}

/**
 * What may have a row in a table, and the labels by which queries are then grouped, as far as they have them. The
 * first is the default.
 */
type Rows = Readonly<Record<string, string>>;

/** A variable for what has a row in a table. */
export function rowsChoice(rows: Rows): CustomVariableBuilder {
  const options = Object.entries(rows).map(([text, value], index) => ({
    text,
    value,
    selected: index === 0,
  }));
  const variable = new CustomVariableBuilder('rows')
    .label('Rows')
    .values(options.map(({ text, value }) => `${text} : ${value.replaceAll(',', '\\,')}`).join(','))
    .options(options);
  const [first] = options;
  return first === undefined ? variable : variable.current(first);
}

/** A variable for exporters. */
export function instanceChoice(): QueryVariableBuilder {
  return choice(
    'instance',
    'Instance',
    'label_values(library_exporter_build_info{job=~"$job"}, instance)',
  );
}

/** Any number of values, all of them by default. */
export function all(variable: QueryVariableBuilder): QueryVariableBuilder {
  return withAll(variable).allValue('.+');
}

/** Any number of values, the first one by default. */
export function several(variable: QueryVariableBuilder): QueryVariableBuilder {
  return variable.multi(true);
}

/** Marks where alerts of prometheus/rules fired. `matchers` as in `,customer=~"a"`. */
function alerts(matchers: string): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name('Alerts')
    .datasource(DATASOURCE)
    .enable(true)
    .hide(false)
    .iconColor('red')
    .expr(`ALERTS{alertname=~"Library.+",alertstate="firing"${matchers}}`)
    .step('60s')
    .titleFormat('{{alertname}}')
    .textFormat('{{customer}} {{branch}} {{stream}} {{device}} {{instance}}')
    .tagKeys('severity');
}

function withAll(variable: QueryVariableBuilder): QueryVariableBuilder {
  return several(variable)
    .includeAll(true)
    .current({ selected: true, text: 'All', value: '$__all' });
}

function choice(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
}
