/** The daemon as its users start it, with a probe in its event loop, and the service that it polls. */
import { once } from 'node:events';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { barOf, medianOf, progress } from '../table.ts';
import type { Measured } from '../table.ts';
import { HEAP_FLAGS, Program } from './processes.ts';

/** Of many customers that show every family of the contract but the breakdowns. */
interface ConfigurationSettings {
  readonly customers: number;
  readonly serviceUrl: string;
  readonly timezone: string;
  /** By default that of the exporter. */
  readonly maxRequestsPerSecond?: number;
  readonly smallestCapacity?: number;
  /** Buildings of each customer, which then is polled by branch. */
  readonly branches?: number;
}

const HOURS = ['Mo-Fr 08:00-20:00; Sa 10:00-16:00; PH off', 'Tu-Fr 09:00-12:00,14:00-18:00'];

/** A folder that is gone when it is disposed of. */
export function temporaryFolder() {
  return mkdtempDisposableSync(join(tmpdir(), 'library-bench-'));
}

/** Writes the configuration into a folder, and returns the file. */
export function writeConfiguration(folder: string, settings: ConfigurationSettings): string {
  const { customers, serviceUrl, timezone, maxRequestsPerSecond } = settings;
  const service = {
    base_url: serviceUrl,
    auth_url: serviceUrl,
    max_requests_per_second: maxRequestsPerSecond,
  };
  // JSON is YAML. A customer a line, as a script would write them.
  const lines = [
    `service: ${JSON.stringify(service)}`,
    `defaults: ${JSON.stringify({ timezone, day_starts_at: '04:00' })}`,
    'customers:',
    ...Array.from({ length: customers }, (_, i) => `- ${JSON.stringify(customer(i, settings))}`),
  ];
  const file = join(folder, 'config.yaml');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

function customer(i: number, { smallestCapacity = 100, branches = 0 }: ConfigurationSettings) {
  const number = String(i).padStart(5, '0');
  const capacity = smallestCapacity + (i % 9) * 50;
  const named = Array.from({ length: branches }, (_, at) => [
    at + 1,
    { name: `Branch ${at + 1}`, capacity },
  ]);
  return {
    name: `library-${number}`,
    client_id: `client-${number}`,
    client_secret: `secret-${number}`,
    ...(branches === 0
      ? { capacity }
      : { breakdowns: ['branch'], branches: Object.fromEntries(named) }),
    opening_hours: HOURS[i % HOURS.length],
    holidays: 'dk',
    labels: { region: 'north' },
  };
}

/** Returns a zone where it is about two in the afternoon: the day has ten hours behind it, whenever the bench runs. */
export function afternoonZone(): string {
  const hours = 14 - new Date().getUTCHours();
  // These names have the opposite sign.
  return `Etc/GMT${hours < 0 ? '+' : '-'}${Math.abs(hours)}`;
}

/** Of one wait for values. */
const MAX_SECONDS = 1_800;

export const PROBE_FLAGS = ['--import', new URL('probe.ts', import.meta.url).href];

export type PolledDaemon = Awaited<ReturnType<typeof startPolledDaemon>>;

/** Starts the daemon and its service, of which each response takes `responseMs`. */
export async function startPolledDaemon({
  responseMs = 0,
  ...limits
}: Pick<ConfigurationSettings, 'customers' | 'maxRequestsPerSecond' | 'branches'> & {
  readonly responseMs?: number;
}) {
  const startMs = performance.now();
  const timezone = afternoonZone();
  const service = Program.node('service.ts', [
    timezone,
    `${responseMs}`,
    `${limits.branches ?? 1}`,
  ]);
  const serviceUrl = await service.says(/^(http\S+)$/m);
  const folder = temporaryFolder();
  const settings = { serviceUrl, timezone, ...limits };
  const file = writeConfiguration(folder.path, settings);
  const daemon = startDaemon(file, folder.path, PROBE_FLAGS);
  const url = await daemon.says(/"url":"([^"]+)","msg":"listening"/);
  return {
    daemon,
    startMs,
    url,
    serviceUrl,
    /** Writes the configuration again, with changes. */
    configure: (changes: Partial<ConfigurationSettings>): void => {
      writeConfiguration(folder.path, { ...settings, ...changes });
    },
    /** Returns the number of all requests so far, tokens included. */
    requests: async (): Promise<number> => {
      return Number((await fetched(`${serviceUrl}/bench/requests`)).body);
    },
    stop: async (): Promise<void> => {
      await Promise.all([daemon.stop(), service.stop()]);
      folder[Symbol.dispose]();
    },
  };
}

/** Returns the seconds from the start until each of some families has so many series; Infinity if that takes too long. */
export async function secondsUntilAll(
  { startMs, url }: PolledDaemon,
  families: readonly string[],
  series: number,
  everyMs: number,
): Promise<number> {
  for (let seconds = 0; seconds < MAX_SECONDS;) {
    await sleep(everyMs);
    const text = await metricsOf(url);
    seconds = (performance.now() - startMs) / 1_000;
    const known = Math.min(...families.map((family) => text.split(`\n${family}{`).length - 1));
    progress(`${known} of ${series} with ${families[0]} after ${seconds.toFixed(1)} s`);
    if (known === series) {
      return seconds;
    }
  }
  return Infinity;
}

/** Its storage is in `folder`. */
export function startDaemon(
  configFile: string,
  folder: string,
  nodeFlags: readonly string[] = [],
): Program {
  const flags = [
    `--config.file=${configFile}`,
    '--web.listen-address=127.0.0.1:0',
    `--storage.path=${folder}/data`,
    '--web.enable-lifecycle',
  ];
  return Program.node('../../src/main.ts', flags, [...HEAP_FLAGS, ...nodeFlags]);
}

/** Returns the longest delay of the event loop since the call before. */
export async function longestDelayMs(program: Program): Promise<number> {
  return program.ask<number>('report');
}

/** A request to its end, the body as it came. Throws unless the status is 200. */
export async function fetched(
  url: string,
  { method = 'GET', headers, content }: RequestOptions & { readonly content?: Buffer } = {},
): Promise<{ readonly body: Buffer; readonly ms: number }> {
  const startMs = performance.now();
  const sent = request(url, { method, headers: headers ?? {} }).end(content);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = Buffer.concat(await response.toArray());
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

export const ROUND_SECONDS = 30;
const SCRAPE_EVERY_SECONDS = 15;

/** What a daemon costs in a round, while it is polling and scraped. */
export interface Load {
  readonly scrapesMs: readonly number[];
  /** Longest delay of the event loop since the round before. */
  readonly longestMs: number;
  readonly cpuMs: number;
  /** Per cent of a core. */
  readonly share: number;
  readonly requests: number;
}

/** Scrapes at the usual pace for a round. */
export async function loadOf({ daemon, requests, url }: PolledDaemon): Promise<Load> {
  const before = await requests();
  const cpuBeforeMs = daemon.cpuMs();
  const startMs = performance.now();
  const scrapesMs: number[] = [];
  for (let seconds = 0; seconds < ROUND_SECONDS;) {
    scrapesMs.push((await scrape(url)).ms);
    seconds += SCRAPE_EVERY_SECONDS;
    await sleep(startMs + seconds * 1_000 - performance.now());
  }
  const cpuMs = daemon.cpuMs() - cpuBeforeMs;
  const share = (100 * cpuMs) / (performance.now() - startMs);
  const longestMs = await longestDelayMs(daemon);
  return { scrapesMs, longestMs, cpuMs, share, requests: (await requests()) - before };
}

/** Returns the bars of the event loop and of the share of a core. `of` says of which customers, and when. */
export function loadRows(
  rounds: readonly Load[],
  of: string,
  limits: { readonly delayMs: number; readonly share: number },
): readonly Measured[] {
  const title = `${of}, median of ${rounds.length} runs of ${ROUND_SECONDS} s`;
  const [delayMs, share] = [
    medianOf(rounds.map((round) => round.longestMs)),
    medianOf(rounds.map((round) => round.share)),
  ];
  return [
    barOf(`Longest delay, ${title}`, delayMs, '.1 ms', limits.delayMs),
    barOf(`Share of a core, ${title}`, share, '.1 %', limits.share),
  ];
}
