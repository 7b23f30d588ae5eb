/**
 * Ten thousand customers polled over HTTP by the daemon as it is started: its first sweep, its event
 * loop, its processor time beside that of a bare loop, and the memory that it has at the end.
 */
import { loopDelayOf, PROBE_FLAGS, scrape, startPolledFleet, fetched } from '../daemon/daemon.ts';
import type { PolledFleet } from '../daemon/daemon.ts';
import type { Measured } from '../measured.ts';
import { medianOf, Program, wait } from '../processes.ts';

export interface TrafficSettings {
  readonly customers: number;
  readonly maxRequestsPerSecond: number;
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly scrapeEverySeconds: number;
  readonly bareRounds: number;
  readonly bareSeconds: number;
}

export const USUAL_TRAFFIC: TrafficSettings = {
  customers: 10_000,
  maxRequestsPerSecond: 1_000,
  rounds: 5,
  roundSeconds: 30,
  scrapeEverySeconds: 15,
  bareRounds: 3,
  bareSeconds: 10,
};

/** As long as the bars themselves say. */
export const LONG_TRAFFIC: TrafficSettings = { ...USUAL_TRAFFIC, roundSeconds: 600 };

interface Round {
  readonly longestMs: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly requests: number;
}

type Progress = (line: string) => void;

export async function measureTraffic(
  progress: Progress,
  settings: TrafficSettings = USUAL_TRAFFIC,
): Promise<readonly Measured[]> {
  const registry = await startPolledFleet(settings.customers, settings.maxRequestsPerSecond);
  try {
    const sweep = await measureSweep(registry, settings, progress);
    const skippedBefore = await skippedPolls(registry);
    await loopDelayOf(registry.daemon);
    const rounds: Round[] = [];
    for (let i = 0; i < settings.rounds; i += 1) {
      const round = await measureRound(registry, settings);
      rounds.push(round);
      progress(
        `traffic ${i + 1}/${settings.rounds}: event loop ${round.longestMs.toFixed(1)} ms at the longest, ` +
          `${perRequest(round).toFixed(3)} ms of CPU a request, ${shareOf(round).toFixed(1)} % of a core`,
      );
    }
    const skipped = (await skippedPolls(registry)) - skippedBefore;
    const rssMiB = registry.daemon.rssMiB();
    progress(`traffic: ${skipped} polls skipped, ${rssMiB.toFixed(0)} MiB`);
    await registry.daemon.stop();
    const bare = await measureBareLoop(registry, settings, progress);
    return [...sweep, ...rowsOf(rounds, bare, skipped, settings)];
  } finally {
    await registry.stop();
  }
}

async function measureSweep(
  { service, daemon }: PolledFleet,
  settings: TrafficSettings,
  progress: Progress,
): Promise<readonly Measured[]> {
  const { customers, maxRequestsPerSecond } = settings;
  let state = await service.state();
  let toldMs = performance.now();
  while (state.anchored < 2 * customers) {
    await wait(200);
    state = await service.state();
    if (performance.now() - toldMs > 10_000) {
      toldMs = performance.now();
      progress(`first sweep: ${state.anchored} of ${2 * customers} streams`);
    }
  }
  const seconds = (state.lastAnchoredMs - state.firstRequestMs) / 1_000;
  const requests = state.requests + state.tokens;
  const leastSeconds = requests / maxRequestsPerSecond;
  const { longestMs } = await loopDelayOf(daemon);
  progress(
    `first sweep: ${seconds.toFixed(1)} s for ${requests} requests, ` +
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
      ours: `${state.mostRequestsOfAnAnchor}`,
      peer: '–',
      value: state.mostRequestsOfAnAnchor,
      limit: 5,
    },
  ];
}

async function measureRound(registry: PolledFleet, settings: TrafficSettings): Promise<Round> {
  const { daemon, service, url } = registry;
  const before = await service.record();
  const cpuBeforeMs = daemon.cpuMs();
  const startMs = performance.now();
  const scrapes = Math.max(1, Math.floor(settings.roundSeconds / settings.scrapeEverySeconds));
  for (let i = 0; i < scrapes; i += 1) {
    await scrape(url);
    const untilMs = startMs + ((i + 1) * settings.roundSeconds * 1_000) / scrapes;
    await wait(untilMs - performance.now());
  }
  const cpuMs = daemon.cpuMs() - cpuBeforeMs;
  const wallMs = performance.now() - startMs;
  const after = await service.stopRecording();
  const { longestMs } = await loopDelayOf(daemon);
  const requests = after.requests + after.tokens - before.requests - before.tokens;
  return { longestMs, cpuMs, wallMs, requests };
}

/** Replays the answers of the last round at their own pace. Milliseconds of CPU a request. */
async function measureBareLoop(
  { service }: PolledFleet,
  { roundSeconds, bareRounds, bareSeconds }: TrafficSettings,
  progress: Progress,
): Promise<number> {
  const { recorded } = await service.state();
  const answers = Math.round((recorded * bareSeconds) / roundSeconds);
  const args = [service.url, String(answers), String(bareSeconds)];
  const loop = Program.node('traffic/bare-loop.ts', args, { ipc: true, nodeFlags: PROBE_FLAGS });
  try {
    await loop.says(/(warm)/);
    const rounds: number[] = [];
    for (let i = 0; i < bareRounds; i += 1) {
      const beforeMs = loop.cpuMs();
      await loop.ask('round');
      rounds.push((loop.cpuMs() - beforeMs) / answers);
      progress(
        `bare loop ${i + 1}/${bareRounds}: ${rounds.at(-1)?.toFixed(3)} ms of CPU a request`,
      );
    }
    return medianOf(rounds);
  } finally {
    await loop.stop();
  }
}

function rowsOf(
  rounds: readonly Round[],
  bareMs: number,
  skipped: number,
  { customers, roundSeconds }: TrafficSettings,
): readonly Measured[] {
  const ofRounds = `median of ${rounds.length} runs of ${roundSeconds} s`;
  const longestMs = medianOf(rounds.map((round) => round.longestMs));
  const oursMs = medianOf(rounds.map(perRequest));
  const share = medianOf(rounds.map(shareOf));
  return [
    {
      bar: `Longest delay of the event loop, ${customers} customers, polls and scrapes, ${ofRounds}`,
      ours: `${longestMs.toFixed(1)} ms`,
      peer: '–',
      value: longestMs,
      limit: 50,
    },
    {
      bar: `CPU a request, all included, ${ofRounds}; peer: bare loop of got and JSON.parse`,
      ours: `${oursMs.toFixed(3)} ms`,
      peer: `${bareMs.toFixed(3)} ms`,
      value: oursMs / bareMs,
      limit: 1.7,
    },
    {
      bar: `Share of a core, ${customers} customers, two streams, 60 s`,
      ours: `${share.toFixed(1)} %`,
      peer: '–',
      value: share,
      limit: 30,
    },
    {
      bar: `Skipped polls in ${rounds.length} runs of ${roundSeconds} s`,
      ours: String(skipped),
      peer: '–',
      value: skipped,
      limit: 0,
    },
  ];
}

function perRequest({ cpuMs, requests }: Round): number {
  return cpuMs / requests;
}

function shareOf({ cpuMs, wallMs }: Round): number {
  return (100 * cpuMs) / wallMs;
}

async function skippedPolls({ url }: PolledFleet): Promise<number> {
  const { body } = await fetched(`${url}/metrics`);
  let sum = 0;
  for (const [, value] of body
    .toString()
    .matchAll(/^library_polls_skipped_total\{[^}]*\} (\d+)$/gm)) {
    sum += Number(value);
  }
  return sum;
}
