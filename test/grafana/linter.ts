/**
 * The seventeen rules of Grafana's dashboard-linter (v0.2.0), by its names, for what it is not run
 * here: each says what is wrong with a dashboard. Knows no dashboard of ours, and no exception.
 */
import { RATE_INTERVAL, asPromql, labelValues } from './dashboard.ts';
import type { Dashboard, Panel } from './dashboard.ts';
import { selectorsOf, syntaxErrors } from './promql.ts';
import type { Selector } from './promql.ts';

/** What is wrong, and where; none where all is well. */
export type Rule = (dashboard: Dashboard) => readonly string[];

const VARIABLE = '${datasource}';
const WITH_VALUES = [
  'stat',
  'gauge',
  'table',
  'timeseries',
  'bargauge',
  'barchart',
  'state-timeline',
];
/** Of those that Grafana knows: a misspelt one shows no unit and no error. */
const UNITS = ['none', 'locale', 'm', 'percentunit', 's', 'dateTimeFromNow', 'reqps', 'bytes'];

export const RULES: Readonly<Record<string, Rule>> = {
  'template-datasource-rule': ({ templating }) => {
    const [first] = templating.list.filter(({ type }) => type === 'datasource');
    return [
      ...(first?.name === 'datasource' ? [] : ['no variable datasource of this type']),
      ...(first?.label === 'Data source' ? [] : ['its label is not Data source']),
    ];
  },
  'template-job-rule': (dashboard) => choiceProblems(dashboard, 'job', 'Job'),
  'template-instance-rule': (dashboard) => choiceProblems(dashboard, 'instance', 'Instance'),
  'template-label-promql-rule': ({ templating }) =>
    templating.list
      .filter(({ type }) => type === 'query')
      .flatMap(({ name, query }) => {
        const asked = labelValues(query);
        return query !== 'label_names(library_customer_info)' &&
          (asked === undefined || syntaxErrors(asked.series).length > 0)
          ? [`${name} asks ${query}`]
          : [];
      }),
  'template-on-time-change-reload-rule': ({ templating }) =>
    templating.list
      .filter(({ type, refresh }) => type === 'query' && refresh !== 2)
      .map(({ name }) => `${name} is not asked again when the time range changes`),
  'panel-datasource-rule': eachPanel(({ datasource, sharedPanels }) =>
    datasource?.uid === VARIABLE || sharedPanels.length > 0 ? [] : [`asks ${datasource?.uid}`],
  ),
  'panel-title-description-rule': ({ panels }) =>
    panels.flatMap(({ id, title, description }) =>
      title.trim() === '' || description.trim() === ''
        ? [`${id} has no title or no description`]
        : [],
    ),
  'panel-units-rule': eachPanel(({ fieldConfig }) => {
    const unit = fieldConfig?.defaults.unit;
    return unit !== undefined && UNITS.includes(unit) ? [] : [`has the unit ${unit}`];
  }),
  'panel-no-targets-rule': eachPanel(({ targets, sharedPanels }) =>
    targets.length + sharedPanels.length > 0 ? [] : ['asks nothing'],
  ),
  'target-logql-rule': onlyPrometheus,
  'target-logql-auto-rule': onlyPrometheus,
  'target-promql-rule': eachQuery((query) => syntaxErrors(query)),
  'target-rate-interval-rule': eachSelector(({ metric, call, range }) =>
    (call === 'rate' || call === 'irate') && range !== RATE_INTERVAL
      ? [`${call} of ${metric} over ${range}, not $__rate_interval`]
      : [],
  ),
  'target-job-rule': eachSelector((selector) => mustMatch(selector, 'job=~"$job"')),
  'target-instance-rule': eachSelector((selector) => mustMatch(selector, 'instance=~"$instance"')),
  'target-counter-agg-rule': eachSelector(({ metric, call }) =>
    /_(total|sum|count|bucket)$/.test(metric) && !['rate', 'irate', 'increase'].includes(call ?? '')
      ? [`${metric} is a counter, and not asked for how it grows`]
      : [],
  ),
  'uneditable-dashboard': ({ editable }) => (editable ? ['can be edited in place'] : []),
};

function choiceProblems({ templating }: Dashboard, name: string, label: string): readonly string[] {
  const choice = templating.list.find((variable) => variable.name === name);
  if (choice === undefined) {
    return [`no variable ${name}`];
  }
  const wanted = { type: 'query', label, multi: true, allValue: '.+', uid: VARIABLE };
  const found = { ...choice, uid: choice.datasource?.uid };
  return Object.entries(wanted)
    .filter(([key, value]) => found[key as keyof typeof wanted] !== value)
    .map(([key]) => `${key} of the variable ${name} is not as it ought to be`);
}

function onlyPrometheus({ panels }: Dashboard): readonly string[] {
  return panels
    .flatMap(({ targets }) => targets)
    .filter(({ datasource }) => datasource.type !== 'prometheus')
    .map(({ expr }) => `${expr} is not asked of a Prometheus`);
}

function eachPanel(problems: (panel: Panel) => readonly string[]): Rule {
  return ({ panels }) =>
    panels
      .filter(({ type }) => WITH_VALUES.includes(type))
      .flatMap((panel) => problems(panel).map((problem) => `${panel.title}: ${problem}`));
}

function eachQuery(problems: (query: string) => readonly string[]): Rule {
  return eachPanel(({ targets }) => targets.flatMap(({ expr }) => problems(asPromql(expr))));
}

function eachSelector(problems: (selector: Selector) => readonly string[]): Rule {
  return eachQuery((query) => selectorsOf(query).flatMap(problems));
}

function mustMatch({ metric, matchers }: Selector, matcher: string): readonly string[] {
  return matchers.includes(matcher) ? [] : [`${metric} without ${matcher}`];
}
