/** Reads text files with a limit, and says in a few words why one cannot be read. */
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { codeOf } from '../base/errors.ts';

export interface FileContent {
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export const MAX_CONFIG_FILE_BYTES = 4 * 1_048_576;

type FileHandle = Awaited<ReturnType<typeof open>>;

class UnreadableFile extends Error {}

/**
 * Reads a file as UTF-8, without a byte-order mark. Throws an Error whose message completes a sentence
 * that begins with the file, as in "does not exist".
 */
export async function readTextFile(path: string, maxBytes: number): Promise<FileContent> {
  let file: FileHandle | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) {
      throw new UnreadableFile(stats.isDirectory() ? 'is a directory' : 'is not a regular file');
    }
    const { mode, uid, gid, size } = stats;
    const text = decode(await readBytes(file, size, maxBytes));
    return { text, mode: mode & 0o777, uid, gid };
  } catch (error) {
    throw error instanceof UnreadableFile ? error : new UnreadableFile(reasonOf(error));
  } finally {
    await file?.close();
  }
}

/** Whether there is anything, be it a broken link or in a folder that cannot be searched. */
export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => codeOf(error) === 'EACCES',
  );
}

/** A file may grow meanwhile, and some file systems do not know its size. */
async function readBytes(file: FileHandle, size: number, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const chunkBytes = Math.min(Math.max(size + 1, 1_024), 65_536);
  for (let bytes = 0; bytes <= maxBytes && size <= maxBytes;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes);
    if (bytesRead === 0) {
      return Buffer.concat(chunks);
    }
    chunks.push(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
  }
  throw new UnreadableFile(`is larger than ${maxBytes / 1_024} KiB`);
}

function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw new UnreadableFile('is in UTF-16, expected UTF-8');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableFile('is not text in UTF-8');
  }
}

function reasonOf(error: unknown): string {
  const code = codeOf(error) ?? 'unknown error';
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'cannot be read by this process: permission denied';
    case 'ELOOP':
      return 'is a symbolic link to itself';
    default:
      return `cannot be read: ${code}`;
  }
}
