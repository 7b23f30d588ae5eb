/** The shipped rules with shorter waiting times, so that an alert fires within seconds. */
import type { Workspace } from '../../acceptance/daemon.ts';
import { RULE_FILES, groupsOf } from '../../prometheus/rules.ts';

/** The section `global` of a Prometheus that scrapes and evaluates every second. */
export const QUICK = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' };

/** Writes the rules, evaluated every second, and pending for five seconds. Returns the paths. */
export function quickRules(workspace: Workspace): readonly string[] {
  return RULE_FILES.map((path, i) => {
    const groups = groupsOf(path).map((group) => ({
      ...group,
      interval: '1s',
      rules: group.rules.map((rule) => ('alert' in rule ? { ...rule, for: '5s' } : rule)),
    }));
    return workspace.write(`rules-${i}.json`, JSON.stringify({ groups }));
  });
}
