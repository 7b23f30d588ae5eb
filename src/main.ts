#!/usr/bin/env node
/** The edge: arguments, environment and signals in, an exit status out. The only place that exits. */
import { enableCompileCache, setSourceMapsSupport } from 'node:module';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { settleHeap } from './base/heap.ts';

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => stop.abort());
}

// A reader that has gone, as in `… --help | head -1`, is no reason to crash.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

// The published package is compiled. Where it crashes, the stack names the lines of the source.
if (import.meta.filename.endsWith('.js')) {
  setSourceMapsSupport(true, { nodeModules: true });
}

// Compiling takes longer than all the rest of a start, and gives the same every time. Not where everybody
// may write, for it is code; where we may not, nothing is kept and nothing is said.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'));

// Loaded only now, for loading takes longer than anything that a signal may come in.
const { runCommandLine } = await import('./cli/program.ts');
const status = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  hostname: hostname(),
  nodeVersion: process.version,
  writeOut: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  deliverOut: (text) =>
    new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    }),
  // Else the bytes of pages that were read long ago would lie about until there are 64 MB of them.
  settleHeap,
  saveMemory: () => setFlagsFromString('--optimize-for-size'),
  outIsTerminal: process.stdout.isTTY,
  errorIsTerminal: process.stderr.isTTY,
  stop: stop.signal,
  onHangup: (listener) => process.on('SIGHUP', listener),
});
process.exit(status);
