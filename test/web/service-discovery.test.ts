/** HTTP service discovery, and the metrics of single customers. */
import { expect, test, vi } from 'vitest';
import type { WebServerOptions } from '../../src/web/server.ts';
import { ask, protectedServer } from './protected.ts';

async function urlOf(changes: Partial<WebServerOptions>): Promise<string> {
  return (await protectedServer({}, changes)).url;
}

test('/sd lists a target for each customer, at the address that the client used', async () => {
  const customers = [
    { name: 'riverside', labels: { region: 'north', type: 'main' } },
    { name: 'Old "Town"', labels: {} },
  ];
  const url = await urlOf({ customers: () => customers, telemetryPath: '/library/stats' });
  const { headers, body } = await ask(url, '/sd', { headers: { host: 'exporter.example:10096' } });
  expect(headers['content-type']).toMatch(/^application\/json\b/);
  expect(JSON.parse(body)).toEqual([
    {
      targets: ['exporter.example:10096'],
      labels: {
        __metrics_path__: '/library/stats',
        __param_customer: 'riverside',
        __meta_library_region: 'north',
        __meta_library_type: 'main',
        instance: 'exporter.example:10096/riverside',
      },
    },
    {
      targets: ['exporter.example:10096'],
      labels: {
        __metrics_path__: '/library/stats',
        __param_customer: 'Old "Town"',
        instance: 'exporter.example:10096/Old "Town"',
      },
    },
  ]);
});

test('/sd is a 503 until the customers are known, so that Prometheus keeps its targets', async () => {
  const url = await urlOf({ ready: () => ({ ready: false, why: 'it is starting.' }) });
  expect((await ask(url, '/sd')).status).toBe(503);
});

test.each([
  ['', []],
  ['?customer=riverside', ['riverside']],
  ['?customer=a&format=x&customer=Old+Town%21', ['a', 'Old Town!']],
  ['?customer=', ['']],
  ['?customer=a?customer=b', ['a?customer=b']],
])('/metrics%s asks for the customers %j', async (query, customers) => {
  const exposition = vi.fn<WebServerOptions['exposition']>(() => Promise.resolve([]));
  expect((await ask(await urlOf({ exposition }), `/metrics${query}`)).status).toBe(200);
  expect(exposition.mock.calls).toEqual([['text', false, customers]]);
});

test('/metrics of an unknown customer is a 404 in plain text', async () => {
  const url = await urlOf({ exposition: () => Promise.resolve(undefined) });
  const { status, headers, body } = await ask(url, '/metrics?customer=a&customer=b');
  expect([status, headers['content-type'], body]).toEqual([
    404,
    'text/plain; charset=utf-8',
    'Unknown customer among ["a","b"]\n',
  ]);
});
