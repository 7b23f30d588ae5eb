/** Secrets in files of their own, which are read again when the service refuses one. */
import { Secret } from '../base/secret.ts';
import { readTextFile } from './read-file.ts';
import type { CustomerConfig } from './types.ts';

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

/** What the service's client needs of a customer: a secret in a file is read each time it is asked for. */
export function accessOf({ name, clientId, clientSecret }: CustomerConfig): {
  readonly name: string;
  readonly clientId: string;
  readonly readSecret: () => Promise<Secret>;
} {
  const { path, secret } = clientSecret;
  return {
    name,
    clientId,
    readSecret: () => (path === undefined ? Promise.resolve(secret) : readSecretFile(path)),
  };
}
