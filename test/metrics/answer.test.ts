import { spawnSync } from 'node:child_process';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createRender } from '../../src/metrics/answer.ts';
import { createExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import { createExposition } from '../../src/metrics/exposition.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { MovableSource, NOW_MS, harbour, riverside } from './fixtures.ts';

function answering(customers = 1) {
  const exposition = createExposition({ clock: new VirtualClock(NOW_MS) });
  exposition.setCustomers([
    ...Array.from(
      { length: customers },
      (_, i) => new MovableSource(riverside({ customer: `Bücherei ${i}` })),
    ),
    new MovableSource(harbour()),
  ]);
  const exporterMetrics = createExporterMetrics({ version: '1', revision: 'r', nodeVersion: 'n' });
  return { exposition, render: createRender({ exposition, exporterMetrics }) };
}

/** Without the figures of this process, which are different at every look. */
function steady(parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts)
    .toString()
    .replaceAll(/^(?:process|nodejs)_.*\n/gm, '');
}

test.each(['text', 'openmetrics'] as const)(
  'the compressed %s answer decodes to the plain one',
  async (format) => {
    for (const customers of [0, 1, 400]) {
      const { render } = answering(customers);
      const plain = steady(await render(format, false));
      const compressed = gunzipSync(Buffer.concat(await render(format, true)));
      expect(steady([compressed])).toBe(plain);
      expect(plain).toContain('library_exporter_build_info{');
      expect(plain.match(/^library_occupancy_people\{/gm)?.length ?? 0).toBe(customers);
    }
  },
);

test("the system's own gzip takes the compressed answer for whole, with nothing after it", async () => {
  const { render } = answering(600);
  const input = Buffer.concat(await render('text', true));
  const { status, stdout, stderr } = spawnSync('gzip', ['--decompress', '--stdout'], {
    input,
    maxBuffer: Infinity,
  });
  expect([status, String(stderr)]).toEqual([0, '']);
  expect(stdout.equals(gunzipSync(input))).toBe(true);
});

test('OpenMetrics ends with its end mark, once; the text format has none', async () => {
  const { render } = answering();
  const openmetrics = Buffer.concat(await render('openmetrics', false)).toString();
  expect(openmetrics.endsWith('\n# EOF\n')).toBe(true);
  expect(openmetrics.split('# EOF')).toHaveLength(2);
  expect(Buffer.concat(await render('text', false)).toString()).not.toContain('# EOF');
});

test('no family is described twice, and none without samples', async () => {
  const { render } = answering();
  const lines = Buffer.concat(await render('text', false))
    .toString()
    .split('\n');
  const described = lines.flatMap((line, i) =>
    line.startsWith('# TYPE ')
      ? [{ family: line.split(' ')[2] ?? '', first: (lines[i + 1] ?? '').split(/[{ ]/)[0] }]
      : [],
  );
  expect(described.length).toBeGreaterThan(40);
  expect(new Set(described.map(({ family }) => family)).size).toBe(described.length);
  for (const { family, first } of described) {
    expect([family, `${family}_bucket`]).toContain(first);
  }
});

test('scrapers at the same time share one compression, until something changes', async () => {
  const { exposition, render } = answering();
  const shared = exposition.render('text').compressed();
  await Promise.all([render('text', true), render('text', true)]);
  expect(exposition.render('text').compressed()).toBe(shared);
  exposition.changed('harbour');
  expect(exposition.render('text').compressed()).not.toBe(shared);
});
