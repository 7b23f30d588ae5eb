/**
 * The tests of what StrykerJS changes: those of the changed file come first, then those of its folder, because
 * they notice most changes. Files share what is loaded: loading takes longer than most of them.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

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
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/{base,config,counting,polling,service}/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    isolate: false,
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: NearestFirst },
  },
});
