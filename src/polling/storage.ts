/**
 * The folder of `--storage.path`: one file of marks, replaced whole, and a lock against a second
 * process. Whatever is wrong with the marks is a warning: they are a cache. What cannot be used of
 * them is moved aside, so that nobody's marks are lost by being misunderstood.
 */
import { lstat, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { isLocked, lockFolder, replaceFile } from '../base/files.ts';
import type { FolderLock } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import { readTextFile } from '../config/read-file.ts';
import type { HighWaterMarks } from '../counting/high-water-marks.ts';

/** An error to be thrown when another process uses the same storage. */
export class StorageInUseError extends Error {
  override readonly name = 'StorageInUseError';

  constructor(path: string) {
    super(
      `the storage ${path} is in use by another process: stop that one, or give this one a path of its own with --storage.path`,
    );
  }
}

const MARKS_FILE = 'state.json';
const WRITE_EVERY_MS = 10_000;
/** Some 400,000 counters. A larger file is none of ours, and reading it would cost the memory of all. */
const LARGEST_FILE_BYTES = 64 * 2 ** 20;

export interface StorageOptions {
  /** An empty path switches the storage off. */
  readonly path: string;
  readonly marks: HighWaterMarks;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Storage {
  readonly #options: StorageOptions;
  readonly #stopping = new AbortController();
  #lock: FolderLock | undefined;
  #written = 0;
  #failing = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: StorageOptions) {
    this.#options = options;
  }

  /**
   * Takes the lock, reads the marks and begins to write them. Throws StorageInUseError. Where the
   * folder cannot be written, its marks are read all the same: a counter must not fall.
   */
  async start(): Promise<void> {
    const { path, log } = this.#options;
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
      log.warn('the storage cannot be used, marks are kept in memory only', {
        path,
        error: messageOf(error),
      });
    }
    await this.#restore();
    this.#written = this.#options.marks.changes;
    if (this.#lock !== undefined) {
      this.#loop = this.#run();
    }
  }

  /** Writes the marks for the last time and gives the lock back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    if (this.#lock !== undefined) {
      await this.#write();
      this.#lock.close();
      this.#lock = undefined;
    }
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(WRITE_EVERY_MS, signal).catch(() => {});
      if (!signal.aborted) {
        await this.#write();
      }
    }
  }

  async #restore(): Promise<void> {
    const { path, marks, clock, log } = this.#options;
    const file = join(path, MARKS_FILE);
    if ((await lstat(file).catch(() => undefined)) === undefined) {
      return;
    }
    try {
      const { text } = await readTextFile(file, LARGEST_FILE_BYTES);
      const leftOut = marks.restore(text, clock.nowMs());
      if (leftOut > 0) {
        log.warn('some marks make no sense or are too old, going on without them', {
          file,
          marks: leftOut,
        });
      }
    } catch (error) {
      log.warn('the marks cannot be understood, going on without', {
        file,
        moved_to: await this.#moveAside(file),
        error: error instanceof SyntaxError ? 'it is not JSON' : messageOf(error),
      });
    }
  }

  /** Where to, or undefined where it stays: only the holder of the lock may touch the file. */
  async #moveAside(file: string): Promise<string | undefined> {
    const aside = `${file}.unreadable`;
    if (this.#lock === undefined) {
      return undefined;
    }
    try {
      await rename(file, aside);
      return aside;
    } catch {
      return undefined;
    }
  }

  async #write(): Promise<void> {
    const { path, marks, clock, log } = this.#options;
    const file = join(path, MARKS_FILE);
    const { changes } = marks;
    if (changes === this.#written) {
      return;
    }
    try {
      await replaceFile(file, marks.serializeInPieces(clock.nowMs()));
      this.#written = changes;
      if (this.#failing) {
        log.info('the marks can be written again', { file });
      }
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) {
        log.warn('the marks cannot be written, trying again', { file, error: messageOf(error) });
      }
      this.#failing = true;
    }
  }
}
