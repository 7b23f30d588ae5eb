/** How far a backfill is: a line of the log now and then, with an estimate of the time left. */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';

export interface Progress {
  /** How many requests were made so far. */
  request(): void;
  /** A customer's part of a month is there: read now, or left by an earlier run. */
  done(month: string, days: number, wasRead: boolean): void;
  requests(): number;
}

export interface ProgressOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Logger;
  readonly parts: number;
  readonly days: number;
}

const LINE_EVERY_MS = 10_000;

export function createProgress({ clock, log, parts, days }: ProgressOptions): Progress {
  const startMs = clock.monotonicMs();
  let lineAtMs = startMs;
  let requests = 0;
  let partsDone = 0;
  let daysDone = 0;
  let daysRead = 0;
  return {
    request() {
      requests += 1;
    },
    done(month, ofPart, wasRead) {
      partsDone += 1;
      daysDone += ofPart;
      daysRead += wasRead ? ofPart : 0;
      const nowMs = clock.monotonicMs();
      if (nowMs - lineAtMs < LINE_EVERY_MS) {
        return;
      }
      lineAtMs = nowMs;
      const leftMs =
        daysRead === 0 ? undefined : ((nowMs - startMs) / daysRead) * (days - daysDone);
      log.info('backfill goes on', {
        month,
        customer_months: partsDone,
        customer_months_of: parts,
        days: Math.round(daysDone),
        days_of: Math.round(days),
        requests,
        seconds_left: leftMs === undefined ? undefined : Math.ceil(leftMs / 1_000),
      });
    },
    requests: () => requests,
  };
}
