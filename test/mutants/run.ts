/**
 * `npm run mutants`: changes one part of the source after another, because tests take several times as long with all
 * changes in it. Arguments are those of StrykerJS; with `--mutate`, these files alone.
 */
import { spawnSync } from 'node:child_process';

const PARTS = [
  ['src/config/**/*.ts'],
  ['src/counting/*.ts'],
  ['src/counting/branches/*.ts', 'src/counting/breakdowns/*.ts', 'src/counting/check/*.ts'],
  ['src/counting/calendar/*.ts', 'src/counting/rows/*.ts'],
  ['src/counting/occupancy/*.ts', 'src/counting/past/*.ts'],
  ['src/counting/totals/*.ts'],
  ['src/polling/*.ts'],
  ['src/service/decode.ts', 'src/service/metadata.ts', 'src/base/duration.ts'],
];

const given = process.argv.slice(2);
const runs = given.some((option) => option.startsWith('--mutate'))
  ? [given]
  : PARTS.map((files) => [...given, '--mutate', files.join(',')]);
for (const options of runs) {
  const command = ['run', 'test/mutants/stryker.json', ...options];
  const { status } = spawnSync('stryker', command, { stdio: 'inherit' });
  if (status !== 0) {
    process.exitCode = status ?? 1;
    break;
  }
}
