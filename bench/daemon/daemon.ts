/** The daemon as its users start it, with a probe in its event loop, and the service that it polls. */
import { get } from 'node:http';
import { HEAP_FLAGS, Program } from '../processes.ts';
import type { ServiceState } from '../service/request-counter.ts';
import { afternoonZone, temporaryFolder, writeConfiguration } from './configuration.ts';
import type { ConfigurationSettings } from './configuration.ts';
import type { LoopDelay } from './probe.ts';

export interface PolledDaemon {
  readonly daemon: Program;
  readonly service: BenchService;
  readonly url: string;
  /** Writes the configuration again, with changes. */
  readonly configure: (changes: Partial<ConfigurationSettings>) => void;
  stop(): Promise<void>;
}

export interface PolledDaemonOptions {
  readonly customers: number;
  /** By default that of the exporter. */
  readonly maxRequestsPerSecond?: number;
  /** Buildings of each customer, which then is polled by branch. */
  readonly branches?: number;
  /** Milliseconds that each response of the service takes. */
  readonly responseMs?: number;
  /** The day starts in the first minute after this time. */
  readonly dayStartMs?: number;
}

const PROBE = new URL('probe.ts', import.meta.url).href;
export const PROBE_FLAGS = ['--import', PROBE];

export async function startPolledDaemon({
  responseMs,
  dayStartMs,
  ...limits
}: PolledDaemonOptions): Promise<PolledDaemon> {
  const timezone = afternoonZone(Date.now());
  const service = await BenchService.start(timezone, responseMs, limits.branches);
  const folder = temporaryFolder();
  const dayStart = dayStartMs === undefined ? {} : { dayStartsAt: timeOfDay(dayStartMs, timezone) };
  const settings = { serviceUrl: service.url, timezone, ...limits, ...dayStart };
  const file = writeConfiguration(folder.path, settings);
  const daemon = startDaemon(file, folder.path, { nodeFlags: PROBE_FLAGS, ipc: true });
  const url = await daemon.says(/"url":"([^"]+)","msg":"listening"/);
  return {
    daemon,
    service,
    url,
    configure: (changes) => void writeConfiguration(folder.path, { ...settings, ...changes }),
    async stop() {
      await Promise.all([daemon.stop(), service.stop()]);
      folder[Symbol.dispose]();
    },
  };
}

function timeOfDay(atMs: number, timeZone: string): string {
  const time = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  return new Intl.DateTimeFormat('en-GB', time).format(atMs);
}

/** Its address is `address`, and its storage in `folder`. */
export function startDaemon(
  configFile: string,
  folder: string,
  options: { readonly nodeFlags?: readonly string[]; readonly ipc?: boolean } = {},
  address?: string,
): Program {
  return Program.node('../src/main.ts', daemonFlags(configFile, folder, address), {
    ...options,
    nodeFlags: [...HEAP_FLAGS, ...(options.nodeFlags ?? [])],
  });
}

export function daemonFlags(
  configFile: string,
  folder: string,
  address = '127.0.0.1:0',
): readonly string[] {
  return [
    `--config.file=${configFile}`,
    `--web.listen-address=${address}`,
    `--storage.path=${folder}/data`,
    '--web.enable-lifecycle',
  ];
}

export async function loopDelayOf(program: Program): Promise<LoopDelay> {
  return program.ask<LoopDelay>('report');
}

export class BenchService {
  readonly #program: Program;
  readonly url: string;

  private constructor(program: Program, url: string) {
    this.#program = program;
    this.url = url;
  }

  static async start(timezone: string, responseMs = 0, branches = 1): Promise<BenchService> {
    const args = [
      `--timezone=${timezone}`,
      `--response-ms=${responseMs}`,
      `--branches=${branches}`,
    ];
    const program = Program.node('service/main.ts', args);
    return new BenchService(program, await program.says(/^(http\S+)$/m));
  }

  async state(): Promise<ServiceState> {
    return this.#request('state');
  }

  /** Keeps the responses of a piece of time; each is at `/bench/replay?number=` afterwards. */
  async record(): Promise<ServiceState> {
    return this.#request('record');
  }

  async stopRecording(): Promise<ServiceState> {
    return this.#request('stop-recording');
  }

  async stop(): Promise<void> {
    await this.#program.stop();
  }

  async #request(what: string): Promise<ServiceState> {
    const { body } = await fetched(`${this.url}/bench/${what}`);
    return JSON.parse(body.toString()) as ServiceState;
  }
}

/** A GET to its end, the body as it came. */
export async function fetched(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly body: Buffer; readonly ms: number }> {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          resolve({ body: Buffer.concat(chunks), ms: performance.now() - startMs });
        })
        .on('error', reject);
    }).on('error', reject);
  });
}

/** As Prometheus scrapes. */
export async function scrape(url: string): Promise<{ readonly body: Buffer; readonly ms: number }> {
  return fetched(`${url}/metrics`, {
    accept: 'text/plain;version=0.0.4',
    'accept-encoding': 'gzip',
  });
}
