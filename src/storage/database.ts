/** The SQLite database of the store: its schema, and its rows. Synchronous; every error is thrown. */
import { closeSync, lstatSync, openSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { DAY_MS } from '../base/duration.ts';
import type { CounterOwner, StoredMark } from '../counting/high-water-marks.ts';

/** Another process has the database open. */
export class StoreInUseError extends Error {
  override readonly name = 'StoreInUseError';
}

/** The database is of a newer version of this program. */
export class StoreVersionError extends Error {
  override readonly name = 'StoreVersionError';
}

/** The file is damaged, or no database of this program. */
export class UnreadableStoreError extends Error {
  override readonly name = 'UnreadableStoreError';
}

/** A day of one customer that is over or under way. */
export interface StoredDay {
  readonly owner: CounterOwner;
  /** What was counted. */
  readonly stream: string;
  readonly dayStartMs: number;
  /** JSON. */
  readonly content: string;
  /** Other days of the stream are removed; by default they stay. */
  readonly replaces?: 'all days';
}

/** "LSEx": no other program's database is taken for one of this program. */
const APPLICATION_ID = 0x4c_53_45_78;
const VERSION = 1;
const SCHEMA = `
  CREATE TABLE owner (
    id INTEGER PRIMARY KEY, service TEXT NOT NULL, client_id TEXT NOT NULL, customer TEXT NOT NULL,
    UNIQUE (service, client_id, customer)
  ) STRICT;
  CREATE TABLE mark (
    owner INTEGER NOT NULL REFERENCES owner, counter TEXT NOT NULL, period_start_ms INTEGER NOT NULL,
    value INTEGER NOT NULL CHECK (value >= 0), updated_ms INTEGER NOT NULL,
    PRIMARY KEY (owner, counter, period_start_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE day (
    owner INTEGER NOT NULL REFERENCES owner, stream TEXT NOT NULL, day_start_ms INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (owner, stream, day_start_ms)
  ) STRICT;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
`;
const PUT_MARK = `
  INSERT INTO mark VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET value = excluded.value, updated_ms = excluded.updated_ms`;
const PUT_DAY = `
  INSERT INTO day VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET content = excluded.content`;
const REMOVE_OTHER_DAYS = 'DELETE FROM day WHERE owner = ? AND stream = ? AND day_start_ms <> ?';
const PUT_OWNER = 'INSERT INTO owner (service, client_id, customer) VALUES (?, ?, ?)';
const OWNER_ID = 'SELECT id FROM owner WHERE service = ? AND client_id = ? AND customer = ?';
const MARKS = `
  SELECT json_array(service, client_id, customer) AS owner, counter, period_start_ms AS periodStartMs,
    value, updated_ms AS atMs
  FROM mark JOIN owner ON owner.id = mark.owner`;
const DAYS = `
  SELECT day_start_ms AS dayStartMs, content FROM day WHERE owner = ? AND stream = ?
  ORDER BY day_start_ms DESC`;
const REMOVE_MARKS = `
  DELETE FROM mark WHERE period_start_ms < (SELECT min(?, max(period_start_ms)) FROM mark) - ?`;
const REMOVE_DAYS = `
  DELETE FROM day WHERE day_start_ms < (SELECT min(?, max(day_start_ms)) FROM day) - ?`;
const REMOVE_OWNERS = `
  DELETE FROM owner WHERE id NOT IN (SELECT owner FROM mark UNION SELECT owner FROM day)`;

/** More than the running counting period and the one before. */
const MAX_MARK_AGE_MS = 70 * DAY_MS;
/** More than the four weeks that are learned from. */
const MAX_DAY_AGE_MS = 30 * DAY_MS;
/** Written without a pause: they take some milliseconds. */
const ROWS_AT_ONCE = 500;
const CHARACTERS_AT_ONCE = 2 ** 18;

/** Result codes of SQLite: https://www.sqlite.org/rescode.html. */
const BUSY = 5;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

export class Database {
  readonly #file: string;
  readonly #database: DatabaseSync;
  readonly #inode: number;
  readonly #statements = new Map<string, StatementSync>();
  readonly #ids = new Map<CounterOwner, number>();

  private constructor(file: string, database: DatabaseSync) {
    this.#file = file;
    this.#database = database;
    this.#inode = lstatSync(file).ino;
  }

  /**
   * Opens a database, which no other process can open until `close` or the end of the process, however it ends.
   * Creates it if it is missing. Throws a StoreInUseError, a StoreVersionError, an UnreadableStoreError, or the
   * error of the file system.
   */
  static open(file: string): Database {
    // A lock on a device or behind a link may exclude nobody.
    if (lstatSync(file, { throwIfNoEntry: false })?.isFile() === false) {
      throw new Error(`${file} is not a regular file`);
    }
    // SQLite hides the operating system's error, and lets everybody read what it creates.
    closeSync(openSync(file, 'a', 0o600));
    let database: DatabaseSync | undefined;
    try {
      database = lock(file);
      prepareSchema(file, database);
      return new Database(file, database);
    } catch (error) {
      database?.close();
      throw isBusy(error) ? busyError(file) : readableError(error);
    }
  }

  /** Returns the marks of a copy of a database that this process cannot write. */
  static marksOf(copy: string): readonly StoredMark[] {
    const database = Database.open(copy);
    try {
      return database.marks();
    } finally {
      database.close();
    }
  }

  /** False if the file was removed or replaced: another process can use a new one then. */
  get isHeld(): boolean {
    return lstatSync(this.#file, { throwIfNoEntry: false })?.ino === this.#inode;
  }

  marks(): readonly StoredMark[] {
    return this.#read(() =>
      this.#statement(MARKS)
        .all()
        .map(({ owner, counter, periodStartMs, value, atMs }) => ({
          owner: String(owner),
          counter: String(counter),
          periodStartMs: Number(periodStartMs),
          value: Number(value),
          atMs: Number(atMs),
        })),
    );
  }

  /** Returns the days of an owner and a stream, newest first. */
  days(owner: CounterOwner, stream: string): readonly StoredDay[] {
    return this.#read(() => {
      const id = this.#statement(OWNER_ID).get(...namesOf(owner))?.['id'] ?? -1;
      const rows = this.#statement(DAYS).all(id, stream);
      return rows.map(({ dayStartMs, content }) => ({
        owner,
        stream,
        dayStartMs: Number(dayStartMs),
        content: String(content),
      }));
    });
  }

  /** Writes marks in one transaction, and days in several, yielding between pieces that take some milliseconds. */
  *write(marks: Iterable<StoredMark>, days: Iterable<StoredDay>): Generator<void> {
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      let rows = 0;
      for (const { owner, counter, periodStartMs, value, atMs } of marks) {
        this.#statement(PUT_MARK).run(this.#idOf(owner), counter, periodStartMs, value, atMs);
        rows += 1;
        if (rows % ROWS_AT_ONCE === 0) {
          yield;
        }
      }
      let characters = 0;
      for (const { owner, stream, dayStartMs, content, replaces } of days) {
        this.#statement(PUT_DAY).run(this.#idOf(owner), stream, dayStartMs, content);
        if (replaces === 'all days') {
          this.#statement(REMOVE_OTHER_DAYS).run(this.#idOf(owner), stream, dayStartMs);
        }
        characters += content.length;
        if (characters > CHARACTERS_AT_ONCE) {
          characters = 0;
          // What a transaction has written is copied into the file at once: thousands of days would take long.
          this.#database.exec('COMMIT; BEGIN IMMEDIATE');
          yield;
        }
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      throw readableError(error);
    } finally {
      if (this.#database.isTransaction) {
        this.#database.exec('ROLLBACK');
        this.#ids.clear();
      }
    }
  }

  /** Removes what is much older than the newest row and than now, and owners without rows. Clocks may be wrong. */
  removeOld(nowMs: number): void {
    this.#read(() => {
      this.#statement(REMOVE_MARKS).run(nowMs, MAX_MARK_AGE_MS);
      this.#statement(REMOVE_DAYS).run(nowMs, MAX_DAY_AGE_MS);
      this.#statement(REMOVE_OWNERS).run();
    });
    this.#ids.clear();
  }

  close(): void {
    this.#database.close();
  }

  #read<Result>(read: () => Result): Result {
    try {
      return read();
    } catch (error) {
      throw readableError(error);
    }
  }

  #statement(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #idOf(owner: CounterOwner): number {
    const names = namesOf(owner);
    const id =
      this.#ids.get(owner) ??
      this.#statement(OWNER_ID).get(...names)?.['id'] ??
      this.#statement(PUT_OWNER).run(...names).lastInsertRowid;
    this.#ids.set(owner, Number(id));
    return Number(id);
  }
}

function namesOf(owner: CounterOwner): readonly [string, string, string] {
  return JSON.parse(owner) as [string, string, string];
}

/** In WAL mode with an exclusive lock, SQLite needs no memory that processes share. */
function lock(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL');
    // Other folders may be read-only.
    database.exec('PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY');
    database.exec('BEGIN IMMEDIATE; COMMIT');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function prepareSchema(file: string, database: DatabaseSync): void {
  const [applicationId, version, tables] = [
    'PRAGMA application_id',
    'PRAGMA user_version',
    'SELECT count(*) FROM sqlite_schema',
  ].map((sql) => Number(Object.values(database.prepare(sql).get() ?? {})[0]));
  if (applicationId === 0 && version === 0 && tables === 0) {
    database.exec(`BEGIN IMMEDIATE; ${SCHEMA}; COMMIT`);
  } else if (applicationId !== APPLICATION_ID) {
    throw new UnreadableStoreError('not a database of this program');
  } else if (version !== VERSION) {
    throw new StoreVersionError(
      `${file} is of version ${version}, this program knows version ${VERSION}: ` +
        'use the newer program again, or move the file away (then counters may be lower)',
    );
  }
}

function isBusy(error: unknown): boolean {
  return codeOfSqlite(error) === BUSY;
}

/** SQLite says the same where another process has the lock, and where the file system has no locks. */
function busyError(file: string): Error {
  const probe = join(dirname(file), `lock-probe-${process.pid}.db`);
  try {
    lock(probe).close();
    return new StoreInUseError(
      `storage path ${dirname(file)} is in use by another process: stop it, or set another --storage.path`,
    );
  } catch {
    return new Error(
      'the file system has no locks, as some network file systems: set --storage.path to a local disk',
    );
  } finally {
    rmSync(probe, { force: true });
    rmSync(`${probe}-wal`, { force: true });
  }
}

function readableError(error: unknown): unknown {
  const code = codeOfSqlite(error);
  return code === CORRUPT || code === NOT_A_DATABASE
    ? new UnreadableStoreError('damaged, or not a database')
    : error;
}

/** Returns the primary result code; undefined for other errors. */
function codeOfSqlite(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}
