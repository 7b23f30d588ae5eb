/**
 * `npm run mutations`: runs the exporter with each mutation until the simulation finds it. Ends with
 * status 1 if one is not found.
 */
import { parseArgs } from 'node:util';
import { drawEnvironment } from './environment.ts';
import { MUTATIONS } from './mutations.ts';
import type { Mutation } from './mutations.ts';
import { runEnvironment } from './run.ts';

const { values } = parseArgs({
  options: {
    /** How many environments to try for each mutation. */
    seeds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    /** Text that the names of the chosen mutations have in them. */
    only: { type: 'string', default: '' },
  },
});

for (const [name, mutation] of Object.entries(MUTATIONS)) {
  if (name.includes(values.only)) {
    const found = await find(mutation);
    process.stdout.write(`${name}: ${found ?? `not found in ${values.seeds} environments`}\n`);
    process.exitCode = found === undefined ? 1 : process.exitCode;
  }
}

async function find(mutation: Mutation): Promise<string | undefined> {
  let runs = 0;
  for (let seed = Number(values.seed); runs < Number(values.seeds); seed++) {
    const environment = drawEnvironment(seed);
    if (mutation.appliesTo?.(environment) ?? true) {
      runs += 1;
      const [violation] = (await runEnvironment(environment, mutation)).violations;
      if (violation !== undefined) {
        return `environment ${runs}, seed ${seed}: ${violation}`;
      }
    }
  }
  return undefined;
}
