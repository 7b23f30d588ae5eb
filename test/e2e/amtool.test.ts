/** The example for Alertmanager: that it is taken, who is told of what, and which alerts it silences. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { PROMETHEUS_FOLDER, readAlerts, readPrometheusFile } from '../prometheus/rules.ts';
import { debianProgram, run } from './support/processes.ts';

const FILE = fileURLToPath(new URL('alertmanager.yml', PROMETHEUS_FOLDER));
const MATCHERS = z.array(z.string());
const EXAMPLE = z
  .object({
    inhibit_rules: z.array(
      z.object({
        source_matchers: MATCHERS,
        target_matchers: MATCHERS,
        equal: MATCHERS.optional(),
      }),
    ),
  })
  .parse(parse(readPrometheusFile('alertmanager.yml')));

/** Of one customer. */
const BUSINESS = [
  'LibraryDeviceSilent',
  'LibraryEntriesExitsDrift',
  'LibraryFarBelowUsual',
  'LibraryOverCapacity',
  'LibraryPeopleAfterClosing',
  'LibraryZeroTraffic',
];

test('amtool takes it', () => {
  const { status, output } = amtool('check-config', FILE);
  expect({ status, output }).toMatchObject({ status: 0 });
  expect(output).toContain('SUCCESS');
});

test.each(readAlerts())('$alert reaches somebody', ({ alert, labels: { severity } }) => {
  const { status, output } = amtool(
    'config',
    'routes',
    'test',
    `--config.file=${FILE}`,
    `alertname=${alert}`,
    `severity=${severity}`,
    'customer=riverside',
  );
  const ofLibraries = BUSINESS.includes(alert) && severity === 'warning';
  expect(status).toBe(0);
  expect(output.split('\n')[0]).toBe(ofLibraries ? 'libraries' : 'operators');
});

test.each([
  [
    'LibraryExporterAbsent',
    readAlerts()
      .map(({ alert }) => alert)
      .filter((name) => name !== 'LibraryExporterAbsent'),
  ],
  ['LibraryShardsMissing', ['LibraryExporterDown']],
  ['LibraryCredentialsRefused', ['LibraryCustomerDown', 'LibraryDataStale']],
  ['LibraryCustomerDown', ['LibraryDataStale', ...BUSINESS]],
  ['LibraryPollsSkipped', ['LibraryDataStale']],
  ['LibraryDataStale', BUSINESS],
  [
    'LibraryZeroTraffic',
    [
      'LibraryDeviceSilent',
      'LibraryEntriesExitsDrift',
      'LibraryFarBelowUsual',
      'LibraryPeopleAfterClosing',
    ],
  ],
  ['LibraryDeviceSilent', ['LibraryEntriesExitsDrift', 'LibraryFarBelowUsual']],
  ['LibraryCountsHeld', []],
])('%s explains %j', (source, targets) => {
  const silenced = readAlerts()
    .map(({ alert }) => alert)
    .filter((target) => target !== source && inhibits(source, target));
  expect(silenced.toSorted()).toEqual([...targets].toSorted());
});

test('what is explained is always of the same customer, where the reason is of one', () => {
  for (const { source_matchers: sources, equal = [] } of EXAMPLE.inhibit_rules) {
    const ofExporter = sources.some((one) => /ExporterAbsent|ShardsMissing/.test(one));
    expect(equal.includes('customer')).toBe(!ofExporter);
  }
});

function amtool(...args: readonly string[]): ReturnType<typeof run> {
  return run(debianProgram('/usr/bin/amtool'), args);
}

function inhibits(source: string, target: string): boolean {
  return EXAMPLE.inhibit_rules.some(
    ({ source_matchers: sources, target_matchers: targets }) =>
      matches(sources, source) && matches(targets, target),
  );
}

/** Whether all matchers on the name take it. */
function matches(matchers: readonly string[], name: string): boolean {
  return matchers
    .map((matcher) => /^alertname(=~|!=|=)"(.*)"$/.exec(matcher))
    .filter((parts) => parts !== null)
    .every(([, operator, value = '']) => {
      const same = new RegExp(`^(?:${value})$`).test(name);
      return operator === '!=' ? !same : same;
    });
}
