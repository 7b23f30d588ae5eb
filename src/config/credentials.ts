/** The credentials of a customer, with a secret that may change in its file. */
import { readTextFile } from '../base/files.ts';
import type { FileContent } from '../base/files.ts';
import { Secret } from '../base/secret.ts';
import type { CustomerConfig } from './types.ts';

export const MAX_SECRET_BYTES = 65_536;

/**
 * Returns what the service's client needs to know of a customer. `readSecret` reads a secret file at each
 * call, and throws an Error without the file's content.
 */
export function accessOf({ name, clientId, clientSecret: { path, secret } }: CustomerConfig) {
  async function readSecret(): Promise<Secret> {
    return path === undefined ? secret : parseSecret(await readTextFile(path, MAX_SECRET_BYTES));
  }
  return { name, clientId, readSecret };
}

/** Returns the text of a file without its last line end. Throws an Error if there is none. */
export function parseSecret({ text }: FileContent): Secret {
  const value = text.replace(/\r?\n$/, '');
  if (value === '') {
    throw new Error('is empty, expected the secret');
  }
  return new Secret(value);
}
