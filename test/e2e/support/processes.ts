/** Real programs, started and ended by their process, never by name. Knows nothing of what they do. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { vi } from 'vitest';
import { Daemon } from '../../acceptance/daemon.ts';

/** Folder of another version of Prometheus, with `usr/bin` below it; empty for the installed one. */
const PROMETHEUS_ROOT = process.env['PROMETHEUS_ROOT'] ?? '';

/** How Prometheus and Alertmanager log their address. */
const LISTENING = /msg="Listening on".* address=(\S+)/;

/** The path of the installed program. Throws if it is missing. */
export function debianProgram(name: string): string {
  const path = `/usr/bin/${name}`;
  const found = /^(prom|am)/.test(name) ? `${PROMETHEUS_ROOT}${path}` : path;
  if (!existsSync(found)) {
    throw new Error(`${found} is missing: .ci/run installs what the end-to-end tests need`);
  }
  return found;
}

/**
 * Starts Prometheus or Alertmanager in a folder of its own, and resolves when its log says that it is ready. Returns
 * its host and port, and what ends it and removes its folder.
 */
export async function startServer(
  path: string,
  args: readonly string[],
  folder: string,
  ready = LISTENING,
) {
  const child = spawn(path, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const daemon = new Daemon(child);
  async function stop(): Promise<void> {
    await daemon.stop();
    rmSync(folder, { recursive: true });
  }
  try {
    await daemon.until(() => ready.test(daemon.stderr) && LISTENING.test(daemon.stderr));
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: LISTENING.exec(daemon.stderr)?.[1] ?? '', stop };
}

interface Outcome {
  readonly status: unknown;
  /** Standard output, standard error, and both. */
  readonly out: string;
  readonly error: string;
  readonly output: string;
}

/** Runs a program to its end; `input` is its standard input. */
export function outcomeOf(
  path: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
  input = '',
): Promise<Outcome> {
  const all = { ...options, env: { ...process.env, ...options.env }, maxBuffer: Infinity };
  return new Promise((resolve) => {
    const child = execFile(path, args, all, (failure, out, error) => {
      const status = failure === null ? 0 : failure.code;
      resolve({ status, out, error, output: out + error });
    });
    // A program may end before it has read its input.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** Runs a program to its end and returns its output. Throws if it fails. */
export async function finished(
  path: string,
  args: readonly string[],
  cwd = process.cwd(),
): Promise<string> {
  const { status, output } = await outcomeOf(path, args, { cwd });
  if (status !== 0) {
    throw new Error(`${path} ${args[0] ?? ''} ended with ${String(status)}:\n${output}`);
  }
  return output;
}

/** Returns the first result that is not falsy. Throws if there is none within a minute and a half. */
export function eventually<T>(attempt: () => T | Promise<T>) {
  return vi.waitUntil(attempt, { timeout: 90_000, interval: 200 });
}
