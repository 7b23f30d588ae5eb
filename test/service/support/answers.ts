/** Answers as the decoders get them, and what they say of bad ones. */
import { ServiceError } from '../../../src/base/errors.ts';

export function answer(value: unknown, contentType: string | undefined = 'application/json') {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { contentType, body: Buffer.from(text) };
}

export function complaint(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ServiceError && error.reason === 'malformed' && error.status === 200) {
      return error.message;
    }
    throw error;
  }
  throw new Error('Nothing was thrown');
}
