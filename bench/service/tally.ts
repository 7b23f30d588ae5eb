/** What the bench's service was asked: how often, by whom first, and what it answered while recording. */
import type { Endpoint } from '../../src/base/model.ts';

/** As the bench reads it. Requests are of data, tokens are counted apart. */
export interface ServiceState {
  readonly requests: number;
  readonly tokens: number;
  /** Streams whose first anchor has ended: the question it began with was asked again. */
  readonly anchored: number;
  /** The most requests that a stream needed for that. */
  readonly mostRequestsOfAnAnchor: number;
  /** When the first request of all came, and the end of the last first anchor; of the service's clock. */
  readonly firstRequestMs: number;
  readonly lastAnchoredMs: number;
  /** Answers that {@link Tally.recorded} has. */
  readonly recorded: number;
  /** Of those, the median of their bytes. */
  readonly medianBytes: number;
}

interface StreamTally {
  readonly firstFrom: string;
  requests: number;
  anchored: boolean;
  /** The clock minute of the newest request. */
  minute: number;
}

export class Tally {
  readonly #streams = new Map<string, StreamTally>();
  #recorded: Buffer[] = [];
  #isRecording = false;
  requests = 0;
  tokens = 0;
  #anchored = 0;
  #most = 0;
  #firstRequestMs = 0;
  #lastAnchoredMs = 0;

  /** A question has come. Says whether it is the first of its stream in this minute of the clock. */
  asked(customer: number, endpoint: Endpoint, from: string, nowMs: number): boolean {
    this.requests += 1;
    this.#firstRequestMs ||= nowMs;
    const name = `${customer} ${endpoint}`;
    const minute = Math.floor(nowMs / 60_000);
    const stream = this.#streams.get(name);
    if (stream === undefined) {
      this.#streams.set(name, { firstFrom: from, requests: 1, anchored: false, minute });
      return false;
    }
    const isFirst = stream.minute !== minute;
    stream.minute = minute;
    if (stream.anchored) {
      return isFirst;
    }
    stream.requests += 1;
    if (from === stream.firstFrom) {
      stream.anchored = true;
      this.#anchored += 1;
      this.#most = Math.max(this.#most, stream.requests);
      this.#lastAnchoredMs = nowMs;
    }
    return false;
  }

  answered(body: Buffer): void {
    if (this.#isRecording) {
      this.#recorded.push(body);
    }
  }

  /** Forgets what was recorded, and begins again. */
  record(): void {
    this.#recorded = [];
    this.#isRecording = true;
  }

  stopRecording(): void {
    this.#isRecording = false;
  }

  recorded(number: number): Buffer {
    return this.#recorded[number] ?? Buffer.alloc(0);
  }

  get state(): ServiceState {
    const bytes = this.#recorded.map(({ length }) => length).toSorted((a, b) => a - b);
    return {
      requests: this.requests,
      tokens: this.tokens,
      anchored: this.#anchored,
      mostRequestsOfAnAnchor: this.#most,
      firstRequestMs: this.#firstRequestMs,
      lastAnchoredMs: this.#lastAnchoredMs,
      recorded: bytes.length,
      medianBytes: bytes[Math.floor(bytes.length / 2)] ?? 0,
    };
  }
}
