/** Starts with many customers, against the limits on requests. */
import { expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { createHarness, reply, ROWS } from '../service/support/harness.ts';
import { customerNamed } from '../support/polled.ts';
import { tokenBody } from '../support/scripted-server.ts';
import { SchedulerFixture } from './fixture.ts';

const SECOND_MS = 1_000;
const TOKEN = reply(200, tokenBody());

interface Start {
  readonly maxConcurrency: number;
  readonly maxRequestsPerSecond: number;
  readonly customers: number;
  /** How long each request takes. */
  readonly answerMs: number;
}

/** Polls for some seconds. Returns how many customers have values, and when each request started. */
async function polledFor(seconds: number, { customers, answerMs, ...limits }: Start) {
  await using fixture = new SchedulerFixture(limits);
  const { clock } = fixture;
  const startedMs: number[] = [];
  const transport = {
    async exchange({ form }: { readonly form?: unknown }, signal?: AbortSignal) {
      startedMs.push(clock.monotonicMs());
      await clock.sleep(answerMs, signal).catch(() => {
        throw new ServiceError('timeout', 'no answer came');
      });
      return form === undefined ? ROWS() : TOKEN();
    },
    close() {},
  };
  const options = { config: limits, clock, random: { next: () => 0.5 }, transport };
  const { clientFor } = createHarness('https://service', options);
  const polled = Array.from({ length: customers }, (_, i) => ({
    customer: customerNamed(`c${i}`),
    client: clientFor(`c${i}`),
  }));
  await fixture.run(polled, seconds * SECOND_MS);
  const healthy = polled.filter(({ customer }) => customer.health.people?.lastSuccessMs);
  return { withValues: healthy.length, startedMs };
}

test('first polls of a start use all of the allowed requests', async () => {
  const limits = { maxConcurrency: 32, maxRequestsPerSecond: 50 };
  // A token and five requests a customer take 12 seconds, and some polls are due meanwhile.
  const polled = await polledFor(15, { ...limits, customers: 100, answerMs: 100 });
  expect(polled.withValues).toBe(100);
  const bySecond = Map.groupBy(polled.startedMs, (ms) => Math.floor(ms / SECOND_MS));
  const counts = Array.from({ length: 12 }, (_, second) => bySecond.get(second)?.length);
  expect(counts).toEqual(Array(12).fill(50));
});

test('first polls complete although ordinary polls need nearly all of the capacity', async () => {
  // 4 at once, each 3 s, are 1.3 requests per second. 75 customers need 1.25, and more for first polls.
  const limits = { maxConcurrency: 4, maxRequestsPerSecond: 1_000 };
  const polled = await polledFor(900, { ...limits, customers: 75, answerMs: 3 * SECOND_MS });
  expect(polled.withValues).toBe(75);
});
