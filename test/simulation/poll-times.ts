/** How long the polls took, which bounds the instants that what they show may be of. */
import type { Stream } from '../../src/base/model.ts';

export class PollTimes {
  readonly #tookMs = new Map<string, number>();

  /** A good poll has ended, at `endMs` by the clock of the exporter. */
  ended(exporter: string, stream: Stream, endMs: number, tookMs: number): void {
    const key = keyOf(exporter, stream, endMs);
    this.#tookMs.set(key, Math.max(tookMs, this.#tookMs.get(key) ?? 0));
  }

  /** The longest of those that ended in this millisecond. */
  tookMs(exporter: string, stream: Stream, endMs: number): number {
    const key = keyOf(exporter, stream, endMs);
    const tookMs = this.#tookMs.get(key);
    if (tookMs === undefined) {
      throw new Error(`no poll has ended so: ${key}`);
    }
    return tookMs;
  }
}

function keyOf(exporter: string, stream: Stream, endMs: number): string {
  return `${exporter} ${stream} ${Math.round(endMs)}`;
}
