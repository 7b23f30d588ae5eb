/**
 * `state.db` under `--storage.path`: the high-water marks, and days of the past, in one SQLite database. A cache
 * but for counters that the service has lowered: whatever is wrong with it is a warning.
 */
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nextTurn } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { DAY_MS, SECOND_MS } from '../base/duration.ts';
import { codeOf, messageOf } from '../base/errors.ts';
import { createFolder } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import type { CounterOwner, HighWaterMarks, StoredMark } from '../counting/high-water-marks.ts';
import { Database, StoreInUseError, StoreVersionError, UnreadableStoreError } from './database.ts';
import type { StoredDay } from './database.ts';

/** Shortest time between two writes, and between a failure and the next try. */
const MIN_WRITE_INTERVAL_MS = 10 * SECOND_MS;
/** How often a lost file is looked for. */
const CHECK_INTERVAL_MS = SECOND_MS;
const REMOVAL_INTERVAL_MS = DAY_MS;

const FAILURE_MESSAGES = {
  start: 'storage not writable, state is kept in memory only',
  lost: 'state file lost, writing another one',
  write: 'state write failed, retrying',
} as const;

export interface StoreOptions {
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

/** Has days that are to be stored. */
export interface DaySource {
  /** Returns the days that have changed since the last call; all of them with `all`. */
  changedDays(all: boolean): Iterable<StoredDay>;
}

/** Why the state cannot be saved, and since when. */
export interface StateFailure {
  readonly sinceMs: number;
  readonly error: string;
}

export class Store {
  readonly #options: StoreOptions;
  readonly #file: string;
  readonly #stopping = new AbortController();
  /** What is not written yet, by owner, counter or stream, and start. */
  readonly #marks = new Map<string, StoredMark>();
  readonly #days = new Map<string, StoredDay>();
  #sources: readonly DaySource[] = [];
  #database: Database | undefined;
  #triedAtMs = -Infinity;
  #removedAtMs = -Infinity;
  #failure: StateFailure | undefined;
  /** Of the open database; it is moved aside at the next try. */
  #damage: UnreadableStoreError | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#file = join(options.path, 'state.db');
  }

  /** Undefined while the state is saved, or storage is off. */
  get failure(): StateFailure | undefined {
    return this.#failure;
  }

  /**
   * Opens the database, restores the marks, and writes changes from now on. Throws a StoreInUseError, or a
   * StoreVersionError. One that cannot be written is still read: a counter must not decrease.
   */
  async start(): Promise<void> {
    const { path, observe } = this.#options;
    if (path === '') {
      return;
    }
    try {
      await this.#open();
      observe(true);
    } catch (error) {
      if (error instanceof StoreInUseError || error instanceof StoreVersionError) {
        throw error;
      }
      this.#failed('start', error);
      await this.#restoreCopy();
    }
    this.#loop = this.#saveChanges();
  }

  /** Takes days to store from sources, besides the marks. */
  setSources(...sources: readonly DaySource[]): void {
    this.#sources = sources;
  }

  /** Returns the stored days of an owner and a stream, newest first; none where the database cannot be read. */
  daysOf(owner: CounterOwner, stream: string): readonly StoredDay[] {
    try {
      return this.#database?.days(owner, stream) ?? [];
    } catch (error) {
      this.#failed('write', error);
      return [];
    }
  }

  /** Writes the last changes. Returns false if they could not be written. */
  async stop(): Promise<boolean> {
    if (this.#loop === undefined) {
      return true;
    }
    this.#stopping.abort();
    await this.#loop;
    this.#verifyFile();
    await this.#save();
    this.#close();
    const isSaved = this.#marks.size + this.#days.size === 0;
    if (!isSaved) {
      const error = this.#failure?.error;
      this.#options.log.error('state not written at the stop', { file: this.#file, error });
    }
    return isSaved;
  }

  async #saveChanges(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(CHECK_INTERVAL_MS, signal).catch(() => {});
      if (!signal.aborted) {
        this.#verifyFile();
        if (clock.monotonicMs() - this.#triedAtMs >= MIN_WRITE_INTERVAL_MS) {
          await this.#save();
          this.#removeOld();
        }
      }
    }
  }

  /** Opens the database and restores its marks: of each counter, the higher one is kept. */
  async #open(): Promise<Database> {
    const { path } = this.#options;
    await createFolder(path);
    try {
      this.#database = Database.open(this.#file);
      this.#restore(this.#database.marks());
    } catch (error) {
      if (!(error instanceof UnreadableStoreError)) {
        throw error;
      }
      await this.#moveAside(error);
      this.#database = Database.open(this.#file);
    }
    return this.#database;
  }

  #restore(stored: readonly StoredMark[]): void {
    const { marks, log } = this.#options;
    const ignored = marks.restore(stored);
    if (ignored > 0) {
      log.warn('high-water marks ignored', { file: this.#file, marks: ignored });
    }
  }

  /** Reads a database that cannot be opened for writing. */
  async #restoreCopy(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'library-stats-exporter-')).catch(() => undefined);
    if (folder === undefined) {
      return;
    }
    const copy = join(folder, 'state.db');
    try {
      await copyFile(this.#file, copy);
      await copyFile(`${this.#file}-wal`, `${copy}-wal`).catch(() => {});
      this.#restore(Database.marksOf(copy));
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) {
        this.#options.log.warn('state file unreadable, starting empty', {
          file: this.#file,
          error: messageOf(error),
        });
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  /** It may be the file of another program. */
  async #moveAside(error: Error): Promise<void> {
    this.#close();
    const movedTo = `${this.#file}.unreadable`;
    await rename(this.#file, movedTo);
    await rename(`${this.#file}-wal`, `${movedTo}-wal`).catch(() => {});
    this.#options.log.warn('state file unreadable, starting empty', {
      file: this.#file,
      moved_to: movedTo,
      error: error.message,
      lost: 'counters that the service has lowered fall, and the past is read from the service',
    });
  }

  /** Without its file the database is not written: another process may use a new one. */
  #verifyFile(): void {
    if (this.#database !== undefined && !this.#database.isHeld) {
      this.#close();
      this.#failed('lost', new Error('the state file was removed or replaced'));
    }
  }

  #close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  /** Writes what has changed. Opens the database first if it is closed, and then writes everything. */
  async #save(): Promise<void> {
    const { clock, log, observe } = this.#options;
    this.#collect('changed');
    const isUnchanged = this.#marks.size + this.#days.size === 0 && this.#damage === undefined;
    if (isUnchanged && this.#database !== undefined) {
      return;
    }
    this.#triedAtMs = clock.monotonicMs();
    try {
      if (this.#damage !== undefined) {
        await this.#moveAside(this.#damage);
        this.#damage = undefined;
      }
      let database = this.#database;
      if (database === undefined) {
        database = await this.#open();
        this.#collect('all');
      }
      for (const _ of database.write(this.#marks.values(), this.#days.values())) {
        await nextTurn();
      }
      this.#marks.clear();
      this.#days.clear();
      if (this.#failure !== undefined) {
        log.info('state write recovered', { file: this.#file });
      }
      this.#failure = undefined;
      observe(true, clock.nowMs());
    } catch (error) {
      this.#failed('write', error);
    }
  }

  #collect(which: 'changed' | 'all'): void {
    const { marks } = this.#options;
    for (const mark of marks.changedMarks(which)) {
      this.#marks.set(`${mark.owner} ${mark.counter} ${mark.periodStartMs}`, mark);
    }
    for (const source of this.#sources) {
      for (const day of source.changedDays(which === 'all')) {
        this.#days.set(`${day.owner} ${day.stream} ${day.dayStartMs}`, day);
      }
    }
  }

  /** Once a day: it holds the event loop while rows are looked through. */
  #removeOld(): void {
    const { clock } = this.#options;
    if (clock.monotonicMs() - this.#removedAtMs < REMOVAL_INTERVAL_MS) {
      return;
    }
    this.#removedAtMs = clock.monotonicMs();
    try {
      this.#database?.removeOld(clock.nowMs());
    } catch (error) {
      this.#failed('write', error);
    }
  }

  /** Logs each error once, however often it repeats. */
  #failed(failure: keyof typeof FAILURE_MESSAGES, cause: unknown): void {
    const { clock, log, observe } = this.#options;
    const error = messageOf(cause);
    this.#damage = cause instanceof UnreadableStoreError ? cause : undefined;
    if (error !== this.#failure?.error) {
      log.warn(FAILURE_MESSAGES[failure], { file: this.#file, error });
    }
    this.#triedAtMs = clock.monotonicMs();
    this.#failure = { sinceMs: this.#failure?.sinceMs ?? clock.nowMs(), error };
    observe(false);
  }
}
