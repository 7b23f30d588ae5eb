/**
 * Runs the curl commands of docs/commands.md against the simulated service and compares the output.
 * `vitest run … --update commands` writes the output anew; read it afterwards.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createDemoService } from '../../src/simulator/demo-service.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import { finished } from './support/processes.ts';

const FILE = fileURLToPath(new URL('../../docs/commands.md', import.meta.url));
const WRITTEN_URL = 'http://127.0.0.1:8080';
/** The time of the output on the page. */
const NOW_MS = Date.parse('2026-11-21T08:00:00Z');
/** Examples that are about the exporter show values of another day. */
const BLOCK = /(?<=^```console\n)(?!\$ npm)[^]*?(?=^```$)/gm;

test('every curl command prints what is written below it', async () => {
  const clock = { ...systemClock, nowMs: () => NOW_MS };
  const service = createDemoService({ seed: 1, customers: 5, clock });
  const faults = createFaults({ random: seededRandom(1) });
  const listenAddress = '127.0.0.1:0';
  const simulator = await startSimulator({ service, faults, clock, listenAddress });
  onTestFinished(() => simulator.close());
  const page = readFileSync(FILE, 'utf8');
  const blocks = (page.match(BLOCK) ?? []).map((block) => block.match(/^\$ .*$/gm) ?? []);
  const script = blocks.map((lines) => [...lines.map(echoed), "printf '\\0'"].join('\n'));
  const flags = ['-eu', '-o', 'pipefail', '-c'];
  const text = `export no_proxy=127.0.0.1\n${script.join('\n')}`;
  const output = await finished('bash', [...flags, text]);
  const replayed = output.replaceAll(simulator.url, WRITTEN_URL).split('\0').values();
  await expect(page.replaceAll(BLOCK, () => replayed.next().value ?? '')).toMatchFileSnapshot(FILE);

  /** A line of the page, as a shell that first prints it. */
  function echoed(line: string): string {
    const command = line.slice(2).replaceAll(WRITTEN_URL, simulator.url);
    return `echo '${line.replaceAll("'", `'\\''`)}'\n${command}`;
  }
});
