/**
 * What kept-worker.ts needs of each test file: tests say when they begin, and the next file is loaded without a
 * change. StrykerJS switches that on before the first test of a file.
 */
import { afterAll, beforeEach } from 'vitest';

declare global {
  var __stryker__: { activeMutant?: string | undefined } | undefined;
}

beforeEach(() => {
  process.send?.({ begins: true });
});

afterAll(() => {
  if (globalThis.__stryker__ !== undefined) {
    globalThis.__stryker__.activeMutant = undefined;
  }
});
