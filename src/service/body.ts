/** The bytes of an answer: how many are taken, and the compression undone within the same bound. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { codeOf, ServiceError } from '../base/errors.ts';

/** Decoded; compressed bytes have the same bound, so a bomb cannot be larger than this either. */
export const LONGEST_BODY_BYTES = 8 * 1024 * 1024;

const unzip = promisify(gunzip);
const EMPTY = new Uint8Array();

/**
 * The body without its compression. Throws a ServiceError `malformed` where that cannot be done;
 * for a status other than 200 the body matters little, and is empty then.
 */
export async function decodedBody(
  body: Uint8Array,
  encoding: string | undefined,
  status: number,
  title: string,
): Promise<Uint8Array> {
  const coding = (encoding ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity') {
    return body;
  }
  try {
    if (coding !== 'gzip' && coding !== 'x-gzip') {
      throw new ServiceError(
        'malformed',
        `${title}: the answer has a compression that was not asked for; only gzip is`,
        { status },
      );
    }
    return await unzip(body, { maxOutputLength: LONGEST_BODY_BYTES });
  } catch (error) {
    if (status !== 200) {
      return EMPTY;
    }
    throw error instanceof ServiceError ? error : unzipError(error, title);
  }
}

export function tooLong(title: string, status: number | undefined): ServiceError {
  return new ServiceError(
    'malformed',
    `${title}: the answer is longer than ${LONGEST_BODY_BYTES / 1024 / 1024} MiB`,
    status === undefined ? {} : { status },
  );
}

function unzipError(error: unknown, title: string): ServiceError {
  return codeOf(error) === 'ERR_BUFFER_TOO_LARGE'
    ? tooLong(title, 200)
    : new ServiceError('malformed', `${title}: the compression of the answer is damaged`, {
        status: 200,
      });
}
