/** When which alert arrives where: by the shipped rules and routes, and as docs/alerts.md has it. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { readGroups, readPrometheusFile, recordingsFor } from './rules.ts';

const MINUTES = { s: 1 / 60, m: 1, h: 60, d: 1_440 } as const;

/** Returns the minutes of a duration as Prometheus writes it, with one unit. */
export function minutesOf(duration: string): number {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  return Number(count) * MINUTES[z.enum(['s', 'm', 'h', 'd']).parse(unit)];
}

interface Route {
  readonly receiver?: string | undefined;
  readonly group_wait?: string | undefined;
  readonly matchers?: readonly string[] | undefined;
  readonly routes?: readonly Route[] | undefined;
}

const ROUTE: z.ZodType<Route> = z.looseObject({
  receiver: z.string().optional(),
  group_wait: z.string().optional(),
  matchers: z.array(z.string()).optional(),
  get routes() {
    return z.array(ROUTE).optional();
  },
});

const { route: ROOT } = z
  .object({ route: ROUTE })
  .parse(parse(readPrometheusFile('alertmanager.yml')));
const { scrape_interval: SCRAPE_INTERVAL } = z
  .object({ global: z.object({ scrape_interval: z.string() }) })
  .parse(parse(readPrometheusFile('prometheus.yml'))).global;

/** Whether a matcher of Alertmanager matches. Throws for one that is written in another way. */
function isMatched(matcher: string, labels: Readonly<Record<string, string>>): boolean {
  const [, name = '', operator, value = ''] = /^(\w+)(=~?)"(.*)"$/.exec(matcher) ?? [];
  if (operator === undefined) {
    throw new Error(`unknown matcher ${matcher}`);
  }
  const label = labels[name] ?? '';
  return operator === '=' ? label === value : new RegExp(`^(?:${value})$`).test(label);
}

/** Returns the settings of the first route that matches, with those that it inherits. */
function routeOf(labels: Readonly<Record<string, string>>, from = ROOT): Route {
  const next = from.routes?.find(({ matchers = [] }) =>
    matchers.every((matcher) => isMatched(matcher, labels)),
  );
  return next === undefined ? from : routeOf(labels, { ...from, routes: undefined, ...next });
}

/** An alert on its way to a receiver. */
export interface Notification {
  readonly alert: string;
  readonly receiver: string;
  /** Minutes from when the exporter has the values to the notification. */
  readonly earliest: number;
  readonly latest: number;
}

/**
 * Returns when and where an alert arrives by the shipped files: at the earliest after `for` and `group_wait`,
 * at the latest a scrape, and an evaluation of each group on the way, later.
 */
export function notificationOf(alert: string): Notification {
  const groups = readGroups();
  for (const { interval, rules } of groups) {
    const rule = rules.find((one) => 'alert' in one && one.alert === alert);
    if (rule !== undefined && 'alert' in rule) {
      const { receiver = '', group_wait: wait = '0s' } = routeOf({
        ...rule.labels,
        alertname: alert,
      });
      const earliest = minutesOf(rule.for ?? '0s') + minutesOf(wait);
      const read = new Set(recordingsFor(rule.expr).map(({ record }) => record));
      const intervals = groups
        .filter((group) => group.rules.some((one) => 'record' in one && read.has(one.record)))
        .map((group) => group.interval);
      const late = [SCRAPE_INTERVAL, interval, ...intervals].map(minutesOf);
      const latest = Math.ceil(earliest + late.reduce((sum, minutes) => sum + minutes));
      return { alert, receiver, earliest, latest };
    }
  }
  throw new Error(`no alert ${alert}`);
}

/** A row of the table "Which notification, after how long" of docs/alerts.md. */
export interface Row {
  readonly what: string;
  readonly alert: string;
  readonly receiver: string;
  readonly after: string;
}

export function documentedNotifications(): readonly Row[] {
  const text = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split(/^## Which notification, after how long$/m);
  const [table = ''] = /^\|[^]*?(?=\n\n)/m.exec(section) ?? [];
  const rows = table.split('\n').slice(2);
  return rows.map((line) => {
    const [what = '', alert = '', receiver = '', after = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    return { what, alert, receiver, after };
  });
}
