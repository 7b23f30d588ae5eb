/** The real exporter in a simulated process that can be killed, with a disk that can lose its file. */
import type { Logger } from '../../src/base/log.ts';
import type { Stream } from '../../src/base/model.ts';
import type { Random } from '../../src/base/random.ts';
import type { Config } from '../../src/config/types.ts';
import type { BranchSites } from '../../src/counting/branches/branch-sites.ts';
import type { BranchState } from '../../src/counting/branches/branch-state.ts';
import { restoreBranches, serializeBranches } from '../../src/counting/branches/stored-branches.ts';
import type { Customer } from '../../src/counting/customer.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { CounterOwner } from '../../src/counting/high-water-marks.ts';
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
  /** Whether it may be killed: only then is anything written to the disk. */
  readonly mayRestart: boolean;
}

/** Interval of state-file.ts. */
const WRITE_INTERVAL_MS = 10_000;

export type SimulatedExporter = ReturnType<typeof createSimulatedExporter>;

export function createSimulatedExporter(options: SimulatedExporterOptions) {
  const { connect, random, log, mutation = {} } = options;
  let running: ReturnType<typeof startProcess> | undefined;
  /** The state file on the disk. */
  let file: string | undefined;
  /** The files of branches, by their owner. */
  let branchFiles = new Map<string, string>();

  function mutated(config: Config): Config {
    return mutation.config?.(config) ?? config;
  }

  function startProcess(config: Config) {
    const clock = options.clock.process();
    const network = connect(clock);
    const marks = mutation.marks?.() ?? new HighWaterMarks();
    try {
      marks.restore(file ?? '');
    } catch {
      // As in state-file.ts: the exporter starts without the file.
    }
    const disk = delayedWrites(clock, marks, (text) => (file = text));
    const branchDisk = branchWrites(clock, branchFiles);
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
        changed: () => {
          if (!options.mayRestart) {
            return;
          }
          disk.marksMayHaveChanged();
          branchDisk.mayHaveChanged(exporter.customers);
        },
      },
      restoreBranches: ({ owner, branches }) => {
        if (branches !== undefined) {
          mutation.branches?.(branches);
          restoreOnce(branches, owner, branchFiles.get(owner));
        }
      },
    });
    function render(): string {
      return exporter.scrape();
    }
    return { clock, exporter, disk, branchDisk, scrape: mutation.scrape?.(render) ?? render };
  }

  const restored = new WeakSet<BranchSites>();

  /** As branch-files.ts: once, and without the file if it is damaged. */
  function restoreOnce(branches: BranchSites, owner: CounterOwner, text: string | undefined): void {
    if (restored.has(branches) || text === undefined) {
      return;
    }
    restored.add(branches);
    try {
      const state = restoreBranches(owner, text);
      branches.restore(mutation.restored?.(state) ?? state);
    } catch {
      // The windows are read from the service.
    }
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
      running?.branchDisk.flush();
      running = undefined;
      if (disk === 'torn') {
        file = file?.slice(0, file.length / 2);
        branchFiles = new Map(
          Array.from(branchFiles, ([owner, text]) => [owner, text.slice(0, text.length / 2)]),
        );
      } else if (disk === 'lost') {
        file = undefined;
        branchFiles = new Map();
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
        pending = { text: [...marks.serialize()].join(''), dueMs };
      }
    },
  };
}

/** The windows of branches reach the disk up to ten seconds after they change. */
function branchWrites(clock: VirtualClock, files: Map<string, string>) {
  const known = new Map<CounterOwner, BranchState>();
  const pending = new Map<CounterOwner, { readonly state: BranchState; readonly dueMs: number }>();
  function flush(): void {
    for (const [owner, { state, dueMs }] of pending) {
      if (clock.monotonicMs() >= dueMs) {
        files.set(owner, serializeBranches(owner, state));
        pending.delete(owner);
      }
    }
  }
  return {
    flush,
    mayHaveChanged(customers: readonly Customer[]) {
      flush();
      for (const { owner, branches } of customers) {
        const before = known.get(owner);
        const state = branches?.state;
        const isChanged =
          state?.today?.sums !== before?.today?.sums || state?.past !== before?.past;
        if (state !== undefined && isChanged) {
          known.set(owner, state);
          const dueMs = pending.get(owner)?.dueMs ?? clock.monotonicMs() + WRITE_INTERVAL_MS;
          pending.set(owner, { state, dueMs });
        }
      }
    },
  };
}
