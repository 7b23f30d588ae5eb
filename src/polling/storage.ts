/**
 * The folder of `--storage.path`: one file of marks, replaced whole, and a lock against a second
 * process. Whatever is wrong with the marks is a warning: they are a cache.
 */
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import writeFileAtomic from 'write-file-atomic';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Marks } from '../counting/marks.ts';

/** An error to be thrown when another process uses the same storage. */
export class StorageInUseError extends Error {
  override readonly name = 'StorageInUseError';

  constructor(path: string) {
    super(
      `the storage ${path} is in use by another process: stop that one, or give this one a path of its own with --storage.path`,
    );
  }
}

const MARKS_FILE = 'marks.json';
const LOCK_FILE = 'lock';
const WRITE_EVERY_MS = 10_000;
/** SQLite's result code for a file that another connection has locked. */
const SQLITE_BUSY = 5;

export interface StorageOptions {
  /** An empty path switches the storage off. */
  readonly path: string;
  readonly marks: Marks;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Storage {
  readonly #options: StorageOptions;
  readonly #stopping = new AbortController();
  #lock: DatabaseSync | undefined;
  #written = 0;
  #failing = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: StorageOptions) {
    this.#options = options;
  }

  /** Takes the lock, reads the marks and begins to write them. Throws StorageInUseError. */
  async start(): Promise<void> {
    const { path, log } = this.#options;
    if (path === '') {
      return;
    }
    try {
      await mkdir(path, { recursive: true });
      this.#lock = lock(join(path, LOCK_FILE));
    } catch (error) {
      if (isBusy(error)) {
        throw new StorageInUseError(path);
      }
      log.warn('the storage cannot be used, marks are kept in memory only', {
        path,
        error: messageOf(error),
      });
      return;
    }
    await this.#restore();
    this.#written = this.#options.marks.changes;
    this.#loop = this.#run();
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
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') {
        log.warn('the marks cannot be read, going on without', { file, error: messageOf(error) });
      }
      return;
    }
    try {
      const foreign = marks.restore(text, clock.nowMs());
      if (foreign > 0) {
        log.warn('some marks make no sense or are too old, going on without them', {
          file,
          marks: foreign,
        });
      }
    } catch (error) {
      const aside = `${file}.unreadable`;
      log.warn('the marks cannot be understood, going on without', {
        file,
        moved_to: aside,
        error: error instanceof SyntaxError ? 'it is not JSON' : messageOf(error),
      });
      await rename(file, aside).catch(() => {});
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
      await writeFileAtomic(file, marks.serialize(clock.nowMs()), { mode: 0o600 });
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

/** The lock of a database file is the system's own: it ends with the process, however that ends. */
function lock(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
