/**
 * Random histories of everything that can happen to an exposition. Whatever was kept, patched,
 * compressed and joined, the answer is that of the plain way, written anew from the figures.
 */
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { createRender } from '../../src/metrics/answer.ts';
import { createExposition } from '../../src/metrics/exposition.ts';
import type { Exposition } from '../../src/metrics/exposition.ts';
import { END_OF } from '../../src/metrics/format.ts';
import type { Format } from '../../src/metrics/format.ts';
import { CUSTOMERS_OF_A_BLOCK } from '../../src/metrics/sample-store.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { MovableSource, NOW_MS, harbour, riverside } from './fixtures.ts';
import { plainText } from './plain-text.ts';

/** More than a block, so that some change in one and some in the other. */
const CUSTOMERS = CUSTOMERS_OF_A_BLOCK + 2;
const CHANGING = [0, 1, CUSTOMERS_OF_A_BLOCK - 1, CUSTOMERS_OF_A_BLOCK, CUSTOMERS - 1];

const count = fc.option(fc.oneof(fc.nat(3), fc.nat(2 ** 31), fc.double({ noNaN: true })), {
  nil: undefined,
});
const flag = fc.option(fc.boolean(), { nil: undefined });
const kind = fc.record({ total: count, excess: count, today: count });
const stream = fc.record({
  up: flag,
  lastSuccessMs: count,
  lastSeenMs: count,
  polls: fc.nat(9),
  failures: fc.nat(9),
  skipped: fc.nat(9),
  lastError: fc.constant(undefined),
});
const breakdown = fc.record({
  keys: fc.array(
    fc.record({
      key: fc.string(),
      counters: fc.record({ people_entered: kind }),
      occupancy: count,
    }),
    { maxLength: 3 },
  ),
  droppedKeys: count,
  names: fc.array(fc.tuple(fc.string(), fc.string({ unit: 'grapheme' })), { maxLength: 2 }),
});

const figures: fc.Arbitrary<Partial<CustomerMetrics>> = fc.record(
  {
    utcOffsetSeconds: fc.constantFrom(0, -0, 3_600, -14_400),
    capacity: count,
    open: flag,
    credentialsValid: flag,
    occupancy: count,
    counters: fc.record({ people_entered: kind, logins: kind }, { requiredKeys: [] }),
    streams: fc.record({ people: stream, logins: stream, branch: stream }, { requiredKeys: [] }),
    breakdowns: fc.record({ branch: breakdown }),
    validUntilMs: fc.nat(5).map((minutes) => NOW_MS + minutes * 60_000 + 1),
  },
  { requiredKeys: [] },
);

type Step =
  | { readonly does: 'change'; readonly number: number; readonly to: Partial<CustomerMetrics> }
  | { readonly does: 'wait'; readonly minutes: number }
  | { readonly does: 'step back' | 'freshen' | 'scrape' | 'reload' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('change' as const),
      number: fc.constantFrom(...CHANGING),
      to: figures,
    }),
  },
  fc.record({ does: fc.constant('wait' as const), minutes: fc.nat(2) }),
  fc.record({ does: fc.constantFrom('step back', 'freshen', 'scrape', 'reload') }),
);

/** Of which one figure follows from the time, by the minute, as an epoch or a day does. */
class TimedSource extends MovableSource {
  override metricsAt(nowMs = 0): CustomerMetrics {
    const minute = Math.floor(nowMs / 60_000);
    const validUntilMs = (minute + 1) * 60_000;
    return { ...super.metricsAt(), utcOffsetSeconds: minute, validUntilMs };
  }
}

/** Breakdowns are configured at some, so that their families are there. */
function firstFigures(number: number): CustomerMetrics {
  const customer = `Bücherei "${number}"`;
  return number % 2 === 0
    ? riverside({ customer })
    : harbour({
        customer,
        breakdowns: { branch: { keys: [], droppedKeys: undefined, names: [] } },
      });
}

/** What a scrape gets: plain and unpacked. */
async function answersOf(exposition: Exposition, format: Format): Promise<readonly string[]> {
  const exporterMetrics = { render: () => Promise.resolve('own 1\n') };
  const render = createRender({ exposition, exporterMetrics });
  const plain = Buffer.concat(await render(format, false));
  return [plain, gunzipSync(Buffer.concat(await render(format, true)))].map(String);
}

test('after any history the answer is the plain one, byte for byte, compressed or not', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const clock = new VirtualClock(NOW_MS);
      const exposition = createExposition({ clock });
      const sources = Array.from(
        { length: CUSTOMERS },
        (_, number) => new (number === 1 ? TimedSource : MovableSource)(firstFigures(number)),
      );
      async function check(): Promise<void> {
        for (const format of ['text', 'openmetrics'] as const) {
          const expected = plainText(format, sources, clock.nowMs()) + 'own 1\n' + END_OF[format];
          expect(await answersOf(exposition, format)).toEqual([expected, expected]);
        }
      }
      exposition.setCustomers(sources);
      for (const { does, ...rest } of steps) {
        if ('to' in rest) {
          const source = sources[rest.number];
          if (source !== undefined) {
            source.figures = { ...source.figures, ...rest.to };
            exposition.changed(source.customer);
          }
        } else if ('minutes' in rest) {
          await clock.advance(rest.minutes * 60_000);
        } else if (does === 'step back') {
          clock.step(-90_000);
        } else if (does === 'freshen') {
          await exposition.freshen();
        } else if (does === 'reload') {
          exposition.setCustomers(sources.reverse());
        } else {
          await check();
        }
      }
      await check();
    }),
    { numRuns: 60 },
  );
}, 120_000);
