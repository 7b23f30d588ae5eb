/**
 * `state.json` under `--storage.path`: the high-water marks, replaced as a whole, and a lock against a
 * second process. The file is a cache: whatever is wrong with it is a warning.
 */
import { glob, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { codeOf, messageOf } from '../base/errors.ts';
import { isLocked, lockFolder, readTextFile, replaceFile } from '../base/files.ts';
import type { FolderLock } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import type { HighWaterMarks } from '../counting/high-water-marks.ts';

/** Another process uses the same storage path. */
export class StorageInUseError extends Error {
  override readonly name = 'StorageInUseError';

  constructor(path: string) {
    super(
      `storage path ${path} is in use by another process: stop it, or set another --storage.path`,
    );
  }
}

/** Shortest time between two writes, and between a failure and the next try. */
const MIN_WRITE_INTERVAL_MS = 10_000;
/** How often changes, and a lost lock, are looked for. */
const CHECK_INTERVAL_MS = 1_000;
/** Some 2,700,000 counters. Nothing larger is written, so that the next start can read it. */
const MAX_FILE_BYTES = 128 * 2 ** 20;

const FAILURE_MESSAGES = {
  start: 'storage not writable, state is kept in memory only',
  lock: 'storage lock lost, locking again',
  write: 'state file write failed, retrying',
} as const;

export interface StateFileOptions {
  /** Path of the folder; an empty one switches storage off. */
  readonly path: string;
  readonly marks: HighWaterMarks;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Called at the start, after each write and at each failure, unless storage is off. The time is that
   * of a successful write.
   */
  readonly observe: (isSuccessful: boolean, writtenAtMs?: number) => void;
}

/** Why the state cannot be saved, and since when. */
export interface StateFailure {
  readonly sinceMs: number;
  readonly error: string;
}

export class StateFile {
  readonly #options: StateFileOptions;
  readonly #file: string;
  readonly #stopping = new AbortController();
  #lock: FolderLock | undefined;
  /** The marks' number of changes that the file has; undefined if the file is to be written anyway. */
  #writtenChanges: number | undefined;
  #triedAtMs = -Infinity;
  #failure: StateFailure | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: StateFileOptions) {
    this.#options = options;
    this.#file = join(options.path, 'state.json');
  }

  /** Whether this process has the folder's lock. */
  get isLocked(): boolean {
    return this.#lock !== undefined;
  }

  /** Undefined while the state is saved, or storage is off. */
  get failure(): StateFailure | undefined {
    return this.#failure;
  }

  /**
   * Locks the folder, restores the marks and starts to write them. Throws StorageInUseError. A folder
   * that cannot be locked is still read: a counter must not decrease.
   */
  async start(): Promise<void> {
    const { path, marks, observe } = this.#options;
    if (path === '') {
      return;
    }
    try {
      await this.#acquire();
      observe(true);
    } catch (error) {
      if (error instanceof StorageInUseError) {
        throw error;
      }
      this.#failed('start', error);
    }
    await this.#restore();
    this.#writtenChanges = marks.changes;
    this.#loop = this.#saveChanges();
  }

  /** Writes the last changes and releases the lock. Returns false if they could not be written. */
  async stop(): Promise<boolean> {
    if (this.#loop === undefined) {
      return true;
    }
    this.#stopping.abort();
    await this.#loop;
    await this.#verifyLock();
    await this.#save();
    this.#release();
    const { marks, log } = this.#options;
    const isSaved = this.#writtenChanges === marks.changes;
    if (!isSaved) {
      const error = this.#failure?.error;
      log.error('state file not written at the stop', { file: this.#file, error });
    }
    return isSaved;
  }

  async #saveChanges(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(CHECK_INTERVAL_MS, signal).catch(() => {});
      if (!signal.aborted) {
        await this.#verifyLock();
        if (clock.monotonicMs() - this.#triedAtMs >= MIN_WRITE_INTERVAL_MS) {
          await this.#save();
        }
      }
    }
  }

  async #acquire(): Promise<void> {
    const { path } = this.#options;
    await mkdir(path, { recursive: true, mode: 0o750 });
    try {
      this.#lock = lockFolder(path);
    } catch (error) {
      throw isLocked(error) ? new StorageInUseError(path) : error;
    }
    // What a killed process left.
    for await (const name of glob('state.json.*.new', { cwd: path })) {
      await rm(join(path, name));
    }
  }

  #release(): void {
    this.#lock?.close();
    this.#lock = undefined;
  }

  /** Without the lock nothing is written: the file may be another process's. */
  async #verifyLock(): Promise<void> {
    if (this.#lock !== undefined && !(await this.#lock.isHeld())) {
      this.#release();
      this.#writtenChanges = undefined;
      this.#failed('lock', new Error('the lock file was removed or replaced'));
    }
  }

  async #restore(): Promise<void> {
    const { marks, log } = this.#options;
    const file = this.#file;
    // A broken link, or a folder that cannot be searched, is a warning below.
    const isMissing = await lstat(file).then(
      () => false,
      (error: unknown) => codeOf(error) !== 'EACCES',
    );
    if (isMissing) {
      return;
    }
    try {
      const { text } = await readTextFile(file, MAX_FILE_BYTES);
      const ignored = marks.restore(text);
      if (ignored > 0) {
        log.warn('state file entries ignored', { file, entries: ignored });
      }
    } catch (error) {
      // It may be the file of another program or version. Only the holder of the lock may move it.
      const movedTo = `${file}.unreadable`;
      const moved =
        this.#lock !== undefined &&
        (await rename(file, movedTo).then(
          () => true,
          () => false,
        ));
      log.warn('state file unreadable, starting empty', {
        file,
        moved_to: moved ? movedTo : undefined,
        // The message of a SyntaxError quotes the file.
        error: error instanceof SyntaxError ? 'not JSON' : messageOf(error),
      });
    }
  }

  /** Writes the file if the marks have changed. Locks the folder first if it is not locked. */
  async #save(): Promise<void> {
    const { marks, clock, log, observe } = this.#options;
    const file = this.#file;
    if (this.#writtenChanges === marks.changes && this.#lock !== undefined) {
      return;
    }
    this.#triedAtMs = clock.monotonicMs();
    try {
      if (this.#lock === undefined) {
        await this.#acquire();
        this.#writtenChanges = undefined;
        // Another process may have written it meanwhile: of each counter, the higher mark is kept.
        await this.#restore();
      }
      const { changes } = marks;
      await replaceFile(file, marks.serialize(), 0o600, MAX_FILE_BYTES);
      this.#writtenChanges = changes;
      if (this.#failure !== undefined) {
        log.info('state file write recovered', { file });
      }
      this.#failure = undefined;
      observe(true, clock.nowMs());
    } catch (error) {
      this.#failed('write', error);
    }
  }

  /** Logs each error once, however often it repeats. */
  #failed(failure: keyof typeof FAILURE_MESSAGES, cause: unknown): void {
    const { clock, log, observe } = this.#options;
    const error = messageOf(cause);
    if (error !== this.#failure?.error) {
      log.warn(FAILURE_MESSAGES[failure], { file: this.#file, error });
    }
    this.#triedAtMs = clock.monotonicMs();
    this.#failure = { sinceMs: this.#failure?.sinceMs ?? clock.nowMs(), error };
    observe(false);
  }
}
