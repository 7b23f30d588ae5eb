import { afterAll, beforeAll, expect, test } from 'vitest';
import { historyPrometheus } from './support/history-prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

let prometheus: Prometheus;
beforeAll(async () => {
  prometheus = await historyPrometheus();
});
afterAll(async () => {
  await prometheus?.stop();
});

test('a Prometheus that was given the history knows last week', async () => {
  const lastWeekMs = Date.now() - 7 * 86_400_000;
  const entered = await prometheus.query('increase(library_people_entered_total[1d])', lastWeekMs);
  const customers = entered.map(({ labels }) => labels['customer'] ?? '');
  expect(new Set(customers)).toEqual(
    new Set(['harbour-point', 'lotus-garden', 'old-town', 'riverside', 'southern-cross']),
  );
});
