import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**', 'node_modules/**'],
    // Many tests wait for a process or a clock, so more files than cores run well together.
    maxWorkers: 4,
    // Waits for states end by their own limits; this one only stops a test that never ends.
    testTimeout: 120_000,
    reporters: process.stdout.isTTY ? ['default'] : ['dot'],
  },
});
