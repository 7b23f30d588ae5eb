/** Runs a command line in this process, records its output, and can stop it. */
import { runCommandLine } from '../../src/cli/program.ts';
import type { ExitStatus, Io } from '../../src/cli/io.ts';

interface Ran {
  readonly status: ExitStatus;
  readonly out: string;
  readonly err: string;
}

export const HOSTNAME = 'exporter-2.exporters.example.org';

export class Terminal implements Io {
  readonly env: Record<string, string> = {};
  readonly hostname = HOSTNAME;
  readonly nodeVersion = process.version;
  readonly hangups: (() => void)[] = [];
  errorIsTerminal = false;
  out = '';
  err = '';
  readonly #stop = new AbortController();

  readonly writeOut = (text: string): void => {
    this.out += text;
  };
  readonly deliverOut = (text: string): Promise<void> => {
    this.out += text;
    return Promise.resolve();
  };
  readonly writeError = (text: string): void => {
    this.err += text;
  };
  readonly onHangup = (listener: () => void): void => {
    this.hangups.push(listener);
  };

  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  terminate(): void {
    this.#stop.abort('SIGTERM');
  }

  async run(...args: readonly string[]): Promise<Ran> {
    const status = await runCommandLine(args, this);
    return { status, out: this.out, err: this.err };
  }

  /** The address of the daemon once it listens. */
  get url(): string | undefined {
    return /"url":"([^"]+)","msg":"listening"/.exec(this.err)?.[1];
  }
}

export async function ran(...args: readonly string[]): Promise<Ran> {
  return new Terminal().run(...args);
}
