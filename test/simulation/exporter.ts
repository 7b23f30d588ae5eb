/**
 * The real exporter in a simulated process: polling, the service's client down to the bytes of an
 * answer, counting, marks and rendering are those of src; the network, the disk and the clock are not.
 */
import type { Logger } from '../../src/base/log.ts';
import type { Stream } from '../../src/base/nouns.ts';
import type { Random } from '../../src/base/random.ts';
import type { Config } from '../../src/config/types.ts';
import { Marks } from '../../src/counting/marks.ts';
import { createExposition } from '../../src/metrics/exposition.ts';
import type { Exposition } from '../../src/metrics/exposition.ts';
import { Fleet } from '../../src/polling/fleet.ts';
import { Poller } from '../../src/polling/poller.ts';
import { createService } from '../../src/service/service.ts';
import type { Exchange } from '../../src/service/transport.ts';
import type { ProcessClock, WorldClock } from './clock.ts';

export interface ExporterOptions {
  readonly world: WorldClock;
  readonly random: Random;
  /** The network as a new process has it, and what is told of the ends of its polls. */
  readonly connect: (clock: ProcessClock) => {
    readonly exchange: Exchange;
    pollEnded(stream: Stream, isGood: boolean): void;
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
    return this.#process?.exposition.render('text').parts.map(String).join('');
  }
}

interface Process {
  readonly clock: ProcessClock;
  readonly exposition: Exposition;
  apply(config: Config): void;
  flush(): void;
}

function startProcess(
  options: ExporterOptions,
  config: Config,
  file: string | undefined,
  write: (text: string) => void,
): Process {
  const clock = options.world.process();
  const { random, log } = options;
  const { exchange, pollEnded } = options.connect(clock);
  const marks = new Marks();
  try {
    marks.restore(file ?? '', clock.nowMs());
  } catch {
    // As the storage does: it goes on without.
  }
  const disk = delayedWrites(clock, marks, write);
  const exposition = createExposition({ clock });
  const fleet = new Fleet(marks);
  const service = createService({
    config: config.service,
    clock,
    random,
    log,
    transport: { exchange, close() {} },
    observer: {
      request() {},
      credentials(customer, valid) {
        fleet.get(customer)?.credentialsJudged(valid);
        exposition.changed(customer);
      },
    },
  });
  const poller = new Poller({
    clock,
    log,
    intervalMs: config.polling.intervalMs,
    reconcileIntervalMs: config.polling.reconcileIntervalMs,
    breakdownIntervalMs: config.polling.breakdownIntervalMs,
    maxConcurrency: config.service.maxConcurrency,
    maxRequestsPerSecond: config.service.maxRequestsPerSecond,
    serviceNowMs: () => service.nowMs(),
    observer: {
      pollEnded: (stream, _seconds, reason) => pollEnded(stream, reason === undefined),
      changed(customer) {
        exposition.changed(customer);
        disk.note();
      },
    },
  });

  function apply(next: Config): void {
    const members = fleet.update(next);
    exposition.setCustomers(members.map(({ customer }) => customer));
    poller.setCustomers(
      members.map(({ customer, config: { name, clientId, clientSecret } }) => ({
        customer,
        client: service.clientFor({
          name,
          clientId,
          readSecret: () => Promise.resolve(clientSecret.secret),
        }),
      })),
    );
  }

  poller.start();
  apply(config);
  return { clock, exposition, apply, flush: () => disk.flush() };
}

/** The marks reach the disk up to ten seconds after they change. */
function delayedWrites(clock: ProcessClock, marks: Marks, write: (text: string) => void) {
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
        pending = { text: marks.serialize(clock.nowMs()), dueMs };
      }
    },
  };
}
