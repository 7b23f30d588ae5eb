/** Reads one customer's month from the service, with longer retries than a poll has. */
import { systemClock } from '../../base/clock.ts';
import { isTransient } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { AggregatedResponse, MinuteStream, Question } from '../../base/model.ts';
import { accessOf } from '../../config/secret-file.ts';
import { readBreakdownHistory } from '../../counting/breakdown-history.ts';
import type { BreakdownHistory } from '../../counting/breakdown-history.ts';
import { MINUTE_MS } from '../../counting/calendar.ts';
import { readMinuteHistory, UNKNOWN_FORMAT } from '../../counting/minute-history.ts';
import type { MinuteFormat, MinuteHistory } from '../../counting/minute-history.ts';
import type { Service, WholeClient } from '../../service/types.ts';
import type { BackfillTarget, MonthPart } from './targets.ts';

export interface PartHistory {
  readonly streams: Readonly<Partial<Record<MinuteStream, MinuteHistory>>>;
  readonly breakdowns: readonly BreakdownHistory[];
}

/** Waits before each retry, unless the service says how long to wait. */
const RETRY_WAITS_MS = [5_000, 15_000, 30_000, 60_000, 60_000];

/** Kept from month to month. */
interface ClientState {
  readonly client: WholeClient;
  readonly formats: Map<MinuteStream, MinuteFormat>;
}

export class HistoryReader {
  readonly #service: Service;
  readonly #timeoutMs: number;
  readonly #log: Logger;
  readonly #stop: AbortSignal;
  readonly #clients = new Map<BackfillTarget, ClientState>();

  constructor(service: Service, timeoutMs: number, log: Logger, stop: AbortSignal) {
    this.#service = service;
    this.#timeoutMs = timeoutMs;
    this.#log = log;
    this.#stop = stop;
  }

  /** Throws a ServiceError unless everything was read. */
  async read({ target, period, range }: MonthPart): Promise<PartHistory> {
    const { config, calendar } = target;
    const state = this.#clients.get(target) ?? {
      client: this.#service.clientFor(accessOf(config)),
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

  async #query(question: Question, client: WholeClient): Promise<AggregatedResponse> {
    for (let attempt = 0; ; attempt += 1) {
      const waitMs = RETRY_WAITS_MS[attempt];
      const deadline = AbortSignal.timeout(2 * this.#timeoutMs);
      try {
        return await client.query(question, AbortSignal.any([this.#stop, deadline]));
      } catch (error) {
        this.#stop.throwIfAborted();
        if (waitMs === undefined || !isTransient(error)) {
          throw error;
        }
        const ms = Math.ceil(error.retryAfterMs ?? waitMs);
        this.#log.warn('service not available, retrying', {
          reason: error.reason,
          error: error.message,
          wait_seconds: Math.ceil(ms / 1_000),
        });
        await systemClock.sleep(ms, this.#stop);
      }
    }
  }
}
