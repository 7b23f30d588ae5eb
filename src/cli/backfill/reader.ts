/** Asks the service for the history of one customer and month, with more patience than a poll has. */
import type { Clock } from '../../base/clock.ts';
import { isTransient } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { MinuteStream, Question, AggregatedResponse } from '../../base/model.ts';
import { readBreakdownHistory } from '../../counting/breakdown-history.ts';
import type { BreakdownHistory } from '../../counting/breakdown-history.ts';
import { MINUTE_MS } from '../../counting/calendar.ts';
import { NOTHING_LEARNT, readMinuteHistory } from '../../counting/minute-history.ts';
import type { Learnt, MinuteHistory } from '../../counting/minute-history.ts';
import type { Service, WholeClient } from '../../service/types.ts';
import { accessOf } from '../../config/secret-file.ts';
import type { Part, Subject } from './plan.ts';

export interface PartHistory {
  readonly streams: Readonly<Partial<Record<MinuteStream, MinuteHistory>>>;
  readonly breakdowns: readonly BreakdownHistory[];
}

export interface ReaderOptions {
  readonly service: Service;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly stop: AbortSignal;
}

/** Where the service does not say how long to wait, so long, one after the other. */
const WAITS_MS = [5_000, 15_000, 30_000, 60_000, 60_000];

interface Acquaintance {
  readonly client: WholeClient;
  readonly learnt: Map<MinuteStream, Learnt>;
}

export class Reader {
  readonly #options: ReaderOptions;
  readonly #acquaintances = new Map<Subject, Acquaintance>();

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Throws a ServiceError where anything is missing. */
  async read(part: Part): Promise<PartHistory> {
    const { subject } = part;
    const { config } = subject;
    const known = this.#acquaintances.get(subject) ?? {
      client: this.#options.service.clientFor(accessOf(config)),
      learnt: new Map(),
    };
    this.#acquaintances.set(subject, known);
    const streams: Partial<Record<MinuteStream, MinuteHistory>> = {};
    await Promise.all(
      config.streams.map(async (stream) => {
        streams[stream] = await this.#readMinutes(part, stream, known);
      }),
    );
    const breakdowns: BreakdownHistory[] = [];
    for (const breakdown of config.breakdowns) {
      const history = await readBreakdownHistory(
        {
          breakdown,
          calendar: subject.calendar,
          span: { startMs: part.epoch.startMs, endMs: part.told.endMs },
          toldFromMs: part.told.startMs,
        },
        (question) => this.#ask(question, known.client),
      );
      breakdowns.push(history);
    }
    return { streams, breakdowns };
  }

  async #readMinutes(
    { subject, epoch, told }: Part,
    stream: MinuteStream,
    { client, learnt }: Acquaintance,
  ): Promise<MinuteHistory> {
    const { calendar } = subject;
    const second = calendar.dayAt(calendar.dayAt(epoch.startMs).endMs);
    const read = await readMinuteHistory(
      {
        stream,
        calendar,
        span: {
          startMs: epoch.startMs,
          endMs: Math.ceil(told.endMs / MINUTE_MS) * MINUTE_MS,
        },
        needsDayBefore: told.startMs < second.startMs,
      },
      learnt.get(stream) ?? NOTHING_LEARNT,
      (question) => this.#ask(question, client),
    );
    learnt.set(stream, read.learnt);
    return read.history;
  }

  async #ask(question: Question, client: WholeClient): Promise<AggregatedResponse> {
    const { timeoutMs, clock, log, stop } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const waitMs = WAITS_MS[attempt];
      try {
        const deadline = AbortSignal.timeout(2 * timeoutMs);
        return await client.query(question, AbortSignal.any([stop, deadline]));
      } catch (error) {
        if (waitMs === undefined || stop.aborted || !isTransient(error)) {
          throw error;
        }
        const ms = Math.ceil(error.retryAfterMs ?? waitMs);
        log.warn('the service does not answer, asking again after a while', {
          reason: error.reason,
          error: error.message,
          wait_seconds: Math.ceil(ms / 1_000),
        });
        await clock.sleep(ms, stop);
      }
    }
  }
}
