/** Reading and atomic replacement of files, and a lock on a folder against a second process. */
import { constants } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { codeOf, messageOf } from './errors.ts';

/** The lock file; it stays in the folder when the lock is released. */
const LOCK_FILE = 'lock';
/** SQLite's result code for a file that another connection has locked. */
const SQLITE_BUSY = 5;

export interface FolderLock {
  close(): void;
}

/**
 * Locks a folder until `close` or the end of the process, however it ends. Throws if the folder cannot be
 * written, or is locked by another process: see {@link isLocked}.
 */
export function lockFolder(folder: string): FolderLock {
  // Node has no flock. SQLite locks its file through the operating system.
  const database = new DatabaseSync(`${folder}/${LOCK_FILE}`);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** True if {@link lockFolder} failed because another process holds the lock. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}

/**
 * Replaces a file atomically. The temporary file has a fixed name, so that killed processes leave one at
 * most: only one process at a time may write the file. An iterable is written piece by piece.
 */
export async function replaceFile(file: string, text: string | Iterable<string>): Promise<void> {
  const temporary = `${file}.new`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flush: true });
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
