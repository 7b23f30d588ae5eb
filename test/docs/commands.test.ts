/**
 * Runs the curl commands of docs/commands.md against the simulated service and compares the output.
 * `vitest run -u` writes the output anew; read it afterwards.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import type { Simulator } from '../../src/simulator/http.ts';
import { createEnvironment } from '../../src/simulator/environment.ts';
import { Shell } from './shell.ts';

/** The time of the output on the page. */
const NOW_MS = Date.parse('2026-11-21T08:00:00Z');
const WRITTEN_URL = 'http://127.0.0.1:8080';
const FILE = fileURLToPath(new URL('../../docs/commands.md', import.meta.url));

let simulator: Simulator;

beforeAll(async () => {
  const clock = { ...systemClock, nowMs: () => NOW_MS };
  const environment = createEnvironment({ seed: 1, customers: 5, clock });
  const faults = createFaults({ random: seededRandom(1) });
  const { service } = environment;
  simulator = await startSimulator({ service, faults, clock, listenAddress: '127.0.0.1:0' });
});

afterAll(async () => {
  await simulator.close();
});

/** The page with the output of each curl command as it is now. Other commands are not run. */
async function replay(markdown: string): Promise<string> {
  const shell = new Shell((url, init) => fetch(url.replace(WRITTEN_URL, simulator.url), init));
  const parts = markdown.split(/(^```console\n[^]*?^```$)/m);
  const replayed: string[] = [];
  for (const part of parts) {
    if (!part.startsWith('```console') || part.includes('$ npm start')) {
      replayed.push(part);
      continue;
    }
    let block = '```console\n';
    for (const [line, command = ''] of part.matchAll(/^\$ (.*)$/gm)) {
      block += `${line}\n${await shell.run(command)}`;
    }
    replayed.push(`${block}\`\`\``);
  }
  return replayed.join('');
}

test('every curl command prints what is written below it', async () => {
  const replayed = await replay(readFileSync(FILE, 'utf8'));
  await expect(replayed).toMatchFileSnapshot(FILE);
});
