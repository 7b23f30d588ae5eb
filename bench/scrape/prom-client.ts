/** A plain registry of prom-client behind node:http, with the series that it is sent as text. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Registry } from 'prom-client';
import { parseSamples } from './samples.ts';

const registry = new Registry();
const server = createServer((_request, response) => {
  void registry.metrics().then((text) => {
    response.setHeader('content-type', registry.contentType);
    response.end(text);
  });
});

function fill(text: string): void {
  const counters = new Set([...text.matchAll(/^# TYPE (\w+) counter$/gm)].map(([, name]) => name));
  const metrics = new Map<string, Counter | Gauge>();
  for (const { name, labels, value } of parseSamples(text)) {
    const options = { name, help: name, labelNames: Object.keys(labels), registers: [registry] };
    const metric =
      metrics.get(name) ?? (counters.has(name) ? new Counter(options) : new Gauge(options));
    metrics.set(name, metric);
    metric.inc(labels, value);
  }
}

process.on('message', (text) => {
  fill(String(text));
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.send?.(`http://127.0.0.1:${port}`);
  });
});
