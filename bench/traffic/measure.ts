/**
 * Ten thousand customers polled over HTTP by the daemon as it is started: its first sweep, its event
 * loop, and its processor time beside that of a bare loop. Two thousand: its event loop.
 */
import {
  loopDelayOf,
  metricsOf,
  PROBE_FLAGS,
  seriesOf,
  startPolledDaemon,
} from '../daemon/daemon.ts';
import type { PolledDaemon } from '../daemon/daemon.ts';
import { loadOf, ROUND_SECONDS, shareOf } from '../daemon/load.ts';
import type { Load } from '../daemon/load.ts';
import { barOf, ratioBar } from '../measured.ts';
import type { Measured, Progress } from '../measured.ts';
import { medianOf, Program, wait } from '../processes.ts';

const CUSTOMERS = 10_000;
const FEWER_CUSTOMERS = 2_000;
const CUSTOMERS_OF_FIRST_MINUTE = 4_000;
const MAX_REQUESTS_PER_SECOND = 1_000;
const ROUNDS = 5;

interface Round extends Load {
  /** Of the bare loop, a request. */
  readonly bareMs: number;
}

/** Each round takes so many seconds: ten minutes with `--full`, as the bars themselves say. */
export async function measureTraffic(
  progress: Progress,
  seconds = ROUND_SECONDS,
): Promise<readonly Measured[]> {
  const polled = await start(CUSTOMERS);
  try {
    const sweep = await measureSweep(polled, CUSTOMERS, progress);
    const skippedBefore = await skippedPolls(polled);
    const firstHour = await measureRounds(polled, seconds, progress);
    await untilPastsAreRead(polled, progress);
    const atRest = await measureRounds(polled, seconds, progress);
    const skipped = (await skippedPolls(polled)) - skippedBefore;
    progress(`traffic: ${skipped} skipped, ${polled.daemon.rssMiB().toFixed(0)} MiB`);
    return [
      ...sweep,
      ...rowsOf(firstHour, seconds, 'while pasts are read', 2),
      ...rowsOf(atRest, seconds, 'at rest', 1.5),
      barOf('Skipped polls of all these', skipped, '', 0),
    ];
  } finally {
    await polled.stop();
  }
}

async function start(customers: number): Promise<PolledDaemon> {
  return startPolledDaemon({ customers, maxRequestsPerSecond: MAX_REQUESTS_PER_SECOND });
}

/** The event loop alone, with a fifth of the customers. */
export async function measureDelay(progress: Progress): Promise<readonly Measured[]> {
  const polled = await start(FEWER_CUSTOMERS);
  try {
    await measureSweep(polled, FEWER_CUSTOMERS, progress);
    const rounds: Load[] = [];
    for (let i = 1; i <= ROUNDS; i += 1) {
      const load = await loadOf(polled, ROUND_SECONDS);
      rounds.push(load);
      progress(`traffic ${i}/${ROUNDS}: event loop ${load.longestMs.toFixed(1)} ms`);
    }
    return [delayRow(rounds, ROUND_SECONDS, FEWER_CUSTOMERS, 'while pasts are read', 25)];
  } finally {
    await polled.stop();
  }
}

/** The pasts of people, which otherwise take an hour. */
async function untilPastsAreRead({ daemon, url }: PolledDaemon, progress: Progress): Promise<void> {
  await daemon.ask('hurry');
  for (let read = 0; read < CUSTOMERS;) {
    await wait(10_000);
    read = seriesOf(await metricsOf(url), 'library_people_entered_usual_today');
    progress(`pasts: ${read} of ${CUSTOMERS}`);
  }
}

/** The event loop from the first connection on, while baselines are read as fast as the limit lets it. */
export async function measureFirstMinute(progress: Progress): Promise<readonly Measured[]> {
  const polled = await start(CUSTOMERS_OF_FIRST_MINUTE);
  try {
    await loopDelayOf(polled.daemon);
    await wait(60_000);
    const { longestMs } = await loopDelayOf(polled.daemon);
    progress(`first minute: event loop ${longestMs.toFixed(0)} ms`);
    const bar = `Longest delay in the first minute of ${CUSTOMERS_OF_FIRST_MINUTE} customers`;
    return [barOf(bar, longestMs, ' ms', 150)];
  } finally {
    await polled.stop();
  }
}

async function measureSweep(
  { service, daemon }: PolledDaemon,
  customers: number,
  progress: Progress,
): Promise<readonly Measured[]> {
  let state = await service.state();
  for (let i = 1; state.baselines < 2 * customers; i += 1) {
    await wait(200);
    state = await service.state();
    if (i % 50 === 0) {
      progress(`first baselines: ${state.baselines} of ${2 * customers} streams`);
    }
  }
  const seconds = (state.lastBaselineMs - state.firstRequestMs) / 1_000;
  const requests = state.requests + state.tokens;
  const leastSeconds = requests / MAX_REQUESTS_PER_SECOND;
  const { longestMs } = await loopDelayOf(daemon);
  progress(
    `first baselines: ${seconds.toFixed(1)} s for ${requests} requests, ` +
      `event loop ${longestMs.toFixed(0)} ms at the longest since the start`,
  );
  const bar = `First sweep of ${customers} customers, as fast as the limit on requests lets it`;
  const sweep = ratioBar(bar, [seconds, leastSeconds], '.1 s', 1.1);
  const most = state.mostRequestsOfABaseline;
  return [
    { ...sweep, peer: `${sweep.peer} for ${requests} requests at ${MAX_REQUESTS_PER_SECOND}/s` },
    barOf('Requests of a first poll, the most of any stream', most, '', 5),
  ];
}

/**
 * The daemon and the bare loop at the same time, so that what else the machine does concerns both. The
 * loop gets the responses that the daemon got before, at their own pace.
 */
async function measureRounds(
  polled: PolledDaemon,
  seconds: number,
  progress: Progress,
): Promise<readonly Round[]> {
  const { service, daemon } = polled;
  await service.state('record');
  await wait(seconds * 1_000);
  const { recorded } = await service.state('stop-recording');
  const args = [service.url, String(recorded), String(seconds)];
  const loop = Program.node('traffic/bare-loop.ts', args, { ipc: true, nodeFlags: PROBE_FLAGS });
  try {
    await loop.says(/(warm)/);
    await loopDelayOf(daemon);
    const rounds: Round[] = [];
    for (let i = 1; i <= ROUNDS; i += 1) {
      const beforeMs = loop.cpuMs();
      const [load] = await Promise.all([loadOf(polled, seconds), loop.ask('round')]);
      const round = { ...load, bareMs: (loop.cpuMs() - beforeMs) / recorded };
      rounds.push(round);
      progress(
        `traffic ${i}/${ROUNDS}: event loop ${round.longestMs.toFixed(1)} ms at the longest, ` +
          `${perRequest(round).toFixed(3)} ms of CPU a request, bare loop ${round.bareMs.toFixed(3)} ms, ` +
          `${shareOf(round).toFixed(1)} % of a core`,
      );
    }
    return rounds;
  } finally {
    await loop.stop();
  }
}

function rowsOf(
  rounds: readonly Round[],
  seconds: number,
  when: string,
  maxRatio: number,
): readonly Measured[] {
  const bar = `CPU a request, ${when}, ${runsOf(rounds, seconds)}; peer: bare loop`;
  const medians = [perRequest, ({ bareMs }: Round) => bareMs].map((of) => medianOf(rounds.map(of)));
  const value = medianOf(rounds.map((round) => perRequest(round) / round.bareMs));
  const share = medianOf(rounds.map(shareOf));
  return [
    delayRow(rounds, seconds, CUSTOMERS, when, 50),
    { ...ratioBar(bar, medians, '.3 ms', maxRatio), value },
    barOf(`Share of a core, ${CUSTOMERS} customers, ${when}`, share, '.1 %', 30),
  ];
}

function delayRow(
  rounds: readonly Load[],
  seconds: number,
  customers: number,
  when: string,
  limitMs: number,
): Measured {
  const bar = `Longest delay, ${customers} customers, ${when}, ${runsOf(rounds, seconds)}`;
  return barOf(bar, medianOf(rounds.map(({ longestMs }) => longestMs)), '.1 ms', limitMs);
}

function runsOf({ length }: readonly Load[], seconds: number): string {
  return `median of ${length} runs of ${seconds} s`;
}

function perRequest({ cpuMs, requests }: Load): number {
  return cpuMs / requests;
}

async function skippedPolls({ url }: PolledDaemon): Promise<number> {
  const skipped = /^library_polls_skipped_total\{[^}]*\} (\d+)$/gm;
  const found = (await metricsOf(url)).matchAll(skipped);
  return Array.from(found, ([, value]) => Number(value)).reduce((sum, value) => sum + value, 0);
}
