/**
 * Makes of a dashboard as the SDK builds it one that Grafana takes as it stands: the SDK (0.0.21)
 * leaves out what Grafana needs, and adds what is only noise. Knows no panel of ours.
 */
import type { Dashboard, Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';

/** The data source that the variable `datasource` chooses. */
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

/** Another panel's response. */
export const DASHBOARD_DATASOURCE = { type: 'datasource', uid: '-- Dashboard --' } as const;

/** Written to each panel by the SDK, though they say nothing. */
const DEFAULTS = new Set(['transparent', 'repeatDirection']);

/** What every dashboard has: the annotations that people write by hand. */
const BUILT_IN_ANNOTATIONS = {
  builtIn: 1,
  datasource: { type: 'grafana', uid: '-- Grafana --' },
  enable: true,
  hide: true,
  iconColor: 'rgba(0, 211, 255, 1)',
  name: 'Annotations & Alerts',
  type: 'dashboard',
};

/**
 * The text of the dashboard's file: letters and data source on every query, which the SDK leaves
 * open; the built-in annotations, which it drops; no `auto*` on variables that are no intervals; no
 * place for links, which it can only put where nobody looks; no defaults; no footer of tables, which
 * Grafana 12.2 has elsewhere.
 */
export function dashboardFile(dashboard: Dashboard): string {
  const finished = {
    ...dashboard,
    annotations: { list: [BUILT_IN_ANNOTATIONS, ...(dashboard.annotations?.list ?? [])] },
    links: (dashboard.links ?? []).map((link) => without(link, (name) => name === 'placement')),
    panels: (dashboard.panels ?? []).map(finishPanel),
    templating: {
      list: (dashboard.templating.list ?? []).map((variable) =>
        without(variable, (name) => name.startsWith('auto')),
      ),
    },
  };
  return `${JSON.stringify(finished, null, 2)}\n`;
}

/**
 * What Grafana calls the value of each query of a table, with what is to be said about it. If only the first
 * one has an answer, it is called `Value`.
 */
export function byValue<T>(values: readonly T[]): Record<string, T> {
  const named = values.map((value, index) => [`Value #${refId(index)}`, value] as const);
  return Object.fromEntries([
    ...named,
    ...values.slice(0, 1).map((value) => ['Value', value] as const),
  ]);
}

/** The letter of a panel's query, by its place. */
function refId(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}

function without(thing: object, unwanted: (name: string) => boolean): object {
  return Object.fromEntries(Object.entries(thing).filter(([name]) => !unwanted(name)));
}

function finishPanel(panel: Panel | RowPanel): object {
  const finished = {
    ...without(panel, (name) => DEFAULTS.has(name)),
    ...('options' in panel && { options: without(panel.options, (name) => name === 'footer') }),
  };
  if ('panels' in panel && panel.panels !== undefined) {
    return { ...finished, panels: panel.panels.map(finishPanel) };
  }
  if (!('targets' in panel) || panel.targets === undefined) {
    return finished;
  }
  const targets = panel.targets.map((target, index) => ({
    refId: refId(index),
    datasource: DATASOURCE,
    ...target,
  }));
  return { ...finished, targets };
}
