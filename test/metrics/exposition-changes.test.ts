/** What is rendered anew when figures change, or stop being true. */
import { describe, expect, test } from 'vitest';
import { createExposition } from '../../src/metrics/exposition.ts';
import type { Exposition } from '../../src/metrics/exposition.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { exposing, linesOf, only, textOf } from './exposing.ts';
import { MovableSource, NOW_MS, harbour, riverside } from './fixtures.ts';

describe('changes', () => {
  test('what did not change is neither asked for nor rendered again', () => {
    const { exposition, sources } = exposing(riverside(), harbour());
    const rendition = exposition.render('text');
    const asked = sources.map((source) => source.asked);
    expect(exposition.render('text')).toBe(rendition);
    expect(sources.map((source) => source.asked)).toEqual(asked);
  });

  test('a changed customer is asked once, however often it was said, and the others are not', () => {
    const { exposition, sources } = exposing(riverside(), harbour());
    textOf(exposition);
    const asked = sources.map((source) => source.asked);
    sources.forEach((source) => (source.figures = { ...source.figures, occupancy: 7 }));
    exposition.changed('harbour');
    exposition.changed('harbour');
    exposition.changed('nobody');
    expect(linesOf(exposition, 'library_occupancy_people')).toEqual([
      'library_occupancy_people{customer="riverside"} 42',
      'library_occupancy_people{customer="harbour"} 7',
    ]);
    expect(sources.map((source, i) => source.asked - (asked[i] ?? 0))).toEqual([0, 1]);
  });

  test('an answer that is being read does not change under the reader', () => {
    const { exposition, sources } = exposing(riverside());
    const rendition = exposition.render('text');
    const before = Buffer.concat(rendition.parts).toString();
    only(sources).figures = riverside({ occupancy: 99, open: undefined });
    exposition.changed('riverside');
    expect(textOf(exposition)).not.toBe(before);
    expect(Buffer.concat(rendition.parts).toString()).toBe(before);
  });

  test('a customer whose figures cannot be told fails a scrape, and costs the others no change', () => {
    const { exposition, sources } = exposing(riverside(), harbour());
    textOf(exposition);
    const [first, second] = sources;
    if (first === undefined || second === undefined) {
      throw new Error('expected two');
    }
    first.figures = riverside({ occupancy: 8 });
    Object.assign(second, {
      metricsAt() {
        throw new Error('a mistake');
      },
    });
    exposition.changed('riverside');
    exposition.changed('harbour');
    expect(() => exposition.render('text')).toThrow('a mistake');
    expect(() => exposition.render('text')).toThrow('a mistake');
    Object.assign(second, { metricsAt: () => harbour({ occupancy: 9 }) });
    expect(linesOf(exposition, 'library_occupancy_people')).toEqual([
      'library_occupancy_people{customer="riverside"} 8',
      'library_occupancy_people{customer="harbour"} 9',
    ]);
  });

  test('a removed customer is gone with its label names, and the order is the new one', () => {
    const { exposition, sources } = exposing(riverside(), harbour());
    textOf(exposition);
    exposition.setCustomers([
      new MovableSource(harbour({ customer: 'annex' })),
      ...sources.filter(({ customer }) => customer === 'harbour'),
    ]);
    expect(textOf(exposition)).not.toContain('riverside');
    expect(linesOf(exposition, 'library_customer_info')).toEqual([
      'library_customer_info{customer="annex",timezone="America/New_York"} 1',
      'library_customer_info{customer="harbour",timezone="America/New_York"} 1',
    ]);
  });
});

describe('the time of the scrape', () => {
  /** Figures that know two epochs, as the ledger's do: what is shown follows from the time asked. */
  function acrossAnPeriod() {
    const clock = new VirtualClock(NOW_MS);
    const periodMs = NOW_MS + 60_000;
    const exposition = createExposition({ clock });
    exposition.setCustomers([
      {
        customer: 'riverside',
        metricsAt(nowMs) {
          const known = riverside();
          return nowMs < periodMs
            ? riverside({ validUntilMs: periodMs })
            : riverside({
                periodStartMs: periodMs,
                occupancy: undefined,
                counters: { ...known.counters, people_entered: { total: 0, excess: 0, today: 0 } },
              });
        },
      },
    ]);
    return { clock, exposition };
  }

  function entered(exposition: Exposition): string[] {
    return linesOf(exposition, 'library_people_entered_total');
  }

  test('figures switch at the instant at which they stop being true, without a poll', async () => {
    const { clock, exposition } = acrossAnPeriod();
    expect(entered(exposition)).toEqual([
      'library_people_entered_total{customer="riverside"} 12345',
    ]);
    await clock.advance(59_999);
    expect(entered(exposition)).toEqual([
      'library_people_entered_total{customer="riverside"} 12345',
    ]);
    await clock.advance(1);
    expect(entered(exposition)).toEqual(['library_people_entered_total{customer="riverside"} 0']);
    expect(linesOf(exposition, 'library_people_entered_today')).toEqual([
      'library_people_entered_today{customer="riverside"} 0',
    ]);
    expect(linesOf(exposition, 'library_occupancy_people')).toEqual([]);
  });

  test('figures switch back when the clock steps back over that instant', async () => {
    const { clock, exposition } = acrossAnPeriod();
    await clock.advance(60_000);
    expect(entered(exposition)).toEqual(['library_people_entered_total{customer="riverside"} 0']);
    clock.step(-1_000);
    expect(entered(exposition)).toEqual([
      'library_people_entered_total{customer="riverside"} 12345',
    ]);
  });
});
