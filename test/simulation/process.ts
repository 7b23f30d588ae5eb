/** The real exporter in a simulated process that can be killed, with a disk that can lose its database. */
import type { Logger } from '../../src/base/log.ts';
import type { Stream } from '../../src/base/model.ts';
import type { Random } from '../../src/base/random.ts';
import type { Config } from '../../src/config/types.ts';
import type { Customer } from '../../src/counting/customer.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { StoredMark } from '../../src/counting/high-water-marks.ts';
import { Exporter } from '../../src/exporter.ts';
import { createService } from '../../src/service/client.ts';
import type { Exchange } from '../../src/service/transport.ts';
import type { PollingClient } from '../../src/service/types.ts';
import { DailyRows } from '../../src/storage/daily-rows.ts';
import { DEVICE_PLACES } from '../../src/storage/device-places.ts';
import { LASTING_PROBLEMS } from '../../src/storage/lasting-problems.ts';
import { Pasts } from '../../src/storage/pasts.ts';
import type { StoredDay } from '../../src/storage/database.ts';
import type { DaySource } from '../../src/storage/store.ts';
import { renderStatusPage } from '../../src/web/status-page.ts';
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
  /** Whether it may be killed: only then is anything written to the disk, because that takes a tenth of the time. */
  readonly mayRestart: boolean;
}

/** Interval of store.ts. */
const WRITE_INTERVAL_MS = 10_000;

export type SimulatedExporter = ReturnType<typeof createSimulatedExporter>;

export function createSimulatedExporter(options: SimulatedExporterOptions) {
  const { connect, random, log, mutation = {} } = options;
  let running: ReturnType<typeof startProcess> | undefined;
  const disk = new Disk();

  function mutated(config: Config): Config {
    return mutation.config?.(config) ?? config;
  }

  function mutatedClient(client: PollingClient): PollingClient {
    const changed = mutation.client?.(client) ?? client;
    return {
      query: (...question) => changed.query(...question),
      page: (...question) => client.page(...question),
    };
  }

  function startProcess(config: Config) {
    const clock = options.clock.process();
    const network = connect(clock);
    const marks = mutation.marks?.() ?? new HighWaterMarks();
    marks.restore(disk.marks);
    function customers(): readonly Customer[] {
      return exporter.customers.map(({ customer }) => customer);
    }
    const pasts = new Pasts(disk, customers);
    const rows = [LASTING_PROBLEMS, DEVICE_PLACES].map(
      (kind) => new DailyRows(kind, disk, customers, () => clock.nowMs()),
    );
    const writes = delayedWrites(clock, disk, marks, [pasts, ...rows]);
    const exporter = new Exporter(mutated(config), {
      clock,
      log,
      marks,
      connect(settings, observer) {
        const exchange = mutation.exchange?.(network.exchange) ?? network.exchange;
        const transport = { exchange, close() {} };
        const outside = { clock, random, log, observer, transport };
        const service = createService({ config: settings, ...outside });
        return { ...service, clientFor: (access) => mutatedClient(service.clientFor(access)) };
      },
      observer: {
        request() {},
        pollEnded: (stream, seconds, reason) => {
          network.pollEnded(stream, seconds, reason === undefined);
        },
        changed: () => {
          if (options.mayRestart) {
            writes.mayHaveChanged();
          }
        },
      },
      restore: (customer) => {
        mutation.customer?.(customer);
        pasts.restore(customer);
        rows.forEach((each) => each.restore(customer));
      },
    });
    exporter.start();
    void exporter.apply(mutated(config));
    function scrape(): string {
      const parts = exporter.exposition.render('text').map(({ plain }) => plain);
      const text = Buffer.concat(parts).toString();
      return mutation.scrape?.(text) ?? text;
    }
    function page(): string {
      const status = {
        nowMs: clock.nowMs(),
        customers: customers(),
        failedReload: undefined,
        stateFailure: undefined,
      };
      return renderStatusPage(status, '', '', new URLSearchParams());
    }
    return { clock, exporter, writes, page, scrape };
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
    kill(left: 'whole' | 'lost'): void {
      running?.clock.kill();
      running?.writes.flush();
      running = undefined;
      if (left === 'lost') {
        disk.clear();
      }
    },
    /** /metrics; undefined while the process does not run. */
    scrape: () => running?.scrape(),
    /** The status page; undefined while the process does not run. */
    page: () => running?.page(),
  };
}

/** What is in the database. */
class Disk {
  readonly #marks = new Map<string, StoredMark>();
  readonly #days = new Map<string, StoredDay>();

  get marks(): Iterable<StoredMark> {
    return this.#marks.values();
  }

  daysOf(owner: string, stream: string): readonly StoredDay[] {
    return [...this.#days.values()]
      .filter((day) => day.owner === owner && day.stream === stream)
      .toSorted((a, b) => b.dayStartMs - a.dayStartMs);
  }

  write(marks: Iterable<StoredMark>, days: Iterable<StoredDay>): void {
    for (const mark of marks) {
      this.#marks.set(`${mark.owner} ${mark.counter} ${mark.periodStartMs}`, mark);
    }
    for (const day of days) {
      const others = day.replaces === 'all days' ? this.daysOf(day.owner, day.stream) : [];
      for (const { owner, stream, dayStartMs } of others) {
        this.#days.delete(`${owner} ${stream} ${dayStartMs}`);
      }
      this.#days.set(`${day.owner} ${day.stream} ${day.dayStartMs}`, day);
    }
  }

  clear(): void {
    this.#marks.clear();
    this.#days.clear();
  }
}

/** Rows reach the disk up to ten seconds after they change, in one transaction. */
function delayedWrites(
  clock: VirtualClock,
  disk: Disk,
  marks: HighWaterMarks,
  sources: readonly DaySource[],
) {
  let pending: { marks: StoredMark[]; days: StoredDay[]; dueMs: number } | undefined;
  function flush(): void {
    if (pending !== undefined && clock.monotonicMs() >= pending.dueMs) {
      disk.write(pending.marks, pending.days);
      pending = undefined;
    }
  }
  return {
    flush,
    mayHaveChanged(): void {
      flush();
      const changed = [...marks.changedMarks('changed')];
      const days = sources.flatMap((source) => [...source.changedDays(false)]);
      if (changed.length + days.length > 0) {
        pending ??= { marks: [], days: [], dueMs: clock.monotonicMs() + WRITE_INTERVAL_MS };
        pending.marks.push(...changed);
        pending.days.push(...days);
      }
    },
  };
}
