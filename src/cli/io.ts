/** Interface of a command to its process, and the version of the program. */
import { once } from 'node:events';
import packageJson from '../../package.json' with { type: 'json' };

export const VERSION = packageJson.version;

/** Returns what library_exporter_build_info and --version show. */
export function buildOf({ env, nodeVersion }: Pick<Io, 'env' | 'nodeVersion'>) {
  const revision = env['LIBRARY_STATS_EXPORTER_REVISION'] ?? 'unknown';
  return { version: VERSION, revision, nodeVersion };
}

/** Text before a command's name: in a clone the sources run, installed they are compiled. */
export const PROGRAM = import.meta.filename.endsWith('.ts')
  ? 'npm start --silent --'
  : 'library-stats-exporter';

/** Part of the process that commands may use, made by main.ts. */
export interface Io {
  readonly env: NodeJS.ProcessEnv;
  readonly hostname: string;
  readonly nodeVersion: string;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /**
   * Writes a part of a long result and resolves when there is room for the next. Rejects if it cannot
   * be written: with the code `EPIPE` if its reader has gone.
   */
  readonly deliverOut: (text: string) => Promise<void>;
  readonly errorIsTerminal: boolean;
  /** Aborts at SIGTERM and SIGINT, with the name of the signal as its reason. */
  readonly stop: AbortSignal;
  /** Calls back at every SIGHUP, and once for those that arrived before. Only `run` and `demo` call it. */
  readonly onHangup: (listener: () => void) => void;
}

/** Resolves at SIGTERM and SIGINT. */
export async function untilStopped({ stop }: Pick<Io, 'stop'>): Promise<void> {
  if (!stop.aborted) {
    await once(stop, 'abort');
  }
}

/** A command was stopped before its end. Exit status 130 after SIGINT, 143 after SIGTERM. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}

/** 2 is for bad usage or configuration, 1 for any other failure. */
export type ExitStatus = 0 | 1 | 2 | 130 | 143;
