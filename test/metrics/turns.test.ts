/** Who does the rendering, and when: in turns that let others run, and before anybody asks. */
import { describe, expect, test } from 'vitest';
import { nextTurn } from '../../src/base/clock.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { createExposition } from '../../src/metrics/exposition.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { MovableSource, NOW_MS, riverside } from './fixtures.ts';

const CUSTOMERS = 40;

function textOf(exposition: ReturnType<typeof createExposition>): string {
  return exposition.render('text').parts.map(String).join('');
}

describe('many customers that are to be rendered at once', () => {
  /** Each time that a source is asked takes a millisecond. */
  function slowSources() {
    let asked = 0;
    const clock = { ...frozenClock(), monotonicMs: () => asked };
    class SlowSource extends MovableSource {
      override metricsAt(): CustomerMetrics {
        asked += 1;
        return super.metricsAt();
      }
    }
    const sources = Array.from(
      { length: CUSTOMERS },
      (_, i) => new SlowSource(riverside({ customer: `c${i}` })),
    );
    const exposition = createExposition({ clock });
    exposition.setCustomers(sources);
    return { exposition, sources, asked: () => asked };
  }

  function frozenClock() {
    const clock = new VirtualClock(NOW_MS);
    return { nowMs: () => clock.nowMs(), sleep: () => Promise.resolve() };
  }

  test('are rendered a few at a time, and others run in between', async () => {
    const { exposition, asked } = slowSources();
    const first = asked();
    let isFresh = false;
    const freshening = exposition.freshen().then(() => (isFresh = true));
    const inATurn: number[] = [];
    for (let before = first; !isFresh && inATurn.length < CUSTOMERS; before = asked()) {
      inATurn.push(asked() - before);
      await nextTurn();
    }
    await freshening;
    expect(Math.max(...inATurn)).toBeLessThanOrEqual(6);
    expect(asked() - first).toBe(CUSTOMERS);
    textOf(exposition);
    expect(asked() - first).toBe(CUSTOMERS);
  });

  test('one that changes meanwhile is shown in its newest state, in all families', async () => {
    const { exposition, sources } = slowSources();
    const freshening = exposition.freshen();
    const [source] = sources;
    if (source !== undefined) {
      source.figures = { ...source.figures, occupancy: 7, capacity: 8, open: false };
    }
    exposition.changed('c0');
    await freshening;
    const lines = textOf(exposition)
      .split('\n')
      .filter((line) => /^library_(occupancy|capacity|open).*"c0"/.test(line));
    expect(lines.map((line) => line.split(' ')[1])).toEqual(['0', '8', '7']);
  });
});

describe('an exposition that is kept ready', () => {
  test('renders a change before anybody asks, and a scrape finds nothing left to do', async () => {
    const clock = new VirtualClock(NOW_MS);
    const exposition = createExposition({ clock });
    const source = new MovableSource(riverside());
    exposition.setCustomers([source]);
    const stopping = new AbortController();
    const kept = exposition.keepReady(stopping.signal);
    await clock.advance(4_000);
    const before = source.asked;
    source.figures = riverside({ occupancy: 77 });
    exposition.changed('riverside');
    exposition.changed('riverside');
    await clock.advance(4_000);
    expect(source.asked).toBe(before + 1);
    expect(textOf(exposition)).toContain('library_occupancy_people{customer="riverside"} 77\n');
    expect(source.asked).toBe(before + 1);
    stopping.abort();
    await kept;
    expect(clock.sleepers).toBe(0);
  });

  test('renders what stops being true at the time at which it does', async () => {
    const clock = new VirtualClock(NOW_MS);
    const exposition = createExposition({ clock });
    const source = new MovableSource(riverside({ validUntilMs: NOW_MS + 60_000 }));
    exposition.setCustomers([source]);
    const stopping = new AbortController();
    const kept = exposition.keepReady(stopping.signal);
    await clock.advance(58_000);
    const before = source.asked;
    source.figures = riverside({ occupancy: 0 });
    await clock.advance(4_000);
    expect(source.asked).toBe(before + 1);
    stopping.abort();
    await kept;
  });
});
