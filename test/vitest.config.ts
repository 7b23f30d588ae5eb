import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Folders of tests by project. `npm run test:unit` runs the first one, which starts no exporter. */
export const PROJECTS = {
  unit: 'base,config,counting,metrics,polling,report,service,simulator,storage,web',
  process: 'acceptance,backfill,cli,daemon',
  simulation: 'simulation',
  repository: 'docs,grafana,package,prometheus',
} as const;

export default defineConfig({
  test: {
    projects: Object.entries(PROJECTS).map(([name, folders]) => ({
      test: {
        name,
        root: fileURLToPath(new URL('..', import.meta.url)),
        include: [`test/{${folders},-}/**/*.test.ts`],
        // Waits for states end by their own limits; this one only stops a test that never ends.
        testTimeout: 300_000,
      },
    })),
    // Many tests wait for a process or a clock, so more files than cores run well together.
    maxWorkers: 4,
    reporters: process.stdout.isTTY ? ['default'] : ['dot'],
  },
});
