/** Reads files whole, within a limit, and says in a few words why one cannot be read. */
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { codeOf } from '../base/errors.ts';

export interface FileContent {
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
}

/** Of a file of a configuration; secrets and marks have limits of their own. */
export const LARGEST_FILE_BYTES = 4 * 1_048_576;

/**
 * A text file as UTF-8, without a byte-order mark. Throws an Error whose message completes a
 * sentence that begins with the file, and says what would be right.
 */
export async function readTextFile(path: string, limitBytes: number): Promise<FileContent> {
  try {
    // Without waiting: opening a pipe that nobody writes to would never end.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { mode, size } = await regularFile(file);
      return { text: decode(await readUpTo(file, size, limitBytes)), mode: mode & 0o777 };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw error instanceof FileProblem ? error : new FileProblem(wordsFor(error));
  }
}

/** Whether there is anything, be it a link to nothing or in a folder that may not be looked into. */
export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => codeOf(error) === 'EACCES',
  );
}

class FileProblem extends Error {}

type FileHandle = Awaited<ReturnType<typeof open>>;

async function regularFile(
  file: FileHandle,
): Promise<{ readonly mode: number; readonly size: number }> {
  const stats = await file.stat();
  if (stats.isDirectory()) {
    throw new FileProblem('is a directory: name a file');
  }
  if (!stats.isFile()) {
    throw new FileProblem('is not a regular file: name a file');
  }
  return stats;
}

/** The size is where to begin: it may grow meanwhile, and some file systems do not know it. */
async function readUpTo(
  file: FileHandle,
  expectedBytes: number,
  limitBytes: number,
): Promise<Uint8Array> {
  if (expectedBytes > limitBytes) {
    throw tooLarge(limitBytes);
  }
  const chunkBytes = Math.min(Math.max(expectedBytes + 1, 1_024), 65_536);
  const chunks: Uint8Array[] = [];
  for (let size = 0; size <= limitBytes;) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, limitBytes + 1 - size));
    const { bytesRead } = await file.read(chunk, 0, chunk.length);
    if (bytesRead === 0) {
      return Buffer.concat(chunks);
    }
    chunks.push(chunk.subarray(0, bytesRead));
    size += bytesRead;
  }
  throw tooLarge(limitBytes);
}

function tooLarge(limitBytes: number): FileProblem {
  return new FileProblem(`is larger than ${sizeOf(limitBytes)}: give a smaller file`);
}

function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw new FileProblem('is in UTF-16: save it as UTF-8');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new FileProblem('is not text in UTF-8: save it as UTF-8');
  }
}

function sizeOf(bytes: number): string {
  return bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes / 1_024} KiB`;
}

function wordsFor(error: unknown): string {
  const code = codeOf(error) ?? 'unknown error';
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist: create it, or name another file';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by this process: change its owner or its permissions';
    case 'EISDIR':
      return 'is a directory: name a file';
    case 'ELOOP':
      return 'is a symbolic link that leads back to itself: name a file';
    default:
      return `cannot be read (${code}): name a file that can`;
  }
}
