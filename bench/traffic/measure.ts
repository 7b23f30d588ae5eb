/**
 * Ten thousand customers polled over HTTP by the daemon as it is started: its first sweep, its event
 * loop, and its processor time beside that of a bare loop. Two thousand: its event loop.
 */
import { loopDelayOf, PROBE_FLAGS, scrape, startPolledDaemon, fetched } from '../daemon/daemon.ts';
import type { PolledDaemon } from '../daemon/daemon.ts';
import type { Measured } from '../measured.ts';
import { medianOf, Program, wait } from '../processes.ts';

export interface TrafficSettings {
  readonly customers: number;
  readonly maxRequestsPerSecond: number;
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly scrapeEverySeconds: number;
  /** Whether to wait until the pasts of all customers are read, and to measure again. */
  readonly atRest: boolean;
}

export const USUAL_TRAFFIC: TrafficSettings = {
  customers: 10_000,
  maxRequestsPerSecond: 1_000,
  rounds: 5,
  roundSeconds: 30,
  scrapeEverySeconds: 15,
  atRest: true,
};

/** As long as the bars themselves say. */
export const LONG_TRAFFIC: TrafficSettings = { ...USUAL_TRAFFIC, roundSeconds: 600 };

const FEWER_CUSTOMERS: TrafficSettings = { ...USUAL_TRAFFIC, customers: 2_000, rounds: 5 };

const MAX_DELAY_MS = 50;
const MAX_DELAY_OF_FEWER_MS = 25;
const MAX_DELAY_OF_FIRST_MINUTE_MS = 150;
/** CPU a request beside the bare loop. */
const MAX_RATIO_AT_REST = 1.5;
const MAX_RATIO_OF_FIRST_HOUR = 2;

interface Round {
  readonly longestMs: number;
  readonly cpuMs: number;
  /** Of the bare loop, a request. */
  readonly bareMs: number;
  readonly wallMs: number;
  readonly requests: number;
}

type Progress = (line: string) => void;

export async function measureTraffic(
  progress: Progress,
  settings: TrafficSettings = USUAL_TRAFFIC,
): Promise<readonly Measured[]> {
  const polled = await startPolledDaemon(settings);
  try {
    const sweep = await measureSweep(polled, settings, progress);
    const skippedBefore = await skippedPolls(polled);
    const firstHour = await measureRounds(polled, settings, progress);
    let atRest: readonly Round[] = [];
    if (settings.atRest) {
      await untilPastsAreRead(polled, settings, progress);
      atRest = await measureRounds(polled, settings, progress);
    }
    const skipped = (await skippedPolls(polled)) - skippedBefore;
    const rssMiB = polled.daemon.rssMiB();
    progress(`traffic: ${skipped} polls skipped, ${rssMiB.toFixed(0)} MiB`);
    return [
      ...sweep,
      ...rowsOf(firstHour, settings, 'while pasts are read', MAX_RATIO_OF_FIRST_HOUR),
      ...(atRest.length > 0 ? rowsOf(atRest, settings, 'at rest', MAX_RATIO_AT_REST) : []),
      {
        bar: `Skipped polls of all these`,
        ours: String(skipped),
        peer: '–',
        value: skipped,
        limit: 0,
      },
    ];
  } finally {
    await polled.stop();
  }
}

/** The event loop alone, with a fifth of the customers. */
export async function measureDelay(
  progress: Progress,
  settings: TrafficSettings = FEWER_CUSTOMERS,
): Promise<readonly Measured[]> {
  const polled = await startPolledDaemon(settings);
  try {
    await measureSweep(polled, settings, progress);
    const delaysMs: number[] = [];
    for (let i = 0; i < settings.rounds; i += 1) {
      const { longestMs } = await measureRound(polled, settings);
      delaysMs.push(longestMs);
      progress(`traffic ${i + 1}/${settings.rounds}: event loop ${longestMs.toFixed(1)} ms`);
    }
    return [delayRow(delaysMs, settings, MAX_DELAY_OF_FEWER_MS)];
  } finally {
    await polled.stop();
  }
}

/** The pasts of people, which otherwise take an hour. */
async function untilPastsAreRead(
  { daemon, url }: PolledDaemon,
  { customers }: TrafficSettings,
  progress: Progress,
): Promise<void> {
  await daemon.ask('hurry');
  for (let read = 0; read < customers;) {
    await wait(10_000);
    const { body } = await fetched(`${url}/metrics`);
    const series = /^library_people_entered_usual_today\{/gm;
    read = body.toString().match(series)?.length ?? 0;
    progress(`pasts: ${read} of ${customers}`);
  }
}

/** The event loop from the first connection on, while baselines are read as fast as the limit lets it. */
export async function measureFirstMinute(progress: Progress): Promise<readonly Measured[]> {
  const customers = 4_000;
  const polled = await startPolledDaemon({ ...USUAL_TRAFFIC, customers });
  try {
    await loopDelayOf(polled.daemon);
    await wait(60_000);
    const { longestMs } = await loopDelayOf(polled.daemon);
    progress(`first minute: event loop ${longestMs.toFixed(0)} ms`);
    return [
      {
        bar: `Longest delay of the event loop in the first minute of ${customers} customers`,
        ours: `${longestMs.toFixed(0)} ms`,
        peer: '–',
        value: longestMs,
        limit: MAX_DELAY_OF_FIRST_MINUTE_MS,
      },
    ];
  } finally {
    await polled.stop();
  }
}

async function measureSweep(
  { service, daemon }: PolledDaemon,
  settings: TrafficSettings,
  progress: Progress,
): Promise<readonly Measured[]> {
  const { customers, maxRequestsPerSecond } = settings;
  let state = await service.state();
  let shownMs = performance.now();
  while (state.baselines < 2 * customers) {
    await wait(200);
    state = await service.state();
    if (performance.now() - shownMs > 10_000) {
      shownMs = performance.now();
      progress(`first baselines: ${state.baselines} of ${customers} streams`);
    }
  }
  const seconds = (state.lastBaselineMs - state.firstRequestMs) / 1_000;
  const requests = state.requests + state.tokens;
  const leastSeconds = requests / maxRequestsPerSecond;
  const { longestMs } = await loopDelayOf(daemon);
  progress(
    `first baselines: ${seconds.toFixed(1)} s for ${requests} requests, ` +
      `event loop ${longestMs.toFixed(0)} ms at the longest since the start`,
  );
  return [
    {
      bar: `First sweep of ${customers} customers, as fast as the limit on requests lets it`,
      ours: `${seconds.toFixed(1)} s`,
      peer: `${leastSeconds.toFixed(1)} s for ${requests} requests at ${maxRequestsPerSecond}/s`,
      value: seconds / leastSeconds,
      limit: 1.1,
    },
    {
      bar: 'Requests of a first poll, the most of any stream',
      ours: `${state.mostRequestsOfABaseline}`,
      peer: '–',
      value: state.mostRequestsOfABaseline,
      limit: 5,
    },
  ];
}

/**
 * The daemon and the bare loop at the same time, so that what else the machine does concerns both. The
 * loop gets the responses that the daemon got before, at their own pace.
 */
async function measureRounds(
  polled: PolledDaemon,
  settings: TrafficSettings,
  progress: Progress,
): Promise<readonly Round[]> {
  const { service, daemon } = polled;
  await service.record();
  await wait(settings.roundSeconds * 1_000);
  const { recorded } = await service.stopRecording();
  const args = [service.url, String(recorded), String(settings.roundSeconds)];
  const loop = Program.node('traffic/bare-loop.ts', args, { ipc: true, nodeFlags: PROBE_FLAGS });
  try {
    await loop.says(/(warm)/);
    await loopDelayOf(daemon);
    const rounds: Round[] = [];
    for (let i = 0; i < settings.rounds; i += 1) {
      const [round, bareMs] = await Promise.all([
        measureRound(polled, settings),
        measureBareLoop(loop, recorded),
      ]);
      rounds.push({ ...round, bareMs });
      progress(
        `traffic ${i + 1}/${settings.rounds}: event loop ${round.longestMs.toFixed(1)} ms at the longest, ` +
          `${perRequest(round).toFixed(3)} ms of CPU a request, bare loop ${bareMs.toFixed(3)} ms, ` +
          `${shareOf(round).toFixed(1)} % of a core`,
      );
    }
    return rounds;
  } finally {
    await loop.stop();
  }
}

async function measureRound(
  { daemon, service, url }: PolledDaemon,
  { roundSeconds, scrapeEverySeconds }: TrafficSettings,
): Promise<Omit<Round, 'bareMs'>> {
  const before = await service.state();
  const cpuBeforeMs = daemon.cpuMs();
  const startMs = performance.now();
  const scrapes = Math.max(1, Math.floor(roundSeconds / scrapeEverySeconds));
  for (let i = 0; i < scrapes; i += 1) {
    await scrape(url);
    const untilMs = startMs + ((i + 1) * roundSeconds * 1_000) / scrapes;
    await wait(untilMs - performance.now());
  }
  const cpuMs = daemon.cpuMs() - cpuBeforeMs;
  const wallMs = performance.now() - startMs;
  const after = await service.state();
  const { longestMs } = await loopDelayOf(daemon);
  const requests = after.requests + after.tokens - before.requests - before.tokens;
  return { longestMs, cpuMs, wallMs, requests };
}

/** A round of all recorded responses. Milliseconds of CPU a request. */
async function measureBareLoop(loop: Program, responses: number): Promise<number> {
  const beforeMs = loop.cpuMs();
  await loop.ask('round');
  return (loop.cpuMs() - beforeMs) / responses;
}

function rowsOf(
  rounds: readonly Round[],
  settings: TrafficSettings,
  when: string,
  maxRatio: number,
): readonly Measured[] {
  const { customers } = settings;
  const oursMs = medianOf(rounds.map(perRequest));
  const bareMs = medianOf(rounds.map((round) => round.bareMs));
  const ratio = medianOf(rounds.map((round) => perRequest(round) / round.bareMs));
  const share = medianOf(rounds.map(shareOf));
  return [
    delayRow(
      rounds.map((round) => round.longestMs),
      settings,
      MAX_DELAY_MS,
      when,
    ),
    {
      bar: `CPU a request, all included, ${when}, ${runsOf(rounds, settings)}; peer: bare loop of got and JSON.parse`,
      ours: `${oursMs.toFixed(3)} ms`,
      peer: `${bareMs.toFixed(3)} ms`,
      value: ratio,
      limit: maxRatio,
    },
    {
      bar: `Share of a core, ${customers} customers, two streams, 60 s, ${when}`,
      ours: `${share.toFixed(1)} %`,
      peer: '–',
      value: share,
      limit: 30,
    },
  ];
}

function delayRow(
  delaysMs: readonly number[],
  settings: TrafficSettings,
  limitMs: number,
  when = 'while pasts are read',
): Measured {
  const medianMs = medianOf(delaysMs);
  const { customers } = settings;
  return {
    bar: `Longest delay of the event loop, ${customers} customers, polls and scrapes, ${when}, ${runsOf(delaysMs, settings)}`,
    ours: `${medianMs.toFixed(1)} ms`,
    peer: '–',
    value: medianMs,
    limit: limitMs,
  };
}

function runsOf({ length }: readonly unknown[], { roundSeconds }: TrafficSettings): string {
  return `median of ${length} runs of ${roundSeconds} s`;
}

function perRequest({ cpuMs, requests }: Pick<Round, 'cpuMs' | 'requests'>): number {
  return cpuMs / requests;
}

function shareOf({ cpuMs, wallMs }: Pick<Round, 'cpuMs' | 'wallMs'>): number {
  return (100 * cpuMs) / wallMs;
}

async function skippedPolls({ url }: PolledDaemon): Promise<number> {
  const { body } = await fetched(`${url}/metrics`);
  let sum = 0;
  for (const [, value] of body
    .toString()
    .matchAll(/^library_polls_skipped_total\{[^}]*\} (\d+)$/gm)) {
    sum += Number(value);
  }
  return sum;
}
