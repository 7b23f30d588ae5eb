import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { PROMETHEUS_FOLDER, filesOf, readRules } from '../prometheus/rules.ts';
import { debianProgram, run } from './support/processes.ts';

describe('promtool', () => {
  test.each(filesOf('rules'))('takes %s, and finds no rule twice', (path) => {
    const { status, output } = promtool('check', 'rules', '--lint=all', inFolder(path));
    expect({ status, output }).toMatchObject({ status: 0 });
    expect(output).toContain(`${readRules().length} rules found`);
  });

  test('takes the example configuration', () => {
    const { status, output } = promtool('check', 'config', inFolder('prometheus.yml'));
    expect({ status, output }).toMatchObject({ status: 0 });
    expect(output).toContain('1 rule files found');
  });

  test.each(filesOf('tests'))('sees the rules do what %s says', (path) => {
    const { status, output } = promtool('test', 'rules', inFolder(path));
    expect({ status, output }).toMatchObject({ status: 0 });
  });
});

function promtool(...args: readonly string[]): ReturnType<typeof run> {
  return run(debianProgram('/usr/bin/promtool'), args);
}

function inFolder(path: string): string {
  return fileURLToPath(new URL(path, PROMETHEUS_FOLDER));
}
