/** Durations of polls: their values may be of any instant within. */
import type { Stream } from '../../src/base/model.ts';

export class PollTimes {
  readonly #tookMs = new Map<string, number>();

  /** A successful poll ended at `endMs` by the exporter's clock. */
  ended(exporter: string, stream: Stream, endMs: number, tookMs: number): void {
    const key = keyOf(exporter, stream, endMs);
    this.#tookMs.set(key, Math.max(tookMs, this.#tookMs.get(key) ?? 0));
  }

  /** The longest poll that ended in this millisecond. */
  tookMs(exporter: string, stream: Stream, endMs: number): number {
    const key = keyOf(exporter, stream, endMs);
    const tookMs = this.#tookMs.get(key);
    if (tookMs === undefined) {
      throw new Error(`no such poll: ${key}`);
    }
    return tookMs;
  }
}

function keyOf(exporter: string, stream: Stream, endMs: number): string {
  return `${exporter} ${stream} ${Math.round(endMs)}`;
}
