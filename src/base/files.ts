/** Atomic file replacement, and a lock on a folder against a second process. */
import { rename, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';

/** The lock file; it stays in the folder when the lock is released. */
export const LOCK_FILE = 'lock';
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
