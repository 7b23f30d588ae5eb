#!/usr/bin/env node
/** The edge: arguments, environment and signals in, an exit status out. The only place that exits. */
import { hostname } from 'node:os';
import { runCommandLine } from './cli/program.ts';

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => stop.abort());
}

const hangups: (() => void)[] = [];
process.on('SIGHUP', () => hangups.forEach((listener) => listener()));

const status = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  hostname: hostname(),
  nodeVersion: process.version,
  writeOut: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  stop: stop.signal,
  onHangup: (listener) => hangups.push(listener),
});
process.exit(status);
