/** Reads one customer's month from the service, with longer retries than a poll has. */
import type { Logger } from '../../base/log.ts';
import type { AggregatedResponse, MinuteStream, Question } from '../../base/model.ts';
import { accessOf } from '../../config/secret-file.ts';
import { readBreakdownHistory } from '../../counting/breakdown-history.ts';
import type { BreakdownHistory } from '../../counting/breakdown-history.ts';
import { MINUTE_MS } from '../../counting/calendar.ts';
import { readMinuteHistory, UNKNOWN_FORMAT } from '../../counting/minute-history.ts';
import type { MinuteFormat, MinuteHistory } from '../../counting/minute-history.ts';
import type { RetryPolicy } from '../../service/retry.ts';
import type { CustomerClient, Service } from '../../service/types.ts';
import type { BackfillTarget, MonthPart } from './targets.ts';

export interface PartHistory {
  readonly streams: Readonly<Partial<Record<MinuteStream, MinuteHistory>>>;
  readonly breakdowns: readonly BreakdownHistory[];
}

/** Enough for an outage of some minutes, and for any Retry-After. */
const MAX_ATTEMPTS = 18;
const MAX_WAIT_MS = 3_600_000;
const MIN_LOGGED_WAIT_MS = 5_000;

/** Kept from month to month. */
interface ClientState {
  readonly client: CustomerClient;
  readonly formats: Map<MinuteStream, MinuteFormat>;
}

export class HistoryReader {
  readonly #service: Service;
  readonly #log: Logger;
  readonly #stop: AbortSignal;
  readonly #clients = new Map<BackfillTarget, ClientState>();

  constructor(service: Service, log: Logger, stop: AbortSignal) {
    this.#service = service;
    this.#log = log;
    this.#stop = stop;
  }

  /** Throws a ServiceError unless everything was read. */
  async read({ target, period, range }: MonthPart): Promise<PartHistory> {
    const { config, calendar } = target;
    const state = this.#clients.get(target) ?? {
      client: this.#service.clientFor(accessOf(config), this.#retries()),
      formats: new Map<MinuteStream, MinuteFormat>(),
    };
    this.#clients.set(target, state);
    const query = (question: Question): Promise<AggregatedResponse> =>
      this.#query(question, state.client);
    const minutes = {
      startMs: period.startMs,
      endMs: Math.ceil(range.endMs / MINUTE_MS) * MINUTE_MS,
    };
    const secondDayMs = calendar.dayAt(period.startMs).endMs;
    const streams: Partial<Record<MinuteStream, MinuteHistory>> = {};
    await Promise.all(
      config.streams.map(async (stream) => {
        const read = await readMinuteHistory(
          { stream, calendar, span: minutes, needsDayBefore: range.startMs < secondDayMs },
          state.formats.get(stream) ?? UNKNOWN_FORMAT,
          query,
        );
        state.formats.set(stream, read.format);
        streams[stream] = read.history;
      }),
    );
    const span = { startMs: period.startMs, endMs: range.endMs };
    const breakdowns: BreakdownHistory[] = [];
    for (const breakdown of config.breakdowns) {
      breakdowns.push(await readBreakdownHistory(breakdown, calendar, span, range.startMs, query));
    }
    return { streams, breakdowns };
  }

  async #query(question: Question, client: CustomerClient): Promise<AggregatedResponse> {
    try {
      return await client.query(question, this.#stop);
    } catch (error) {
      this.#stop.throwIfAborted();
      throw error;
    }
  }

  #retries(): RetryPolicy {
    return {
      maxAttempts: MAX_ATTEMPTS,
      maxWaitMs: MAX_WAIT_MS,
      onWait: ({ reason, message }, waitMs) => {
        if (waitMs >= MIN_LOGGED_WAIT_MS) {
          this.#log.warn('service not available, retrying', {
            reason,
            error: message,
            wait_seconds: Math.ceil(waitMs / 1_000),
          });
        }
      },
    };
  }
}
