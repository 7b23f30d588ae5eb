/** A small service that can be made to answer wrongly, and the stream that is counted from it. */
import type { Question, AggregatedResponse } from '../../src/base/model.ts';
import { Zone } from '../../src/counting/zone.ts';
import { CountedStream } from '../support/counted-stream.ts';
import { SmallService } from '../support/small-service.ts';
import type { SmallConventions } from '../support/small-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const COPENHAGEN = new Zone('Europe/Copenhagen');

/** A Wednesday, 11:00 in Copenhagen. */
export const START_MS = Date.UTC(2026, 10, 18, 10);

const PERIOD_MS = Date.UTC(2026, 10, 1, 3);

export function worldOf(conventions: Partial<SmallConventions> = {}) {
  const service = new SmallService(COPENHAGEN, 2, conventions);
  let distort: Distortion = asItIs;
  const counted = new CountedStream(COPENHAGEN, START_MS, (question, nowMs) =>
    distort(service.answer(question, nowMs), question),
  );
  function record(eventMs: number, counts: readonly number[], arrivalMs = eventMs): void {
    service.records.push({ eventMs, arrivalMs, counts });
  }
  record(START_MS - 5 * 24 * HOUR_MS, [40, 38]);
  record(START_MS - 2 * HOUR_MS, [5, 0]);
  record(START_MS - 7 * MINUTE_MS, [2, 1]);
  return {
    counted,
    service,
    record,
    distort: (by: Distortion) => {
      distort = by;
    },
    truth: () => service.total(PERIOD_MS, counted.nowMs),
    minutes: async (count: number) => {
      for (let i = 0; i < count; i++) {
        counted.nowMs += MINUTE_MS;
        await counted.poll();
      }
    },
  };
}

type Distortion = (reading: AggregatedResponse, question: Question) => AggregatedResponse;

function asItIs(reading: AggregatedResponse): AggregatedResponse {
  return reading;
}
