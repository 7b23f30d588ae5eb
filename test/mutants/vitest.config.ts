/** The unit project. It runs in worker threads, in which no test can change its user or umask. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { PROJECTS } from '../vitest.config.ts';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: [`test/{${PROJECTS.unit}}/**/*.test.ts`],
    exclude: [
      'test/base/files.test.ts',
      'test/config/permissions.test.ts',
      'test/storage/store.test.ts',
    ],
    testTimeout: 120_000,
  },
});
