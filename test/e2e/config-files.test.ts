/** promtool and amtool accept rules and examples; who receives which alert, and which are inhibited. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import {
  PROMETHEUS_FOLDER,
  RULE_FILES,
  groupsOf,
  readAlerts,
  readPrometheusFile,
} from '../prometheus/rules.ts';
import { debianProgram, run } from './support/processes.ts';

const FILE = pathOf('alertmanager.yml');
const MATCHERS = z.array(z.string());
const { inhibit_rules: RULES } = z
  .object({
    inhibit_rules: z.array(
      z.object({ source_matchers: MATCHERS, target_matchers: MATCHERS, equal: MATCHERS }),
    ),
  })
  .parse(parse(readPrometheusFile('alertmanager.yml')));
const FOR_LIBRARIES = [
  'LibraryDeviceSilent',
  'LibraryDirectionSilent',
  'LibraryOverCapacity',
  'LibraryZeroLogins',
  'LibraryZeroTraffic',
];

test.each(RULE_FILES)('promtool accepts %s, and finds no rule twice', (path) => {
  const args = ['check', 'rules', '--lint=all', pathOf(path)];
  const { status, output } = run(debianProgram('/usr/bin/promtool'), args);
  expect({ status, output }).toMatchObject({ status: 0 });
  const rules = groupsOf(path).flatMap((group) => group.rules);
  expect(output).toContain(`${rules.length} rules found`);
});

test('promtool and amtool accept the example configurations', () => {
  const args = ['check', 'config', pathOf('prometheus.yml')];
  const prometheus = run(debianProgram('/usr/bin/promtool'), args);
  expect(prometheus).toMatchObject({ status: 0 });
  expect(prometheus.output).toContain(`${RULE_FILES.length} rule files found`);
  expect(amtool('check-config', FILE)).toMatchObject({ status: 0 });
});

test.each(readAlerts())('$alert has a receiver', ({ alert, labels: { severity, service } }) => {
  const { status, output } = amtool(
    'config',
    'routes',
    'test',
    `--config.file=${FILE}`,
    `alertname=${alert}`,
    `severity=${severity}`,
    `service=${service}`,
  );
  expect(status).toBe(0);
  expect(output.split('\n')[0]).toBe(
    severity === 'critical' ? 'pager' : FOR_LIBRARIES.includes(alert) ? 'libraries' : 'operators',
  );
});

test.each([
  ['LibraryExporterAbsent', ['LibraryExporterDown']],
  ['LibraryShardsMissing', ['LibraryCustomersMissing', 'LibraryExporterDown']],
  [
    'LibraryServiceDown',
    [
      'LibraryCustomerDown',
      'LibraryDataDelayed',
      'LibraryDataStale',
      'LibraryPollsFailing',
      'LibraryPollsSkipped',
    ],
  ],
  ['LibraryCredentialsRefused', ['LibraryCustomerDown', 'LibraryDataStale', 'LibraryPollsFailing']],
  ['LibraryCustomerDown', ['LibraryDataStale', 'LibraryPollsFailing']],
  ['LibraryManySilent', ['LibraryZeroTraffic']],
  ['LibraryMonthEndsWithoutPolls', []],
  ['LibraryCounterExcess', []],
])('%s inhibits %j', (source, targets) => {
  const inhibited = readAlerts()
    .map(({ alert }) => alert)
    .filter((target) => RULES.some((rule) => inhibits(rule, source, target)));
  expect(inhibited.toSorted()).toEqual(targets);
});

test('inhibitions need an equal cluster, and never concern other systems', () => {
  for (const { source_matchers: sources, target_matchers: targets, equal } of RULES) {
    expect(sources).toContain('service="library-stats"');
    expect(targets).toContain('service="library-stats"');
    expect(equal).toContain('cluster');
  }
});

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, PROMETHEUS_FOLDER));
}

function amtool(...args: readonly string[]): ReturnType<typeof run> {
  return run(debianProgram('/usr/bin/amtool'), args);
}

function inhibits(
  { source_matchers: sources, target_matchers: targets }: (typeof RULES)[number],
  source: string,
  target: string,
): boolean {
  return source !== target && matches(sources, source) && matches(targets, target);
}

/** Whether the matchers on the name accept it. */
function matches(matchers: readonly string[], name: string): boolean {
  return matchers.every((matcher) => {
    const value = /^alertname=~?"(.*)"$/.exec(matcher)?.[1];
    return value === undefined || new RegExp(`^(?:${value})$`).test(name);
  });
}
