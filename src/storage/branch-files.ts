/**
 * The windows of branches under `--storage.path`, a file for each customer, replaced as a whole. A cache:
 * whatever is wrong with a file is a warning, and the windows are read from the service again.
 */
import { hash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { readTextFile, replaceFile } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import { NO_BRANCHES } from '../counting/branches/branch-windows.ts';
import type { BranchState } from '../counting/branches/branch-windows.ts';
import { restoreBranches, serializeBranches } from '../counting/branches/stored-branches.ts';
import type { CounterOwner } from '../counting/high-water-marks.ts';

const FOLDER = 'branches';
/** A thousand branches take 6 MB. */
const MAX_FILE_BYTES = 32 * 2 ** 20;

export interface BranchFilesOptions {
  /** Path of the storage folder; an empty one switches storage off. */
  readonly path: string;
  /** Whether this process has the lock of the folder. */
  readonly isLocked: () => boolean;
  readonly log: Logger;
}

export class BranchFiles {
  readonly #options: BranchFilesOptions;
  /** The last error of each file that could not be written. */
  readonly #failures = new Map<string, string>();

  constructor(options: BranchFilesOptions) {
    this.#options = options;
  }

  /** Returns the windows that were written for a customer; none if there is no valid file. */
  async read(owner: CounterOwner, customer: string): Promise<BranchState> {
    const { path, log } = this.#options;
    const file = this.#fileOf(owner);
    if (path === '') {
      return NO_BRANCHES;
    }
    try {
      const { text } = await readTextFile(file, MAX_FILE_BYTES);
      return restoreBranches(owner, text);
    } catch (error) {
      const message = error instanceof SyntaxError ? 'not JSON' : messageOf(error);
      if (message !== 'does not exist') {
        log.warn('branch file unreadable, reading from the service', {
          customer,
          file,
          error: message,
        });
      }
      return NO_BRANCHES;
    }
  }

  /** Writes the windows of a customer. Each error of a file is logged once, however often it repeats. */
  async write(owner: CounterOwner, customer: string, state: BranchState): Promise<void> {
    const { path, isLocked, log } = this.#options;
    const file = this.#fileOf(owner);
    if (path === '' || !isLocked()) {
      return;
    }
    try {
      await mkdir(join(path, FOLDER), { recursive: true });
      await replaceFile(file, serializeBranches(owner, state), MAX_FILE_BYTES);
      this.#failures.delete(file);
    } catch (failure) {
      const error = messageOf(failure);
      if (this.#failures.get(file) !== error) {
        this.#failures.set(file, error);
        log.warn('branch file write failed, retrying', { customer, file, error });
      }
    }
  }

  /** Names of customers may hold what no file name can. */
  #fileOf(owner: CounterOwner): string {
    return join(this.#options.path, FOLDER, `${hash('sha256', owner).slice(0, 32)}.json`);
  }
}
