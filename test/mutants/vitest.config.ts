/**
 * The tests of what StrykerJS changes: those of the changed file come first, then those of its folder, because
 * they notice most changes. Files share what is loaded: loading takes longer than most of them. Tests of reports and
 * of threads are left out: they take seconds, and several times as long with all changes in the source.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';
import { keptWorker } from './kept-worker.ts';

class NearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const [changed = ''] = this.ctx.config.related ?? [];
    const steps = changed.split('/src/').at(-1)?.replace(/ts$/, 'test.ts').split('/') ?? [];
    function nearness({ moduleId }: TestSpecification): number {
      const own = moduleId.split('/test/').at(-1)?.split('/') ?? [];
      const different = steps.findIndex((step, i) => step !== own[i]);
      return different === -1 ? steps.length : different;
    }
    return (await super.sort(files)).toSorted((a, b) => nearness(b) - nearness(a));
  }
}

export default defineConfig({
  plugins: [
    {
      name: 'kept-worker',
      // The first run counts what each test reaches. StrykerJS goes on counting: it costs more than a test.
      transform: (code) =>
        code.replace('var c = cov.static;', 'if (ns.hitCount !== undefined) return; $&'),
      // The runner of StrykerJS names a pool of its own.
      configureVitest({ project }) {
        project.config.pool = keptWorker.name;
        project.config.poolRunner = keptWorker;
      },
    },
  ],
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/{base,config,counting,metrics,polling,service,storage,web}/**/*.test.ts'],
    exclude: ['test/config/thread.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    isolate: false,
    setupFiles: ['test/mutants/setup.ts'],
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: NearestFirst },
  },
});
