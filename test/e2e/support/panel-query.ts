/** The shipped queries of dashboards, found by what a reader sees: dashboard, panel, and column or line. */
import { columnsOf, readDashboards } from '../../grafana/dashboard.ts';

const DASHBOARDS = readDashboards();

/** What the reader has chosen and looks at. Times are milliseconds of the Unix time. */
export interface Reader {
  readonly fromMs: number;
  readonly atMs: number;
  readonly customer?: string;
  readonly branch?: string;
}

/** Returns a panel's query as Grafana would send it: that of a column or legend, or the first one. Throws if there is none. */
export function panelQuery(
  [uid, title, name]: readonly [uid: string, title: string, name?: string],
  reader: Reader,
): string {
  const [, dashboard] = DASHBOARDS.find(([, one]) => one.uid === `library-${uid}`) ?? [];
  const panel = dashboard?.panels.find((one) => one.title === title);
  const columns = panel === undefined ? {} : columnsOf(panel);
  const target = panel?.targets.find(
    ({ refId, legendFormat }) =>
      name === undefined || legendFormat === name || columns[`Value #${refId}`] === name,
  );
  if (target === undefined) {
    throw new Error(`library-${uid} has no panel "${title}" with a query "${name ?? ''}"`);
  }
  return filledIn(target.expr, reader);
}

/** Returns a query of a dashboard as Grafana would send it for a reader. */
export function filledIn(
  expression: string,
  { fromMs, atMs, customer = '.+', branch = '.*' }: Reader,
): string {
  return expression
    .replaceAll('$__range', `${Math.round((atMs - fromMs) / 1_000)}s`)
    .replaceAll(/\$__(rate_interval|interval)\b/g, '1d')
    .replaceAll(/\$(job|instance)\b/g, '.+')
    .replaceAll('$region', '.*')
    .replaceAll('$branch', branch)
    .replaceAll('$customer', customer);
}
