/** The real exporter in a simulated process, which may be killed, and whose disk may lose what it has. */
import type { Logger } from '../../src/base/log.ts';
import type { Stream } from '../../src/base/model.ts';
import type { Random } from '../../src/base/random.ts';
import type { Config } from '../../src/config/types.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { Exchange } from '../../src/service/transport.ts';
import { startExporter } from '../support/exporter-process.ts';
import type { ExporterProcess } from '../support/exporter-process.ts';
import type { ProcessClock, WorldClock } from './clock.ts';

export interface ExporterOptions {
  readonly world: WorldClock;
  readonly random: Random;
  /** The network as a new process has it, and what is told of the ends of its polls. */
  readonly connect: (clock: ProcessClock) => {
    readonly exchange: Exchange;
    pollEnded(stream: Stream, tookSeconds: number, isGood: boolean): void;
  };
  readonly log: Logger;
}

/** As often as the real one writes. */
const WRITE_EVERY_MS = 10_000;

export class SimulatedExporter {
  readonly #options: ExporterOptions;
  #process: Process | undefined;
  /** What is on the disk. */
  #file: string | undefined;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  get clock(): ProcessClock | undefined {
    return this.#process?.clock;
  }

  start(config: Config): void {
    this.#process = startProcess(this.#options, config, this.#file, (text) => (this.#file = text));
  }

  reload(config: Config): void {
    this.#process?.apply(config);
  }

  /** As by kill -9: whatever is under way never ends. */
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

  /** /metrics, or undefined while the process does not run. */
  scrape(): string | undefined {
    return this.#process?.scrape();
  }
}

interface Process extends ExporterProcess {
  readonly clock: ProcessClock;
  flush(): void;
}

function startProcess(
  { world, connect, random, log }: ExporterOptions,
  config: Config,
  file: string | undefined,
  write: (text: string) => void,
): Process {
  const clock = world.process();
  const network = connect(clock);
  const marks = new HighWaterMarks();
  try {
    marks.restore(file ?? '', clock.nowMs());
  } catch {
    // As the storage does: it goes on without.
  }
  const disk = delayedWrites(clock, marks, write);
  const started = startExporter(config, {
    clock,
    random,
    log,
    marks,
    exchange: network.exchange,
    observer: {
      pollEnded: (stream, seconds, reason) =>
        network.pollEnded(stream, seconds, reason === undefined),
      changed: () => disk.note(),
    },
  });
  return { ...started, clock, flush: () => disk.flush() };
}

/** The marks reach the disk up to ten seconds after they change. */
function delayedWrites(clock: ProcessClock, marks: HighWaterMarks, write: (text: string) => void) {
  let changes = marks.changes;
  let pending: { text: string; dueMs: number } | undefined;
  function flush(): void {
    if (pending !== undefined && clock.monotonicMs() >= pending.dueMs) {
      write(pending.text);
      pending = undefined;
    }
  }
  return {
    flush,
    note() {
      flush();
      if (marks.changes !== changes) {
        changes = marks.changes;
        const dueMs = pending?.dueMs ?? clock.monotonicMs() + WRITE_EVERY_MS;
        pending = { text: [...marks.serialize(clock.nowMs())].join(''), dueMs };
      }
    },
  };
}
