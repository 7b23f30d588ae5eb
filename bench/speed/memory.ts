/** Scrapes and memory beside Debian's pushgateway with the same series as one group. */
import { strict as assert } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { fetched, metricsOf, scrape } from './daemon.ts';
import type { PolledDaemon } from './daemon.ts';
import { medianOf, progress, ratioBar } from './measured.ts';
import type { Measured } from './measured.ts';
import { Program } from './processes.ts';

const ROUNDS = 8;
/** Between two scrapes of the daemon: meanwhile, an eighth of its customers changes. */
const INTERVAL_MS = 7_500;

interface Round {
  readonly gzip: number;
  readonly plain: number;
  readonly mib: number;
}

/** `of` says of which customers. */
export async function measureScrapesAndMemory(
  { daemon, url }: PolledDaemon,
  of: string,
): Promise<readonly Measured[]> {
  const series = linesOfCustomers(await metricsOf(url));
  const pushgateway = await startPushgateway(`${series.join('\n')}\n`);
  try {
    assert.equal(linesOfCustomers(await metricsOf(pushgateway.url)).length, series.length);
    const zipped = gunzipSync((await scrape(url)).body).toString();
    assert.equal(linesOfCustomers(zipped).length, series.length);
    const rounds: (readonly Round[])[] = [];
    while (rounds.length < ROUNDS) {
      const own = await scrapeTwice(url, daemon);
      const peer = await scrapeTwice(pushgateway.url, pushgateway.program);
      rounds.push([own, peer]);
      progress(
        `scrape ${rounds.length}/${ROUNDS}: ${own.gzip.toFixed(0)} ms, ${own.mib.toFixed(0)} MiB`,
      );
    }
    // The first ones are for warming up.
    const measured = rounds.slice(3);
    function both(key: keyof Round): readonly number[] {
      return [0, 1].map((server) => medianOf(measured.map((round) => round[server]?.[key] ?? NaN)));
    }
    return [
      ratioBar('scrape, gzip: time, pushgateway', both('gzip'), '.1 ms', 0.1),
      ratioBar('scrape, plain: time, pushgateway', both('plain'), '.1 ms', 0.1),
      ratioBar(`Memory (RSS) of ${of}; peer: pushgateway`, both('mib'), ' MiB', 1.3),
    ];
  } finally {
    await pushgateway.program.stop();
  }
}

async function scrapeTwice(url: string, program: Program): Promise<Round> {
  await sleep(INTERVAL_MS);
  const plain = (await fetched(`${url}/metrics`)).ms;
  await sleep(INTERVAL_MS);
  const gzip = (await scrape(url)).ms;
  return { gzip, plain, mib: program.rssMiB() };
}

/** Returns the lines of the customers' families: servers have metrics of their own. */
function linesOfCustomers(text: string): readonly string[] {
  return text.split('\n').filter((line) => /^(?:# \w+ )?library_(?!exporter_)/.test(line));
}

/** Starts it, and pushes once, which is the least that it can hold. Throws an Error where it is not installed. */
async function startPushgateway(text: string) {
  const program = new Program('prometheus-pushgateway', ['--web.listen-address=127.0.0.1:0']);
  const url = `http://${await program.says(/"Listening on".* address=(\S+)/)}`;
  const content = Buffer.from(text);
  await fetched(`${url}/metrics/job/library`, { method: 'PUT', content });
  return { program, url };
}
