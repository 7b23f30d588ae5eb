/**
 * What surrounds the panels of every dashboard: the choices at the top, the links to the others, the
 * alerts that are drawn over the panels. Knows no panel.
 */
import {
  AnnotationQueryBuilder,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DATASOURCE } from './finish.ts';

const TAG = 'library';

/** A dashboard without panels, which asks for its data source and for the job. */
export function frame(uid: string, title: string, description: string): DashboardBuilder {
  return (
    new DashboardBuilder(`Library / ${title}`)
      .uid(uid)
      .description(description)
      .tags([TAG])
      .readonly()
      .tooltip(DashboardCursorSync.Crosshair)
      .refresh('1m')
      .time({ from: 'now-24h', to: 'now' })
      .timezone('browser')
      .weekStart('monday')
      .link(
        new DashboardLinkBuilder('Library')
          .type(DashboardLinkType.Dashboards)
          .tags([TAG])
          .includeVars(true)
          .keepTime(false),
      )
      .withVariable(
        new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
      )
      // From a series that every customer has as soon as it is configured.
      .withVariable(all(choice('job', 'Job', 'label_values(library_customer_info, job)')))
  );
}

/** The choice of a customer; make it {@link all} or {@link several} where more than one may be seen. */
export function customerChoice(): QueryVariableBuilder {
  return choice(
    'customer',
    'Customer',
    'label_values(library_customer_info{job=~"$job"}, customer)',
  );
}

/** The choice of an exporter, for those who run more than one. */
export function instanceChoice(): QueryVariableBuilder {
  return choice(
    'instance',
    'Instance',
    'label_values(library_exporter_build_info{job=~"$job"}, instance)',
  );
}

/** Any number of values can be chosen, all of them at first. */
export function all(variable: QueryVariableBuilder): QueryVariableBuilder {
  return several(variable)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: 'All', value: '$__all' });
}

/** Any number of values can be chosen, the first of them at first. */
export function several(variable: QueryVariableBuilder): QueryVariableBuilder {
  return variable.multi(true);
}

/** Firing alerts of prometheus/rules, marked where they fired. `matchers` as in `,customer=~"a"`. */
export function alerts(matchers = ''): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name('Alerts')
    .datasource(DATASOURCE)
    .enable(true)
    .hide(false)
    .iconColor('red')
    .expr(`ALERTS{alertname=~"Library.+",alertstate="firing"${matchers}}`)
    .step('60s')
    .titleFormat('{{alertname}}')
    .textFormat('{{customer}} {{stream}} {{device}} {{instance}}')
    .tagKeys('severity');
}

function choice(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
}
