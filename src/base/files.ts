/** Reading and atomic replacement of files, and folders for them. */
import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, lstatSync, readlinkSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute } from 'node:path';
import { codeOf, messageOf } from './errors.ts';

/**
 * Returns the path behind links, and what is there, if anything. A link to a pipe, as /dev/stdout may be, has
 * no path behind it. Throws the operating system's error.
 */
function behindLinks(file: string): { path: string; stats: Stats | undefined } {
  const stats = statSync(file, { throwIfNoEntry: false });
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (!isLink || stats?.isFile() === false) {
    return { path: file, stats };
  }
  const target = readlinkSync(file);
  return behindLinks(isAbsolute(target) ? target : `${dirname(file)}/${target}`);
}

/** Throws an Error if {@link replaceFile} cannot write a file. */
export function requireWritable(file: string): void {
  const { path, stats } = behindLinks(file);
  if (stats?.isDirectory() === true) {
    throw new Error(`${file} is a folder`);
  }
  const isReplaced = stats?.isFile() ?? true;
  accessSync(isReplaced ? dirname(path) : path, constants.W_OK);
}

/**
 * Creates a folder, and those that it is in. Throws the operating system's error. Node.js's own way with
 * `recursive` never ends below /proc.
 */
export async function createFolder(path: string): Promise<void> {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) {
    await createFolder(parent);
  }
  await mkdir(path, { mode: 0o750 }).catch((error: unknown) => {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw error;
    }
  });
}

/**
 * Replaces a file, or the one that a link names, atomically and with its mode, which others cannot write.
 * Writes to what is no regular file, such as a device or a pipe. The temporary file, which a killed process
 * leaves, is in the same folder: `FILE.*.new`. Content is written piece by piece. Returns the number of bytes.
 * Above `maxBytes`, an Error is thrown, and the file stays as it was.
 */
export async function replaceFile(
  file: string,
  content: string | Iterable<string> | AsyncIterable<string | Buffer>,
  mode = 0o600,
  maxBytes = Infinity,
): Promise<number> {
  let bytes = 0;
  async function* limited() {
    for await (const piece of typeof content === 'string' ? [content] : content) {
      bytes += Buffer.byteLength(piece);
      if (bytes > maxBytes) {
        throw new Error(`${file} would be larger than ${maxBytes / 1_024} KiB`);
      }
      yield piece;
    }
  }
  const { path, stats } = behindLinks(file);
  if (stats?.isFile() === false) {
    await writeFile(path, limited());
    return bytes;
  }
  const temporary = `${path}.${randomUUID()}.new`;
  // Fails for a link, too, that somebody made with this name.
  const output = await open(temporary, 'wx', mode);
  try {
    if (stats !== undefined) {
      await output.chmod(stats.mode & 0o775);
    }
    await output.writeFile(limited());
    await output.sync();
    await output.close();
    await rename(temporary, path);
    return bytes;
  } catch (error) {
    await output.close();
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
