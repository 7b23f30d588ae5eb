/** The daemon as its users start it, with a probe in its event loop, and the service that it polls. */
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
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

  /** `record` keeps the responses of a piece of time; each is at `/bench/replay?number=` afterwards. */
  async state(order: 'state' | 'record' | 'stop-recording' = 'state'): Promise<ServiceState> {
    const { body } = await fetched(`${this.url}/bench/${order}`);
    return JSON.parse(body.toString()) as ServiceState;
  }

  async stop(): Promise<void> {
    await this.#program.stop();
  }
}

interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly content?: Buffer;
}

/** A request to its end, the body as it came. Throws unless the status is 200. */
export async function fetched(
  url: string,
  { method = 'GET', headers = {}, content }: RequestOptions = {},
): Promise<{ readonly body: Buffer; readonly ms: number }> {
  const startMs = performance.now();
  const sent = request(url, { method, headers }).end(content);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
  }
  const body = Buffer.concat(chunks);
  if (response.statusCode !== 200) {
    throw new Error(`${method} ${url} ended with status ${response.statusCode}: ${String(body)}`);
  }
  return { body, ms: performance.now() - startMs };
}

/** As Prometheus scrapes. */
export async function scrape(url: string): Promise<{ readonly body: Buffer; readonly ms: number }> {
  const accept = 'text/plain;version=0.0.4';
  return fetched(`${url}/metrics`, { headers: { accept, 'accept-encoding': 'gzip' } });
}

/** Returns the exposition as text. */
export async function metricsOf(url: string): Promise<string> {
  return (await fetched(`${url}/metrics`)).body.toString();
}

/** Returns how many series a family has. */
export function seriesOf(text: string, family: string): number {
  return text.split(`\n${family}{`).length - 1;
}
