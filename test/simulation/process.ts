/** The real exporter in a simulated process that can be killed, with a disk that can lose its file. */
import type { Logger } from '../../src/base/log.ts';
import type { Stream } from '../../src/base/model.ts';
import type { Random } from '../../src/base/random.ts';
import type { Config } from '../../src/config/types.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { Exchange } from '../../src/service/transport.ts';
import { startExporter } from '../support/exporter-process.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import type { Mutation } from './mutations.ts';

/** What a process has of the outside, and where the ends of its polls are reported. */
export interface ProcessNetwork {
  readonly exchange: Exchange;
  pollEnded(stream: Stream, seconds: number, succeeded: boolean): void;
}

export interface SimulatedExporterOptions {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly connect: (clock: VirtualClock) => ProcessNetwork;
  readonly log: Logger;
  readonly mutation: Mutation | undefined;
}

/** Interval of state-file.ts. */
const WRITE_INTERVAL_MS = 10_000;

export type SimulatedExporter = ReturnType<typeof createSimulatedExporter>;

export function createSimulatedExporter(options: SimulatedExporterOptions) {
  const { connect, random, log, mutation = {} } = options;
  let running: ReturnType<typeof startProcess> | undefined;
  /** The state file on the disk. */
  let file: string | undefined;

  function mutated(config: Config): Config {
    return mutation.config?.(config) ?? config;
  }

  function startProcess(config: Config) {
    const clock = options.clock.process();
    const network = connect(clock);
    const marks = mutation.marks?.() ?? new HighWaterMarks();
    try {
      marks.restore(file ?? '', clock.nowMs());
    } catch {
      // As in state-file.ts: the exporter starts without the file.
    }
    const disk = delayedWrites(clock, marks, (text) => (file = text));
    const exporter = startExporter(mutated(config), {
      clock,
      random,
      log,
      marks,
      exchange: mutation.exchange?.(network.exchange) ?? network.exchange,
      wrapClient: mutation.client,
      observer: {
        pollEnded: (stream, seconds, reason) => {
          network.pollEnded(stream, seconds, reason === undefined);
        },
        changed: () => disk.marksMayHaveChanged(),
      },
    });
    function render(): string {
      return exporter.scrape();
    }
    return { clock, exporter, disk, scrape: mutation.scrape?.(render) ?? render };
  }

  return {
    /** Undefined while the process does not run. */
    clock: () => running?.clock,
    start(config: Config): void {
      running = startProcess(config);
    },
    reload(config: Config): void {
      void running?.exporter.apply(mutated(config));
    },
    /** Stops like kill -9: nothing that is in progress ends. */
    kill(disk: 'whole' | 'torn' | 'lost'): void {
      running?.clock.kill();
      running?.disk.flush();
      running = undefined;
      if (disk === 'torn') {
        file = file?.slice(0, file.length / 2);
      } else if (disk === 'lost') {
        file = undefined;
      }
    },
    /** /metrics; undefined while the process does not run. */
    scrape: () => running?.scrape(),
  };
}

/** The marks reach the disk up to ten seconds after they change. */
function delayedWrites(clock: VirtualClock, marks: HighWaterMarks, write: (text: string) => void) {
  let { changes } = marks;
  let pending: { text: string; dueMs: number } | undefined;
  function flush(): void {
    if (pending !== undefined && clock.monotonicMs() >= pending.dueMs) {
      write(pending.text);
      pending = undefined;
    }
  }
  return {
    flush,
    marksMayHaveChanged() {
      flush();
      if (marks.changes !== changes) {
        ({ changes } = marks);
        const dueMs = pending?.dueMs ?? clock.monotonicMs() + WRITE_INTERVAL_MS;
        pending = { text: [...marks.serialize(clock.nowMs())].join(''), dueMs };
      }
    },
  };
}
