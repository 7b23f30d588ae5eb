/** The unit tests of what is mutated. They run in worker threads, in which no test can change its user or umask. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/{base,config,counting,polling,service}/**/*.test.ts'],
    exclude: ['test/base/files.test.ts', 'test/config/permissions.test.ts'],
    testTimeout: 120_000,
  },
});
