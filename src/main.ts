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
  // Loading takes longer than anything else here: signals are handled before it.
  const args = process.argv.slice(2);
  const onHangup = reloads(args) ? handleHangups() : () => {};
  const stop = new AbortController();
  process.on('SIGTERM', () => stop.abort('SIGTERM'));
  process.on('SIGINT', () => stop.abort('SIGINT'));
  // A reader that has gone, as in `… --help | head -1`, is no reason to crash.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});

  const { limitHeap } = await import('./v8-flags.ts');
  limitHeap();
  const { mkdir } = await import('node:fs/promises');
  const { enableCompileCache } = await import('node:module');
  const { hostname } = await import('node:os');
  // Halves the time of a start. The folder must not be writable by others, because it holds code.
  const cache = `${import.meta.dirname}/../node_modules/.cache/compiled`;
  await mkdir(cache, { recursive: true, mode: 0o700 }).catch(() => {});
  enableCompileCache(cache);

  const { runCommandLine } = await import('./cli/program.ts');
  const status = await runCommandLine(args, {
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
    onHangup,
  });
  process.exit(status);
}

/** Whether the command is `run`, the default, or `demo`. Others end at SIGHUP. */
function reloads([first = '']: readonly string[]): boolean {
  return first === '' || first.startsWith('-') || first === 'run' || first === 'demo';
}

/** Handles SIGHUP. One that arrives before the returned function is called is for its listener. */
function handleHangups(): (listener: () => void) => void {
  let notify: (() => void) | undefined;
  let isPending = false;
  process.on('SIGHUP', () => {
    isPending = true;
    notify?.();
  });
  return (listener) => {
    notify = listener;
    if (isPending) {
      listener();
    }
  };
}
