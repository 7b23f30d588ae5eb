import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/e2e/**/*.test.ts'],
    // Each file has a daemon and a Prometheus or a browser of its own, and promtool takes most of the time.
    maxWorkers: 2,
    // Limit for the tests of a file that run together.
    maxConcurrency: 2,
    testTimeout: 300_000,
    hookTimeout: 180_000,
  },
});
