import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** They take more than a minute. Last, they would run with idle workers beside them. */
const LONGEST = /\/(bench\/parts|simulation\/simulation)\.test\.ts$/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted(
      (a, b) => Number(LONGEST.test(b.moduleId)) - Number(LONGEST.test(a.moduleId)),
    );
  }
}

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**', 'node_modules/**'],
    // Many tests wait for a process or a clock, so more files than cores run well together.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Waits for states end by their own limits; this one only stops a test that never ends.
    testTimeout: 120_000,
    reporters: process.stdout.isTTY ? ['default'] : ['dot'],
  },
});
