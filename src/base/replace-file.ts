/** Files that have either their old text or the new one, whenever the process ends. */
import { rename, rm, writeFile } from 'node:fs/promises';

/**
 * Replaces a file whole. The unfinished one always has the same name, so that however often the
 * process is killed there is one at most: only one process at a time may write it. The text may come
 * in pieces, each written before the next is asked for. `writeFile` goes on after a short write, as on a disk that is full, until it is whole or fails; one that was taken
 * for whole would replace a good file by a torn one.
 */
export async function replaceFile(file: string, text: string | Iterable<string>): Promise<void> {
  const unfinished = `${file}.new`;
  try {
    await writeFile(unfinished, text, { mode: 0o600, flush: true });
    await rename(unfinished, file);
  } catch (error) {
    // It may hold the last bytes of a full disk.
    await rm(unfinished, { force: true }).catch(() => {});
    throw error;
  }
}
