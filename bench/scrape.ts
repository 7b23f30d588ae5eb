/**
 * What a scrape of 10,000 customers costs: ours, Debian's pushgateway with the same series as one
 * group, and a plain registry of prom-client, in one run and in turn. Ours is polled meanwhile, all
 * customers once a minute in their order, so that a quarter has changed from scrape to scrape.
 */
import { systemClock } from '../src/base/clock.ts';
import { installPushgateway } from './memory/pushgateway.ts';
import type { Measured } from './measured.ts';
import { assertSame, ofCustomers } from './scrape/samples.ts';
import { command, end, scrape, startProgram, startPushgateway, textOf } from './scrape/servers.ts';
import type { Scraped, Server } from './scrape/servers.ts';

const SCRAPE_EVERY_MS = 15_000;
const ROUNDS = 5;
/** Intervals in each round; each as between two scrapes, without the time in between. */
const INTERVALS = 8;
/** So that everything is compiled, and every heap as large as it gets. */
const WARM_UP = 6;
const WARM_UP_OF_PEERS = 3;

interface Servers {
  readonly ours: Server;
  readonly pushgateway: Server;
  readonly promClient: Server;
}

interface Round {
  /** Ours, of a scrape after a quarter of the customers was polled, which it renders; the mean. */
  readonly intervalCpuMs: number;
  readonly gzip: Scraped;
  readonly plain: Scraped;
  readonly pushgatewayGzip: Scraped;
  readonly pushgatewayPlain: Scraped;
  readonly promClient: Scraped;
}

/** The bars of scraping. Takes two minutes, and throws an Error if the servers do not say the same. */
export async function measureScrape(
  progress: (line: string) => void,
): Promise<readonly Measured[]> {
  installPushgateway(progress);
  const started: Server[] = [];
  async function start(starting: Promise<Server>): Promise<Server> {
    const server = await starting;
    started.push(server);
    return server;
  }
  try {
    const ours = await start(startProgram('ours.ts'));
    await command(ours, 'stop polling');
    const series = await checkedAnswer('ours', ours);
    await command(ours, 'start polling');
    progress(`scrape: ${countOf(series)} series, ${(series.length / 1e6).toFixed(1)} MB as text`);
    const pushgateway = await start(startPushgateway(series));
    const promClient = await start(startProgram('prom-client.ts', { message: series }));
    const servers = { ours, pushgateway, promClient };
    await checkedAnswer('pushgateway', pushgateway, series);
    await checkedAnswer('prom-client', promClient, series);
    await warmUp(servers);
    progress('scrape: all responses have the same samples, all servers are warm');
    const rounds = await runRounds(servers, progress);
    await command(ours, 'stop polling');
    await checkedAnswer('ours', ours);
    return rowsOf(rounds);
  } finally {
    started.forEach(end);
  }
}

/** The customers' samples, the same in both encodings; those of `series`, if it is given. */
async function checkedAnswer(name: string, server: Server, series?: string): Promise<string> {
  const plain = ofCustomers(await textOf(server, 'identity'));
  assertSame(`${name}, gzip`, plain, ofCustomers(await textOf(server, 'gzip')));
  assertSame(name, series ?? plain, plain);
  return plain;
}

async function warmUp({ ours, pushgateway, promClient }: Servers): Promise<void> {
  for (let i = 0; i < WARM_UP; i += 1) {
    await command(ours, 'poll everybody');
    await scrape(ours, 'gzip');
    await scrape(ours, 'identity');
  }
  for (let i = 0; i < WARM_UP_OF_PEERS; i += 1) {
    await scrape(pushgateway, 'gzip');
    await scrape(pushgateway, 'identity');
    await scrape(promClient, 'identity');
  }
}

/** The first round is warming up, too: it is the first one at this pace. */
async function runRounds(
  servers: Servers,
  progress: (line: string) => void,
): Promise<readonly Round[]> {
  const rounds: Round[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    rounds.push(await runRound(servers));
    progress(`scrape: round ${round} of ${ROUNDS}: ${wordsOf(rounds.slice(-1))}`);
  }
  return rounds.slice(1);
}

async function runRound({ ours, pushgateway, promClient }: Servers): Promise<Round> {
  const startMs = systemClock.monotonicMs();
  function until(part: number): Promise<void> {
    return systemClock.sleep(startMs + part * SCRAPE_EVERY_MS - systemClock.monotonicMs());
  }
  const pushgatewayGzip = await scrape(pushgateway, 'gzip');
  const pushgatewayPlain = await scrape(pushgateway, 'identity');
  const scrapedPromClient = await scrape(promClient, 'identity');
  const intervalCpuMs = await cpuOfInterval(ours);
  await until(0.5);
  const plain = await scrape(ours, 'identity');
  await until(1);
  const gzip = await scrape(ours, 'gzip');
  return {
    intervalCpuMs,
    gzip,
    plain,
    pushgatewayGzip,
    pushgatewayPlain,
    promClient: scrapedPromClient,
  };
}

async function cpuOfInterval(ours: Server): Promise<number> {
  let cpuMs = 0;
  await command(ours, 'stop polling');
  for (let i = 0; i < INTERVALS; i += 1) {
    await command(ours, 'poll a quarter');
    cpuMs += (await scrape(ours, 'gzip')).cpuMs;
  }
  await command(ours, 'start polling');
  return cpuMs / INTERVALS;
}

function rowsOf(rounds: readonly Round[]): readonly Measured[] {
  const cpuMs = rounds.reduce((sum, { intervalCpuMs }) => sum + intervalCpuMs, 0) / rounds.length;
  const gzipMs = median(rounds, ({ gzip }) => gzip.wallMs);
  const plainMs = median(rounds, ({ plain }) => plain.wallMs);
  const pushgatewayMs = median(rounds, ({ pushgatewayGzip }) => pushgatewayGzip.wallMs);
  const pushgatewayPlainMs = median(rounds, ({ pushgatewayPlain }) => pushgatewayPlain.wallMs);
  const pushgatewayCpuMs = median(rounds, ({ pushgatewayGzip }) => pushgatewayGzip.cpuMs);
  const promClientMs = median(rounds, ({ promClient }) => promClient.wallMs);
  return [
    rowOf('scrape, gzip: time, pushgateway', gzipMs, pushgatewayMs, 1 / 10),
    rowOf('scrape, gzip: time, prom-client (plain)', gzipMs, promClientMs, 1 / 20),
    rowOf(
      'scrape, gzip: CPU, a quarter of the customers rendered; pushgateway',
      cpuMs,
      pushgatewayCpuMs,
      1 / 4,
    ),
    rowOf('scrape, plain: time, pushgateway', plainMs, pushgatewayPlainMs, 1 / 10),
  ];
}

function rowOf(bar: string, oursMs: number, peerMs: number, limit: number): Measured {
  const [ours, peer] = [oursMs, peerMs].map((ms) => `${ms.toFixed(1)} ms`);
  return { bar, ours: ours ?? '', peer: peer ?? '', value: oursMs / peerMs, limit };
}

function median(rounds: readonly Round[], of: (round: Round) => number): number {
  return rounds.map(of).toSorted((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? NaN;
}

function wordsOf(rounds: readonly Round[]): string {
  return rowsOf(rounds)
    .map(({ ours, peer }) => `${ours} / ${peer}`)
    .join(', ');
}

function countOf(series: string): number {
  return series.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
}

if (import.meta.main) {
  const rows = await measureScrape((line) => process.stderr.write(`${line}\n`));
  for (const { bar, ours, peer, value, limit } of rows) {
    const verdict = value <= limit ? 'met' : 'MISSED';
    process.stdout.write(
      `${bar}: ${ours} / ${peer} = ${value.toFixed(3)}, at most ${limit}: ${verdict}\n`,
    );
  }
}
