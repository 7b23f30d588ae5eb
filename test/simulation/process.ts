/** The real exporter in a simulated process that can be killed, with a disk that can lose its file. */
import type { Logger } from '../../src/base/log.ts';
import type { Stream } from '../../src/base/model.ts';
import type { Random } from '../../src/base/random.ts';
import type { Config } from '../../src/config/types.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { Exchange } from '../../src/service/transport.ts';
import { startExporter } from '../support/exporter-process.ts';
import type { ExporterProcess } from '../support/exporter-process.ts';
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

/** As in state-file.ts. */
const WRITE_INTERVAL_MS = 10_000;

export class SimulatedExporter {
  readonly #options: SimulatedExporterOptions;
  #process: Process | undefined;
  /** The state file on the disk. */
  #file: string | undefined;

  constructor(options: SimulatedExporterOptions) {
    this.#options = options;
  }

  get clock(): VirtualClock | undefined {
    return this.#process?.clock;
  }

  start(config: Config): void {
    this.#process = startProcess(this.#options, config, this.#file, (text) => (this.#file = text));
  }

  reload(config: Config): void {
    this.#process?.apply(config);
  }

  /** Like kill -9: nothing that is in progress ends. */
  kill(disk: 'whole' | 'torn' | 'lost'): void {
    this.#process?.clock.kill();
    this.#process?.flush();
    this.#process = undefined;
    if (disk === 'torn') {
      this.#file = this.#file?.slice(0, this.#file.length / 2);
    } else if (disk === 'lost') {
      this.#file = undefined;
    }
  }

  /** /metrics; undefined while the process does not run. */
  scrape(): string | undefined {
    return this.#process?.scrape();
  }
}

interface Process extends Pick<ExporterProcess, 'apply' | 'scrape'> {
  readonly clock: VirtualClock;
  flush(): void;
}

function startProcess(
  { clock: root, connect, random, log, mutation = {} }: SimulatedExporterOptions,
  config: Config,
  file: string | undefined,
  write: (text: string) => void,
): Process {
  const clock = root.process();
  const network = connect(clock);
  const marks = mutation.marks?.() ?? new HighWaterMarks();
  try {
    marks.restore(file ?? '', clock.nowMs());
  } catch {
    // As in state-file.ts: the exporter starts without the file.
  }
  const disk = delayedWrites(clock, marks, write);
  const mutated = mutation.config ?? ((unchanged) => unchanged);
  const started = startExporter(mutated(config), {
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
    return started.scrape();
  }
  const scrape = mutation.scrape?.(render) ?? render;
  return {
    apply: (next) => started.apply(mutated(next)),
    scrape,
    clock,
    flush: () => disk.flush(),
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
