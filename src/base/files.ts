/** Reading and atomic replacement of files, and a lock on a folder against a second process. */
import { accessSync, closeSync, constants, existsSync, lstatSync, openSync } from 'node:fs';
import { lstat, open, rename, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { codeOf, messageOf } from './errors.ts';

/** The lock file; it stays in the folder when the lock is released. */
const LOCK_FILE = 'lock';
/** SQLite's result code for a file that another connection has locked. */
const SQLITE_BUSY = 5;

export interface FolderLock {
  /** False if the lock file was removed or replaced: another process can lock the folder then. */
  isHeld(): Promise<boolean>;
  close(): void;
}

/**
 * Locks a folder until `close` or the end of the process, however it ends. Throws if the folder cannot be
 * written, or is locked by another process: see {@link isLocked}.
 */
export function lockFolder(folder: string): FolderLock {
  const file = `${folder}/${LOCK_FILE}`;
  // SQLite opens what cannot be written for reading, and then does not lock it.
  accessSync(folder, constants.W_OK | constants.X_OK);
  if (existsSync(file)) {
    accessSync(file, constants.W_OK);
  }
  const database = openLocked(file);
  const { dev, ino } = lstatSync(file);
  return {
    isHeld: () =>
      lstat(file).then(
        (found) => found.dev === dev && found.ino === ino,
        () => false,
      ),
    close: () => database.close(),
  };
}

/** Node has no flock. SQLite locks its file through the operating system. */
function openLocked(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file);
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    // A lock on a device or behind a link may exclude nobody.
    if (!lstatSync(file).isFile()) {
      throw new Error(`${file} is not a regular file`);
    }
    return database;
  } catch (error) {
    database?.close();
    if (database === undefined) {
      // SQLite hides the operating system's error; this throws it.
      closeSync(openSync(file, 'a'));
    }
    throw error;
  }
}

/** True if {@link lockFolder} failed because another process holds the lock. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}

/**
 * Replaces a file atomically. The temporary file has a fixed name, so that killed processes leave one at
 * most: only one process at a time may write the file. An iterable is written piece by piece. Above
 * `maxBytes`, an Error is thrown, and the file stays as it was.
 */
export async function replaceFile(
  file: string,
  text: string | Iterable<string>,
  maxBytes = Infinity,
  mode = 0o600,
): Promise<void> {
  const temporary = `${file}.new`;
  function* limited(): Generator<string> {
    let bytes = 0;
    for (const piece of typeof text === 'string' ? [text] : text) {
      bytes += Buffer.byteLength(piece);
      if (bytes > maxBytes) {
        throw new Error(`${file} would be larger than ${maxBytes / 1_024} KiB`);
      }
      yield piece;
    }
  }
  try {
    await writeFile(temporary, limited(), { mode, flush: true });
    await rename(temporary, file);
  } catch (error) {
    // On a full disk, the temporary file may hold the last free bytes.
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

export interface FileContent {
  readonly text: string;
  readonly mode: number;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'cannot be read by this process: permission denied',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not text in UTF-8',
};

/**
 * Reads a file as UTF-8, without a byte-order mark. Throws an Error whose message completes a sentence
 * that begins with the file, as in "does not exist".
 */
export async function readTextFile(path: string, maxBytes: number): Promise<FileContent> {
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) {
      throw new Error('is not a regular file');
    }
    if (stats.size > maxBytes) {
      throw new Error(`is larger than ${maxBytes / 1_024} KiB`);
    }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.readFile());
    return { text, mode: stats.mode };
  } catch (error) {
    const code = codeOf(error);
    const reason = code === undefined ? messageOf(error) : REASONS[code];
    throw new Error(reason ?? `cannot be read: ${code}`);
  }
}
