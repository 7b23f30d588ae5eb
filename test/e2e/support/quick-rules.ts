/** The shipped rules with shorter waiting times, so that an alert fires within seconds. */
import type { Workspace } from '../../acceptance/daemon.ts';
import { RULE_FILES, groupsOf } from '../../prometheus/rules.ts';

/** The section `global` of a Prometheus that scrapes and evaluates every second. */
export const QUICK = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' };

/** Writes the rules with every interval and waiting time 60 times shorter. Returns the paths. */
export function fasterRules(workspace: Workspace): readonly string[] {
  return RULE_FILES.map((path, i) => {
    const groups = groupsOf(path).map((group) => ({
      ...group,
      interval: faster(group.interval),
      rules: group.rules.map((rule) => {
        if ('record' in rule) {
          return rule;
        }
        const { for: pending = '0s', keep_firing_for: kept = '0s' } = rule;
        return { ...rule, for: faster(pending), keep_firing_for: faster(kept) };
      }),
    }));
    return workspace.write(`faster-rules-${i}.json`, JSON.stringify({ groups }));
  });
}

/** Returns a duration of so many seconds as it has minutes. */
export function faster(duration: string): string {
  return `${minutesOf(duration)}s`;
}

const MINUTES: Readonly<Record<string, number>> = { s: 1 / 60, m: 1, h: 60, d: 1_440 };

/** Returns the minutes of a duration as Prometheus writes it, with one unit. */
function minutesOf(duration: string): number {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  return Number(count) * (MINUTES[unit] ?? NaN);
}
