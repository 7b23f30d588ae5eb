/**
 * The figures of the past against those of a running customer: polled every minute of two days, over a
 * start of the month, it has shown at each instant what the history says of it afterwards.
 */
import { describe, expect, test } from 'vitest';
import { COUNTERS } from '../../src/base/model.ts';
import type { MinuteStream, Question, AggregatedResponse } from '../../src/base/model.ts';
import { Calendar } from '../../src/counting/calendar.ts';
import { Customer } from '../../src/counting/customer.ts';
import type { CustomerDescription } from '../../src/counting/description.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { HistoryWalk } from '../../src/counting/history.ts';
import type { CountingPeriodHistory } from '../../src/counting/history.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { NOTHING_LEARNT, readMinuteHistory } from '../../src/counting/minute-history.ts';
import type { MinuteHistory } from '../../src/counting/minute-history.ts';
import { parseOpeningHours } from '../../src/counting/opening-hours.ts';
import type { PollContext } from '../../src/counting/state.ts';
import { pollStream } from '../../src/counting/stream.ts';
import { Zone } from '../../src/counting/zone.ts';
import { queryFrom } from '../support/ask.ts';
import { SmallService } from '../support/small-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ZONE = new Zone('Europe/Copenhagen');
const DESCRIPTION: CustomerDescription = {
  labels: { region: 'north' },
  capacity: 120,
  openingHours: parseOpeningHours('Mo-Su 08:00-20:00', undefined),
};
const STREAMS = ['people', 'logins'] as const;
/** What is known of the past. */
type Told = Pick<
  CustomerMetrics,
  'labels' | 'utcOffsetSeconds' | 'periodStartMs' | 'capacity' | 'open' | 'occupancy'
> & { readonly counts: unknown; readonly lastSeen: unknown };

function told(figures: CustomerMetrics): Told {
  const { labels, utcOffsetSeconds, periodStartMs, capacity, open, occupancy, counters } = figures;
  return {
    labels,
    utcOffsetSeconds,
    periodStartMs,
    capacity,
    open,
    occupancy,
    counts: Object.entries(counters).map(([kind, { total, today }]) => [kind, total, today]),
    lastSeen: STREAMS.map((stream) => figures.streams[stream]?.lastSeenMs),
  };
}

/** Comes and goes by a rule, mostly in the day, some at night. */
class Town {
  readonly services = {
    people: new SmallService(ZONE, 2),
    logins: new SmallService(ZONE, 1),
  } as const;

  constructor(fromMs: number, toMs: number) {
    // Never at a whole minute, at which a poll would have seen the first of the next one already.
    for (let atMs = fromMs + 500, i = 0; atMs < toMs; atMs += 7 * MINUTE_MS + 13_000, i += 1) {
      const hour = new Date(atMs).getUTCHours();
      if (hour > 6 || i % 9 === 0) {
        const counts = [(i % 3) + (hour < 12 ? 1 : 0), (i + 1) % 4];
        this.services.people.records.push({ eventMs: atMs, arrivalMs: atMs, counts });
        this.services.logins.records.push({ eventMs: atMs, arrivalMs: atMs, counts: [i % 2] });
      }
    }
  }

  /** What it answers at an instant; the small service knows no end of a window, so it is cut here. */
  answer(stream: MinuteStream, question: Question, nowMs: number): AggregatedResponse {
    const { to } = question;
    return this.services[stream].answer(
      question,
      to === undefined ? nowMs : Math.min(nowMs, Date.parse(to) - 1),
    );
  }
}

class Live {
  readonly customer: Customer;
  readonly #town: Town;

  constructor(town: Town, calendar: Calendar) {
    this.#town = town;
    this.customer = new Customer({
      name: 'riverside',
      timezone: ZONE.name,
      description: DESCRIPTION,
      calendar,
      streams: STREAMS,
      owner: { service: 'https://s.example.org', clientId: 'api', customer: 'riverside' },
      marks: new HighWaterMarks(),
    });
  }

  /** Whether every counter is of the poll at this instant. */
  hasShown(atMs: number): boolean {
    return STREAMS.every((stream) => this.customer.stateOf(stream).snapshot?.atMs === atMs);
  }

  async poll(nowMs: number): Promise<void> {
    for (const stream of STREAMS) {
      const { customer } = this;
      const epoch = customer.periodAt(nowMs);
      const context: PollContext = {
        stream,
        counterCount: COUNTERS[stream].length,
        calendar: customer.calendar,
        epoch,
        nowMs: () => nowMs,
        serviceNowMs: () => nowMs,
        monotonicMs: nowMs,
        renewalMs: nowMs - (nowMs % HOUR_MS),
        hasTime: () => true,
        mayAnchor: true,
        marks: customer.marksOf(stream, epoch),
      };
      const query = queryFrom((question) => this.#town.answer(stream, question, nowMs));
      const { state } = await pollStream(customer.stateOf(stream), context, query);
      customer.pollSucceeded(stream, state, nowMs);
    }
  }
}

async function historyOf(
  town: Town,
  calendar: Calendar,
  atMs: number,
  endMs: number,
  ceilings: CountingPeriodHistory['ceilings'] = {},
): Promise<HistoryWalk> {
  const epoch = calendar.periodAt(atMs);
  const span = { startMs: epoch.startMs, endMs: Math.min(epoch.endMs, endMs) };
  const streams: Partial<Record<MinuteStream, MinuteHistory>> = {};
  for (const stream of STREAMS) {
    const { history } = await readMinuteHistory(
      { stream, calendar, span, needsDayBefore: true },
      NOTHING_LEARNT,
      queryFrom((question) => town.answer(stream, question, endMs)),
    );
    streams[stream] = history;
  }
  return new HistoryWalk({
    customer: 'riverside',
    timezone: ZONE.name,
    description: DESCRIPTION,
    calendar,
    epoch,
    streams,
    ceilings,
  });
}

describe('history', () => {
  const calendar = new Calendar(ZONE, { hour: 4, minute: 0 });
  const fromMs = Date.parse('2026-10-24T10:00:00Z');
  const endMs = Date.parse('2026-11-02T12:00:00Z');
  const town = new Town(fromMs, endMs);

  test.each([
    ['over a start of the month', '2026-10-31T18:00:00Z', 24],
    ['over a night in which clocks are set back', '2026-10-24T20:00:00Z', 14],
  ])(
    'has at each minute the figures that were shown then, %s',
    { timeout: 120_000 },
    async (_name, start, hours) => {
      const live = new Live(town, calendar);
      const startMs = Date.parse(start);
      let walk: HistoryWalk | undefined;
      let periodMs = NaN;
      const shown: unknown[] = [];
      const past: unknown[] = [];
      for (let atMs = startMs; atMs < startMs + hours * HOUR_MS; atMs += MINUTE_MS) {
        await live.poll(atMs);
        const { startMs: ofPeriodMs } = calendar.periodAt(atMs);
        walk =
          walk === undefined || ofPeriodMs !== periodMs
            ? await historyOf(town, calendar, atMs, endMs)
            : walk;
        periodMs = ofPeriodMs;
        const ofPast = walk.metricsAt(atMs);
        const at = new Date(atMs).toISOString();
        // The first total of 0 is shown after three polls only.
        if (live.hasShown(atMs)) {
          shown.push({ at, ...told(live.customer.metricsAt(atMs)) });
          past.push({ at, ...told(ofPast) });
        }
      }
      expect(past).toEqual(shown);
      expect(shown.length).toBeGreaterThan(hours * 60 - 120);
    },
  );

  test('has the whole last minute a second before an epoch ends', async () => {
    const { endMs: periodEndMs } = calendar.periodAt(fromMs);
    const lone = new Town(0, 0);
    const atMs = periodEndMs - 30_000;
    lone.services.people.records.push({ eventMs: atMs, arrivalMs: atMs, counts: [3, 1] });
    const walk = await historyOf(lone, calendar, fromMs, endMs);
    expect(walk.metricsAt(periodEndMs - 2_000).counters.people_entered?.total).toBe(0);
    expect(walk.metricsAt(periodEndMs - 1_000).counters.people_entered?.total).toBe(3);
  });

  test('is never above what was shown first', async () => {
    const nowMs = Date.parse('2026-10-31T18:00:00Z');
    const free = (await historyOf(town, calendar, fromMs, nowMs)).metricsAt(nowMs).counters;
    const most = (free.people_entered?.total ?? NaN) - 5;
    const walk = await historyOf(town, calendar, fromMs, nowMs, { people_entered: most });
    const { counters } = walk.metricsAt(nowMs);
    expect(counters.people_entered?.total).toBe(most);
    expect(counters.people_entered?.today).toBe(free.people_entered?.today);
    expect(counters.people_exited).toEqual(free.people_exited);
  });
});
