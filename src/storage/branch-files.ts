/**
 * The windows of branches under `--storage.path`, a file for each customer, replaced as a whole. A cache:
 * whatever is wrong with a file is a warning, and the windows are read from the service again.
 *
 * Files of other customers are removed by age alone, not because they are not configured: a customer may
 * have moved to another shard or may come back tomorrow. A file that is in use is written every day, so one
 * without a write for thirty days has no day of the history left, whoever wrote it.
 */
import { hash } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { DAY_MS, SECOND_MS } from '../base/duration.ts';
import { codeOf, messageOf } from '../base/errors.ts';
import { readTextFile, replaceFile } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import { NO_BRANCHES } from '../counting/branches/branch-state.ts';
import type { BranchState } from '../counting/branches/branch-state.ts';
import { restoreBranches, serializeBranches } from '../counting/branches/stored-branches.ts';
import type { CounterOwner } from '../counting/high-water-marks.ts';

const FOLDER = 'branches';
/** Also what a killed process left. */
const FILE_NAME = /^[0-9a-f]{32}\.json(\.[0-9a-f-]+\.new)?$/;
/** Longer than the four weeks of history in a file: then no day of it is used any more. */
const MAX_AGE_MS = 30 * DAY_MS;
const REMOVAL_INTERVAL_MS = DAY_MS;
/** Most changes are a window that was added, of each customer four times an hour. */
const WRITE_INTERVAL_MS = 10 * SECOND_MS;
/** A thousand branches take 6 MB. */
const MAX_FILE_BYTES = 32 * 2 ** 20;

export interface BranchFilesOptions {
  /** Path of the storage folder; an empty one switches storage off. */
  readonly path: string;
  /** Whether this process has the lock of the folder: without it, files may be another process's. */
  readonly isLocked: () => boolean;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'sleep'>;
  readonly log: Logger;
}

/** A customer whose branches may be stored. */
export interface StoredCustomer {
  readonly customer: string;
  readonly owner: CounterOwner;
  /** Undefined for a customer that is one building. */
  readonly branches: Branches | undefined;
}

interface Branches {
  readonly state: BranchState;
  restore(state: BranchState): void;
}

export class BranchFiles {
  readonly #options: BranchFilesOptions;
  readonly #stopping = new AbortController();
  readonly #restored = new WeakSet<Branches>();
  /** What the files have. */
  readonly #written = new WeakMap<Branches, BranchState>();
  /** The last error of each file that could not be written. */
  readonly #failures = new Map<string, string>();
  #customers: () => readonly StoredCustomer[] = () => [];
  #loop: Promise<void> = Promise.resolve();

  constructor(options: BranchFilesOptions) {
    this.#options = options;
  }

  /** Gives a customer's branches what was stored, once. A missing file is no warning. */
  async restore({ customer, owner, branches }: StoredCustomer): Promise<void> {
    const { path, log } = this.#options;
    if (path === '' || branches === undefined || this.#restored.has(branches)) {
      return;
    }
    this.#restored.add(branches);
    const file = this.#fileOf(owner);
    try {
      const { text } = await readTextFile(file, MAX_FILE_BYTES);
      branches.restore(restoreBranches(owner, text));
      this.#written.set(branches, branches.state);
    } catch (failure) {
      const error = failure instanceof SyntaxError ? 'not JSON' : messageOf(failure);
      if (error !== 'does not exist') {
        log.warn('branch file unreadable, reading from the service', { customer, file, error });
      }
    }
  }

  /** Writes the windows of these customers from now on, as they change. */
  start(customers: () => readonly StoredCustomer[]): void {
    this.#customers = customers;
    this.#loop = this.#saveChanges();
  }

  /** Writes the last changes. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await this.#save();
  }

  async #saveChanges(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    let removedAtMs = -Infinity;
    while (!signal.aborted) {
      await clock.sleep(WRITE_INTERVAL_MS, signal).catch(() => {});
      if (!signal.aborted) {
        await this.#save();
      }
      if (!signal.aborted && clock.monotonicMs() - removedAtMs >= REMOVAL_INTERVAL_MS) {
        removedAtMs = clock.monotonicMs();
        await this.#removeOld();
      }
    }
  }

  async #save(): Promise<void> {
    for (const { customer, owner, branches } of this.#customers()) {
      if (branches !== undefined && this.#isChanged(branches)) {
        await this.#write(owner, customer, branches);
      }
    }
  }

  #isChanged(branches: Branches): boolean {
    const { today, past } = branches.state;
    const written = this.#written.get(branches) ?? NO_BRANCHES;
    return today?.sums !== written.today?.sums || past !== written.past;
  }

  /** Each error of a file is logged once, however often it repeats. */
  async #write(owner: CounterOwner, customer: string, branches: Branches): Promise<void> {
    const { path, isLocked, log } = this.#options;
    if (path === '' || !isLocked()) {
      return;
    }
    const file = this.#fileOf(owner);
    const { state } = branches;
    try {
      await mkdir(join(path, FOLDER), { recursive: true, mode: 0o750 });
      await replaceFile(file, serializeBranches(owner, state), 0o600, MAX_FILE_BYTES);
      this.#written.set(branches, state);
      this.#failures.delete(file);
    } catch (failure) {
      const error = messageOf(failure);
      if (this.#failures.get(file) !== error) {
        this.#failures.set(file, error);
        log.warn('branch file write failed, retrying', { customer, file, error });
      }
    }
  }

  async #removeOld(): Promise<void> {
    const { path, isLocked, clock, log } = this.#options;
    if (path === '' || !isLocked()) {
      return;
    }
    const folder = join(path, FOLDER);
    const used = new Set(this.#customers().map(({ owner }) => this.#fileOf(owner)));
    let removed = 0;
    try {
      for (const name of await readdir(folder)) {
        const file = join(folder, name);
        if (FILE_NAME.test(name) && !used.has(file)) {
          const { mtimeMs } = await stat(file);
          if (clock.nowMs() - mtimeMs > MAX_AGE_MS) {
            await rm(file);
            removed += 1;
          }
        }
      }
    } catch (failure) {
      // Without the folder there is nothing to remove; what is in its place, a write reports.
      if (!['ENOENT', 'ENOTDIR'].includes(codeOf(failure) ?? '')) {
        log.warn('old branch files not removed', { folder, error: messageOf(failure) });
      }
    }
    if (removed > 0) {
      log.info('old branch files removed', { folder, files: removed });
    }
  }

  /** Names of customers may hold what no file name can. */
  #fileOf(owner: CounterOwner): string {
    return join(this.#options.path, FOLDER, `${hash('sha256', owner).slice(0, 32)}.json`);
  }
}
