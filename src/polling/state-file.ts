/**
 * `state.json` under `--storage.path`: the high-water marks, replaced as a whole, and a lock against a
 * second process. The file is a cache: whatever is wrong with it is a warning.
 */
import { lstat, mkdir, rename } from 'node:fs/promises';
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

const MIN_WRITE_INTERVAL_MS = 10_000;
/** How often changes are looked for. */
const CHECK_INTERVAL_MS = 1_000;
/** Some 400,000 counters. */
const MAX_FILE_BYTES = 64 * 2 ** 20;

export interface StateFileOptions {
  /** Of the folder; an empty path switches storage off. */
  readonly path: string;
  readonly marks: HighWaterMarks;
  readonly clock: Clock;
  readonly log: Logger;
}

export class StateFile {
  readonly #options: StateFileOptions;
  readonly #file: string;
  readonly #stopping = new AbortController();
  #lock: FolderLock | undefined;
  #writtenChanges = 0;
  #writtenAtMs = -Infinity;
  #failing = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: StateFileOptions) {
    this.#options = options;
    this.#file = join(options.path, 'state.json');
  }

  /**
   * Locks the folder, restores the marks and starts to write them. Throws StorageInUseError. A folder
   * that cannot be locked is still read: a counter must not decrease.
   */
  async start(): Promise<void> {
    const { path, marks, log } = this.#options;
    if (path === '') {
      return;
    }
    try {
      await mkdir(path, { recursive: true });
      this.#lock = lockFolder(path);
    } catch (error) {
      if (isLocked(error)) {
        throw new StorageInUseError(path);
      }
      log.warn('storage not writable, state is kept in memory only', {
        path,
        error: messageOf(error),
      });
    }
    await this.#restore();
    this.#writtenChanges = marks.changes;
    if (this.#lock !== undefined) {
      this.#loop = this.#writeChanges();
    }
  }

  /** Writes the last changes and releases the lock. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    if (this.#lock !== undefined) {
      await this.#write();
      this.#lock.close();
      this.#lock = undefined;
    }
  }

  async #writeChanges(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(CHECK_INTERVAL_MS, signal).catch(() => {});
      const sinceWriteMs = clock.monotonicMs() - this.#writtenAtMs;
      if (!signal.aborted && sinceWriteMs >= MIN_WRITE_INTERVAL_MS) {
        await this.#write();
      }
    }
  }

  async #restore(): Promise<void> {
    const { marks, clock, log } = this.#options;
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
      const ignored = marks.restore(text, clock.nowMs());
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

  async #write(): Promise<void> {
    const { marks, clock, log } = this.#options;
    const file = this.#file;
    const { changes } = marks;
    if (changes === this.#writtenChanges) {
      return;
    }
    this.#writtenAtMs = clock.monotonicMs();
    try {
      await replaceFile(file, marks.serialize(clock.nowMs()));
      this.#writtenChanges = changes;
      if (this.#failing) {
        log.info('state file write recovered', { file });
      }
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) {
        log.warn('state file write failed, retrying', { file, error: messageOf(error) });
      }
      this.#failing = true;
    }
  }
}
