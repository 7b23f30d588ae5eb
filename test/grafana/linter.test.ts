import { describe, expect, test } from 'vitest';
import { readDashboards } from './dashboard.ts';
import type { Dashboard } from './dashboard.ts';
import { RULES } from './linter.ts';

/** Rules that do not apply, and why. */
const NO_INSTANCE =
  'libraries are selected here: two exporters show the same values of one, and count once';
const SHARE_OF_DEVICE =
  "the share of a device in the month's people: the counters are the month's totals";
const EXCEPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'template-instance-rule': {
    'library-overview': NO_INSTANCE,
    'library-customer': NO_INSTANCE,
    'library-patterns': NO_INSTANCE,
    'library-statistics': NO_INSTANCE,
    'library-now': NO_INSTANCE,
  },
  'target-instance-rule': {
    'library-overview': NO_INSTANCE,
    'library-customer': NO_INSTANCE,
    'library-patterns': NO_INSTANCE,
    'library-statistics': NO_INSTANCE,
    'library-now': NO_INSTANCE,
  },
  'target-counter-agg-rule': {
    'library-overview': SHARE_OF_DEVICE,
    'library-customer': SHARE_OF_DEVICE,
    'library-statistics': "a month's last value of a counter is its exact total",
  },
};

const DASHBOARDS = readDashboards().map(([, dashboard]) => dashboard);

test('there are the seventeen rules of the linter', () => {
  expect(Object.keys(RULES)).toHaveLength(17);
});

describe.each(Object.entries(RULES))('%s', (name, rule) => {
  const excused = EXCEPTIONS[name] ?? {};

  test.each(DASHBOARDS.map((dashboard) => [dashboard.uid, dashboard] as const))(
    'holds of %s, where no exception says otherwise',
    (uid, dashboard) => {
      expect(excused[uid] === undefined ? rule(dashboard) : []).toEqual([]);
      // An exception that is not needed any more is to go.
      expect(rule(dashboard).length > 0).toBe(excused[uid] !== undefined);
    },
  );

  test('finds a dashboard that breaks it', () => {
    const [dashboard] = DASHBOARDS.filter(({ uid }) => uid === 'library-exporter');
    expect(dashboard).toBeDefined();
    const broken = dashboard === undefined ? undefined : BREAKS[name]?.(structuredClone(dashboard));
    expect(broken === undefined ? [] : rule(broken)).not.toEqual([]);
  });
});

/** The exporter's dashboard, which keeps all the rules, made to break one. */
const BREAKS: Readonly<Record<string, (dashboard: Dashboard) => Dashboard>> = {
  'template-datasource-rule': changeVariable('datasource', { label: 'Data Source' }),
  'template-job-rule': changeVariable('job', { multi: false }),
  'template-instance-rule': changeVariable('instance', { allValue: '.*' }),
  'template-label-promql-rule': changeVariable('instance', { query: 'label_values(up{, job)' }),
  'template-on-time-change-reload-rule': changeVariable('instance', { refresh: 1 }),
  'panel-datasource-rule': changePanel({ datasource: { type: 'prometheus', uid: 'mine' } }),
  'panel-title-description-rule': changePanel({ description: ' ' }),
  'panel-units-rule': changePanel({ fieldConfig: { defaults: { unit: 'secs' }, overrides: [] } }),
  'panel-no-targets-rule': changePanel({ targets: [] }),
  'target-logql-rule': changeTarget({ datasource: { type: 'loki', uid: '${datasource}' } }),
  'target-logql-auto-rule': changeTarget({ datasource: { type: 'loki', uid: '${datasource}' } }),
  'target-promql-rule': changeTarget({ expr: 'sum(up{job=~"$job"}' }),
  'target-rate-interval-rule': changeTarget({ expr: 'rate(library_polls_total[5m])' }),
  'target-job-rule': changeTarget({ expr: 'up{instance=~"$instance"}' }),
  'target-instance-rule': changeTarget({ expr: 'up{job=~"$job"}' }),
  'target-counter-agg-rule': changeTarget({ expr: 'sum(library_polls_total)' }),
  'uneditable-dashboard': (dashboard) => ({ ...dashboard, editable: true }),
};

function changeVariable(
  name: string,
  change: Partial<Dashboard['templating']['list'][number]>,
): (dashboard: Dashboard) => Dashboard {
  return (dashboard) => ({
    ...dashboard,
    templating: {
      list: dashboard.templating.list.map((one) =>
        one.name === name ? { ...one, ...change } : one,
      ),
    },
  });
}

/** Of the first panel. */
function changePanel(
  change: Partial<Dashboard['panels'][number]>,
): (dashboard: Dashboard) => Dashboard {
  return (dashboard) => ({
    ...dashboard,
    panels: dashboard.panels.map((panel, index) => (index === 0 ? { ...panel, ...change } : panel)),
  });
}

/** Of the first panel's first query. */
function changeTarget(
  change: Partial<Dashboard['panels'][number]['targets'][number]>,
): (dashboard: Dashboard) => Dashboard {
  return (dashboard) => {
    const [first, ...rest] = dashboard.panels[0]?.targets ?? [];
    return first === undefined
      ? dashboard
      : changePanel({ targets: [{ ...first, ...change }, ...rest] })(dashboard);
  };
}
