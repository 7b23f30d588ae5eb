#!/usr/bin/env node
/**
 * Arguments, environment and signals in, an exit status out; the only place that exits. Imports nothing
 * before the version of Node.js is known to be new enough, and uses syntax that old versions parse.
 */
const MIN_NODE_MAJOR = 24;

if (Number(process.versions.node.split('.')[0]) < MIN_NODE_MAJOR) {
  process.stderr.write(
    `library-stats-exporter: needs Node.js ${MIN_NODE_MAJOR} or newer, this is ${process.version}\n`,
  );
  process.exitCode = 1;
} else {
  void main();
}

async function main(): Promise<void> {
  const stop = new AbortController();
  process.on('SIGTERM', () => stop.abort('SIGTERM'));
  process.on('SIGINT', () => stop.abort('SIGINT'));
  // A reader that has gone, as in `… --help | head -1`, is no reason to crash.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});

  const { enableCompileCache } = await import('node:module');
  const { hostname } = await import('node:os');
  // Halves the time of a start. The folder must not be writable by others, because it holds code.
  enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/compiled`);

  // Loading takes longer than anything else here: signals must be handled before it.
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
    errorIsTerminal: process.stderr.isTTY,
    stop: stop.signal,
    onHangup: (listener) => process.on('SIGHUP', listener),
  });
  process.exit(status);
}
