/** Secrets in files of their own, which are read again when the service refuses one. */
import { Secret } from '../base/secret.ts';
import { readTextFile } from './read-file.ts';

const LARGEST_SECRET_BYTES = 65_536;

/**
 * The text of a file without its last line end. Throws an Error whose message completes a sentence
 * that begins with the file and holds no part of it.
 */
export async function readSecretFile(path: string): Promise<Secret> {
  return (await readSecretFileWithMode(path)).secret;
}

/** As above, with the file's permission bits. */
export async function readSecretFileWithMode(
  path: string,
): Promise<{ readonly secret: Secret; readonly mode: number }> {
  const { text, mode } = await readTextFile(path, LARGEST_SECRET_BYTES);
  const value = text.replace(/\r?\n$/, '');
  if (value === '') {
    throw new Error('is empty: write the secret into it');
  }
  return { secret: new Secret(value), mode };
}
