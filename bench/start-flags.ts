/** The flags with which `npm start` runs Node: what is measured runs with them as well. */
import { strict as assert } from 'node:assert';
import manifest from '../package.json' with { type: 'json' };

export const START_FLAGS: readonly string[] = flagsOf(manifest.scripts.start);

function flagsOf(script: string): readonly string[] {
  const flags = /^exec node (.*) src\/main\.ts$/.exec(script)?.[1];
  assert(flags !== undefined, 'npm start is not what the bench knows');
  return flags.split(' ');
}
