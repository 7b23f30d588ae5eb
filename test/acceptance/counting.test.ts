/** Counters are the service's totals and never decrease (docs/how-it-counts.md#guarantees, 1 and 2). */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact, expectCountsExact } from './expected.ts';
import { Harness } from './harness.ts';
import { dayMs, hourMs, minuteMs } from './local-time.ts';

const harness = new Harness();
const steady = harness.addCustomer('steady');
const late = harness.addCustomer('late');
const corrected = [1, 2, 3].map((number) => harness.addCustomer(`corrected-${number}`));
let daemon: Daemon;

beforeAll(async () => {
  const all = [steady, late, ...corrected];
  daemon = await harness.start(harness.configure(all));
  await exact(daemon, ...all);
});

test('new records are in the counters within two polls', async () => {
  const polls = { customer: 'steady', stream: 'people' };
  for (let round = 0; round < 3; round += 1) {
    const before = (await daemon.value('library_polls_total', polls)) ?? NaN;
    steady.ledger.add('people', { in: 2 + round, out: 1 });
    let after = NaN;
    await eventually(async () => {
      const exposition = await daemon.scrape();
      expectCountsExact(exposition, steady);
      after = exposition.value('library_polls_total', polls) ?? NaN;
    });
    // One more for the poll that was running when the record came.
    expect(after - before).toBeLessThanOrEqual(3);
  }
});

test('late records are in the counters after the next reconcile', async () => {
  const nowMs = Date.now();
  late.ledger.add('people', { in: 6, out: 2 }, nowMs - 2 * hourMs);
  late.ledger.add('people', { in: 5, out: 3 }, nowMs - 20 * minuteMs);
  late.ledger.add('people', { in: 9, out: 8 }, nowMs - dayMs - hourMs);
  late.ledger.add('logins', { in: 4 }, nowMs - 2 * dayMs);
  await expect(exact(daemon, late)).resolves.toBeDefined();
});

test.concurrent.each([
  ['people_entered', 'people', 0],
  ['logins', 'logins', 0],
  ['people_entered', 'people', 3 * hourMs],
] as const)(
  'keeps the counter when a total falls, and shows the excess: %s of %s, %i ms ago',
  async (counter, stream, ageMs) => {
    const customer = corrected.pop() ?? steady;
    const { name, ledger } = customer;
    async function values(): Promise<readonly (number | undefined)[]> {
      const exposition = await daemon.scrape();
      return [
        exposition.value(`library_${counter}_total`, { customer: name }),
        exposition.value(`library_${counter}_today`, { customer: name }),
        exposition.value('library_count_excess', { customer: name, counter }),
      ];
    }
    const record = ledger.add(stream, { in: 5 }, Date.now() - ageMs);
    await exact(daemon, customer);
    const [total = NaN, today = NaN] = await values();
    record.in = 2;
    await eventually(async () => expect(await values()).toEqual([total, today - 3, 3]));
    ledger.add(stream, { in: 5 });
    await exact(daemon, customer);
    expect(await values()).toEqual([total + 2, today + 2, 0]);
  },
);

test('only past days are requested with an end, with a quarter-hour after it', () => {
  const bounded = harness.service.requests.filter(({ query }) => query.has('to'));
  const ends = bounded.map(({ query }) => query.get('to') ?? '');
  expect(ends.filter((end) => !/T04:(00|15):00/.test(end))).toEqual([]);
});
