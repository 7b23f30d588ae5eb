/** The metrics of single customers: what a scrape of everything has of them, and nothing else. */
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createExposition, renderCustomers } from '../../src/metrics/exposition.ts';
import type { Format } from '../../src/metrics/family.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { NOW_MS, TestSource, harbour, riverside, setSources } from './fixtures.ts';

function exposing() {
  const exposition = createExposition({ clock: new VirtualClock(NOW_MS) });
  const all = [riverside(), harbour(), harbour({ customer: 'quay' })];
  const sources = all.map((metrics) => new TestSource(metrics));
  setSources(exposition, sources);
  function textOf(format: Format, ...customers: readonly string[]): string {
    return Buffer.concat(renderCustomers(exposition, customers, format, false) ?? []).toString();
  }
  return { exposition, sources, textOf };
}

test.each(['text', 'openmetrics'] as const)(
  'of all customers is the whole scrape as %s',
  (format) => {
    const { exposition, textOf } = exposing();
    const whole = Buffer.concat(exposition.render(format).map(({ plain }) => plain)).toString();
    const end = format === 'openmetrics' ? '# EOF\n' : '';
    expect(textOf(format, 'riverside', 'harbour', 'quay', 'harbour')).toBe(whole + end);
  },
);

test('follows a change without a scrape of everything, and can be compressed', () => {
  const { exposition, sources, textOf } = exposing();
  sources.forEach((source) => (source.metrics = riverside({ occupancy: 43 })));
  expect(textOf('text', 'riverside')).toContain('_people{customer="riverside"} 43\n');
  const [zipped = Buffer.of()] = renderCustomers(exposition, ['riverside'], 'text', true) ?? [];
  expect(gunzipSync(zipped).toString()).toBe(textOf('text', 'riverside'));
});

test('is nothing if one of the customers is unknown or removed', () => {
  const { exposition, sources } = exposing();
  expect(renderCustomers(exposition, ['riverside', ''], 'text', false)).toBeUndefined();
  setSources(exposition, sources.slice(1));
  expect(renderCustomers(exposition, ['riverside'], 'text', false)).toBeUndefined();
});
