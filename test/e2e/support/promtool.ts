/** promtool's unit tests of rules and expressions. */
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Alert, Recording } from '../../prometheus/rules.ts';
import type { inputSeries } from '../../prometheus/scenario.ts';
import { debianProgram, outcomeOf } from './processes.ts';

export interface Expectation {
  readonly expr: string;
  readonly minute: number;
  /** Labels as written, and the value. */
  readonly samples: readonly (readonly [labels: string, value: number])[];
}

interface UnitTest {
  readonly rules?: readonly (Recording | Alert)[];
  /** Minutes between samples, and between evaluations of the rules. */
  readonly step: number;
  readonly series: ReturnType<typeof inputSeries>;
  readonly expectations: readonly Expectation[];
}

/** What promtool prints about the expectations that fail; empty if there are none. */
export async function failuresOf(unitTest: UnitTest): Promise<string> {
  const { rules = [], step, series, expectations } = unitTest;
  using folder = mkdtempDisposableSync(join(tmpdir(), 'promtool-'));
  const groups = [{ name: 'tested', rules }];
  writeFileSync(join(folder.path, 'rules.json'), JSON.stringify({ groups }));
  const test = {
    interval: `${step}m`,
    input_series: series,
    promql_expr_test: expectations.map(({ expr, minute, samples }) => ({
      expr,
      eval_time: `${minute}m`,
      exp_samples: samples.map(([labels, value]) => ({ labels: `{${labels}}`, value })),
    })),
  };
  const settings = { rule_files: ['rules.json'], evaluation_interval: `${step}m` };
  const file = join(folder.path, 'tests.json');
  writeFileSync(file, JSON.stringify({ ...settings, tests: [test] }));
  const promtool = debianProgram('promtool');
  const { status, output } = await outcomeOf(promtool, ['test', 'rules', file]);
  return status === 0 ? '' : output;
}
