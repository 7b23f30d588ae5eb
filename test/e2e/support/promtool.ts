/** promtool's unit tests of rules and expressions, and its blocks of history. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { groupsOf } from '../../prometheus/rules.ts';
import type { Alert, Recording } from '../../prometheus/rules.ts';
import type { InputSeries } from '../../prometheus/scenario.ts';
import { debianProgram, finished, outcomeOf } from './processes.ts';

export interface Expectation {
  readonly expr: string;
  readonly minute: number;
  /** Labels as written, and the value. */
  readonly samples: readonly (readonly [labels: string, value: number])[];
}

export interface UnitTest {
  readonly rules?: readonly (Recording | Alert)[];
  /** Minutes between samples, and between evaluations of the rules. */
  readonly step: number;
  readonly series: readonly InputSeries[];
  readonly expectations: readonly Expectation[];
}

/** What promtool prints about the expectations that fail; empty if there are none. */
export async function failuresOf(unitTest: UnitTest): Promise<string> {
  const { rules = [], step, series, expectations } = unitTest;
  const folder = mkdtempSync(join(tmpdir(), 'promtool-'));
  try {
    const file = join(folder, 'tests.json');
    const groups = [{ name: 'tested', rules }];
    writeFileSync(join(folder, 'rules.json'), JSON.stringify({ groups }));
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
    writeFileSync(file, JSON.stringify({ ...settings, tests: [test] }));
    const promtool = debianProgram('/usr/bin/promtool');
    const { status, output } = await outcomeOf(promtool, ['test', 'rules', file]);
    return status === 0 ? '' : output;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Makes blocks of the files of a folder, as docs/backfill.md says. */
export async function blocksFromFiles(history: string, blocks: string): Promise<void> {
  const flags = ['--max-block-duration=162h', 'openmetrics', '--quiet'];
  for (const file of readdirSync(history).filter((name) => name.endsWith('.om'))) {
    await createBlocks([...flags, join(history, file), blocks]);
  }
}

/** Adds the recordings of months to blocks that a Prometheus at `url` has, as docs/backfill.md says. */
export async function recordMonths(
  url: string,
  blocks: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<void> {
  const rules = `${blocks}.rules.json`;
  const groups = groupsOf('rules/recording.yml').filter(({ name }) =>
    name.startsWith('library-month'),
  );
  writeFileSync(rules, JSON.stringify({ groups }));
  await createBlocks([
    '--max-block-duration=2592h',
    'rules',
    `--start=${fromMs / 1_000}`,
    `--end=${toMs / 1_000}`,
    `--url=${url}`,
    `--output-dir=${blocks}`,
    rules,
  ]);
}

async function createBlocks(args: readonly string[]): Promise<void> {
  const promtool = debianProgram('/usr/bin/promtool');
  await finished(promtool, ['tsdb', 'create-blocks-from', ...args]);
}
