/** The requests of the bench's service: how many, how many until the first baseline, and its responses while recording. */
import type { Endpoint } from '../../src/base/model.ts';

/** As the bench reads it. Requests are of data, tokens are counted apart. */
export interface ServiceState {
  readonly requests: number;
  readonly tokens: number;
  /** Streams whose first baseline was read: the request that it began with came again. */
  readonly baselines: number;
  /** The most requests that a stream needed for that. */
  readonly mostRequestsOfABaseline: number;
  /** When the first request of all came, and the end of the last first baseline, by the service's clock. */
  readonly firstRequestMs: number;
  readonly lastBaselineMs: number;
  /** Responses that {@link RequestCounter.recorded} has. */
  readonly recorded: number;
}

interface StreamRequests {
  readonly firstFrom: string;
  requests: number;
  hasBaseline: boolean;
  /** The clock minute of the newest request. */
  minute: number;
}

export class RequestCounter {
  readonly #streams = new Map<string, StreamRequests>();
  #recorded: Buffer[] = [];
  #isRecording = false;
  requests = 0;
  tokens = 0;
  #baselines = 0;
  #most = 0;
  #firstRequestMs = 0;
  #lastBaselineMs = 0;

  /** A request came. Returns whether it is the first of its stream in this minute of the clock; by branch there is no stream. */
  requested(customer: number, endpoint: Endpoint | 'branch', from: string, nowMs: number): boolean {
    this.requests += 1;
    this.#firstRequestMs ||= nowMs;
    if (endpoint === 'branch') {
      return false;
    }
    const name = `${customer} ${endpoint}`;
    const minute = Math.floor(nowMs / 60_000);
    const stream = this.#streams.get(name);
    if (stream === undefined) {
      this.#streams.set(name, { firstFrom: from, requests: 1, hasBaseline: false, minute });
      return false;
    }
    const isFirst = stream.minute !== minute;
    stream.minute = minute;
    if (stream.hasBaseline) {
      return isFirst;
    }
    stream.requests += 1;
    if (from === stream.firstFrom) {
      stream.hasBaseline = true;
      this.#baselines += 1;
      this.#most = Math.max(this.#most, stream.requests);
      this.#lastBaselineMs = nowMs;
    }
    return false;
  }

  responded(body: Buffer): void {
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
    return {
      requests: this.requests,
      tokens: this.tokens,
      baselines: this.#baselines,
      mostRequestsOfABaseline: this.#most,
      firstRequestMs: this.#firstRequestMs,
      lastBaselineMs: this.#lastBaselineMs,
      recorded: this.#recorded.length,
    };
  }
}
