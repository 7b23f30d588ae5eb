/**
 * What a scrape of 10,000 customers costs: ours, Debian's pushgateway with the same series as one
 * group, and a plain registry of prom-client, in one run and in turn. Ours is polled meanwhile, all
 * customers once a minute in their order, so that a quarter has changed from scrape to scrape.
 */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { fetched } from './daemon/daemon.ts';
import { ratioBar } from './measured.ts';
import type { Measured, Progress } from './measured.ts';
import { installPushgateway, push, startPushgateway } from './memory/pushgateway.ts';
import { medianOf, Program, wait } from './processes.ts';
import { assertSame, ofCustomers } from './scrape/samples.ts';

const SCRAPE_EVERY_MS = 15_000;
const ROUNDS = 5;
/** Intervals in each round; each as between two scrapes, without the time in between. */
const INTERVALS = 8;
/** So that everything is compiled, and every heap as large as it gets. */
const WARM_UP = 6;
const WARM_UP_OF_PEERS = 3;
/** A server still tidies up when the last byte has been read. */
const CALM_MS = 120;
const READ_INTO = Buffer.alloc(1_024 * 1_024);

interface Server {
  readonly program: Program;
  readonly url: string;
}

interface Scraped {
  readonly wallMs: number;
  /** Processor time of all the server's threads, from just before the scrape until it has calmed down. */
  readonly cpuMs: number;
}

type Encoding = 'gzip' | 'identity';

/** The bars of scraping. Takes two minutes, and throws an Error if the servers do not say the same. */
export async function measureScrape(progress: Progress): Promise<readonly Measured[]> {
  installPushgateway(progress);
  const programs = ['ours', 'prom-client'].map((name) =>
    Program.node(`scrape/${name}.ts`, [], { ipc: true }),
  );
  const [program, registry] = programs as [Program, Program];
  try {
    const ours = { program, url: await program.says(/^(http\S+)$/m) };
    await program.ask('stop polling');
    const series = await checkedText('ours', ours);
    await program.ask('start polling');
    progress(`scrape: ${(series.length / 1e6).toFixed(1)} MB as text`);
    const pushgateway = await startPushgateway();
    programs.push(pushgateway.program);
    await push(pushgateway, Buffer.from(series));
    const promClient = { program: registry, url: await registry.ask<string>(series) };
    await checkedText('pushgateway', pushgateway, series);
    await checkedText('prom-client', promClient, series);
    await warmUp(ours, [pushgateway, promClient]);
    progress('scrape: all responses have the same samples, all servers are warm');
    const rounds: Round[] = [];
    // The first round is warming up, too: it is the first one at this pace.
    for (let round = 0; round <= ROUNDS; round += 1) {
      rounds.push(await runRound(ours, pushgateway, promClient));
      const words = rowsOf(rounds.slice(-1)).map((row) => `${row.ours} / ${row.peer}`);
      progress(`scrape: round ${round} of ${ROUNDS}: ${words.join(', ')}`);
    }
    await program.ask('stop polling');
    await checkedText('ours', ours);
    return rowsOf(rounds.slice(1));
  } finally {
    await Promise.all(programs.map((one) => one.stop()));
  }
}

/** The customers' samples, the same in both encodings; those of `series`, if it is given. */
async function checkedText(name: string, server: Server, series?: string): Promise<string> {
  const [plain = '', gzip = ''] = await Promise.all(
    ['identity', 'gzip'].map(async (encoding) => {
      const headers = { 'accept-encoding': encoding };
      const { body } = await fetched(`${server.url}/metrics`, { headers });
      // Whoever cannot compress sends plain text.
      return ofCustomers((body[0] === 0x1f ? gunzipSync(body) : body).toString());
    }),
  );
  assertSame(`${name}, gzip`, plain, gzip);
  assertSame(name, series ?? plain, plain);
  return plain;
}

async function warmUp(ours: Server, peers: readonly Server[]): Promise<void> {
  for (let i = 0; i < WARM_UP; i += 1) {
    await ours.program.ask('poll everybody');
    await scrape(ours, 'gzip');
    await scrape(ours, 'identity');
  }
  for (let i = 0; i < WARM_UP_OF_PEERS; i += 1) {
    for (const peer of peers) {
      await scrape(peer, 'gzip');
      await scrape(peer, 'identity');
    }
  }
}

type Round = Awaited<ReturnType<typeof runRound>>;

async function runRound(ours: Server, pushgateway: Server, promClient: Server) {
  const startMs = performance.now();
  const peers = {
    pushgatewayGzip: await scrape(pushgateway, 'gzip'),
    pushgatewayPlain: await scrape(pushgateway, 'identity'),
    promClient: await scrape(promClient, 'identity'),
  };
  // Of a scrape after a quarter of the customers was polled, which it renders; the mean.
  let cpuMs = 0;
  await ours.program.ask('stop polling');
  for (let i = 0; i < INTERVALS; i += 1) {
    await ours.program.ask('poll a quarter');
    cpuMs += (await scrape(ours, 'gzip')).cpuMs / INTERVALS;
  }
  await ours.program.ask('start polling');
  await wait(startMs + SCRAPE_EVERY_MS / 2 - performance.now());
  const plain = await scrape(ours, 'identity');
  await wait(startMs + SCRAPE_EVERY_MS - performance.now());
  return { ...peers, interval: { cpuMs, wallMs: NaN }, plain, gzip: await scrape(ours, 'gzip') };
}

function rowsOf(rounds: readonly Round[]): readonly Measured[] {
  function both(a: keyof Round, b: keyof Round, of: keyof Scraped): readonly number[] {
    return [a, b].map((name) => medianOf(rounds.map((round) => round[name][of])));
  }
  const cpu = 'scrape, gzip: CPU, a quarter of the customers rendered; pushgateway';
  return [
    ['scrape, gzip: time, pushgateway', both('gzip', 'pushgatewayGzip', 'wallMs'), 0.1] as const,
    [
      'scrape, gzip: time, prom-client (plain)',
      both('gzip', 'promClient', 'wallMs'),
      0.05,
    ] as const,
    [cpu, both('interval', 'pushgatewayGzip', 'cpuMs'), 0.25] as const,
    ['scrape, plain: time, pushgateway', both('plain', 'pushgatewayPlain', 'wallMs'), 0.1] as const,
  ].map(([bar, values, limit]) => ratioBar(bar, values, '.1 ms', limit));
}

async function scrape({ program, url }: Server, encoding: Encoding): Promise<Scraped> {
  const beforeMs = program.cpuMs();
  const startMs = performance.now();
  await readThrough(new URL(`${url}/metrics`), encoding);
  const wallMs = performance.now() - startMs;
  await wait(CALM_MS);
  return { wallMs, cpuMs: program.cpuMs() - beforeMs };
}

/**
 * Reads a whole response and keeps nothing of it. Node's own client takes three times as long over
 * 18 MB as our server, and what it takes is no server's.
 */
async function readThrough({ hostname, port, host, pathname }: URL, encoding: Encoding) {
  let head = '';
  function callback(bytes: number): boolean {
    head ||= READ_INTO.toString('latin1', 0, Math.min(bytes, 64));
    return true;
  }
  const onread = { buffer: READ_INTO, callback };
  const socket = connect({ host: hostname, port: Number(port), onread });
  const ended = once(socket, 'end');
  const headers = `Host: ${host}\r\nAccept-Encoding: ${encoding}\r\nConnection: close\r\n\r\n`;
  socket.write(`GET ${pathname} HTTP/1.1\r\n${headers}`);
  await ended;
  socket.destroy();
  assert.match(head, /^HTTP\/1\.1 200 /);
}
