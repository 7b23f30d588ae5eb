import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { PROMETHEUS_FOLDER, RULE_FILES, readRuleFile } from '../prometheus/rules.ts';
import { debianProgram, run } from './support/processes.ts';

test.each(RULE_FILES)('promtool accepts %s, and finds no rule twice', (path) => {
  const { status, output } = promtool('check', 'rules', '--lint=all', inFolder(path));
  expect({ status, output }).toMatchObject({ status: 0 });
  const rules = readRuleFile(path).groups.flatMap((group) => group.rules);
  expect(output).toContain(`${rules.length} rules found`);
});

test('promtool accepts the example configuration', () => {
  const { status, output } = promtool('check', 'config', inFolder('prometheus.yml'));
  expect({ status, output }).toMatchObject({ status: 0 });
  expect(output).toContain('3 rule files found');
});

function promtool(...args: readonly string[]): ReturnType<typeof run> {
  return run(debianProgram('/usr/bin/promtool'), args);
}

function inFolder(path: string): string {
  return fileURLToPath(new URL(path, PROMETHEUS_FOLDER));
}
