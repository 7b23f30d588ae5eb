/** Whether `run` could keep its marks, as far as that can be told without writing anything. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** What is wrong with the folder, and what would be right; undefined if nothing is, or none is used. */
export async function storageWarning(path: string): Promise<string | undefined> {
  if (path === '') {
    return undefined;
  }
  const folder = await nearestThatExists(resolve(path));
  const stats = await stat(folder);
  if (!stats.isDirectory()) {
    return `${path}: ${folder} is not a folder: name another one with --storage.path`;
  }
  const isWritable = await access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  return isWritable
    ? undefined
    : `${path}: ${folder} cannot be written by this user: chown it to the one that the exporter ` +
        'runs as, or name another folder with --storage.path';
}

/** The folder itself, or the one that it would be made in. */
async function nearestThatExists(path: string): Promise<string> {
  const exists = await stat(path).then(
    () => true,
    () => false,
  );
  return exists || path === dirname(path) ? path : nearestThatExists(dirname(path));
}
