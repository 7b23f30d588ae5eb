import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Folders of tests by project. `npm run test:unit` runs the first one, which starts no exporter. */
export const PROJECTS = {
  unit: 'base,config,counting,metrics,polling,report,service,storage,web',
  process: 'acceptance,backfill,cli,daemon',
  simulation: 'simulation,simulator',
  repository: 'docs,grafana,package,prometheus',
} as const;

/** It takes longest: at the end, it would run with idle workers beside it. */
class SimulationFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted(
      (a, b) => Number(b.project.name === 'simulation') - Number(a.project.name === 'simulation'),
    );
  }
}

export default defineConfig({
  test: {
    projects: Object.entries(PROJECTS).map(([name, folders]) => ({
      test: {
        name,
        root: fileURLToPath(new URL('..', import.meta.url)),
        include: [`test/{${folders},-}/**/*.test.ts`],
        // Waits for states end by their own limits; these only stop a test that never ends.
        testTimeout: 300_000,
        hookTimeout: 300_000,
        // No test changes anything that others see, so files share what is loaded.
        isolate: false,
        // Unit tests compute, the others wait for processes. Each worker loads and warms up everything again.
        maxWorkers: name === 'unit' ? availableParallelism() : 4,
        sequence: { groupOrder: name === 'unit' ? 0 : 1 },
        // Nearly all objects are short-lived: collecting them less often saves a fifth of the time.
        execArgv: ['--max-semi-space-size=64'],
      },
    })),
    sequence: { sequencer: SimulationFirst },
    reporters: process.stdout.isTTY ? ['default'] : ['dot'],
  },
});
