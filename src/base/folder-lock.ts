/** A lock on a folder against a second process. It ends with the process, however that ends. */
import { DatabaseSync } from 'node:sqlite';

/** Stays in the folder when the lock has ended. */
export const LOCK_FILE = 'lock';
/** SQLite's result code for a file that another connection has locked. */
const SQLITE_BUSY = 5;

export interface FolderLock {
  close(): void;
}

/** Throws where the folder cannot be written, or is locked by somebody else: {@link isLocked} tells. */
export function lockFolder(folder: string): FolderLock {
  // The lock of a database file is the system's own.
  const database = new DatabaseSync(`${folder}/${LOCK_FILE}`);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** Whether this error says that another process has the lock. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}
