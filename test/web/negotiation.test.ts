import { expect, test } from 'vitest';
import { acceptsGzip, negotiateFormat } from '../../src/web/negotiation.ts';

const PROMETHEUS_2 =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const PROMETHEUS_3_TEXT =
  'text/plain;version=1.0.0;escaping=underscores;q=0.6,text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0; escaping=underscores;q=0.4,*/*;q=0.2';
const PROTOBUF =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

test.each([
  [undefined, 'text'],
  ['', 'text'],
  ['*/*', 'text'],
  [BROWSER, 'text'],
  [PROMETHEUS_2, 'openmetrics'],
  [PROMETHEUS_3, 'openmetrics'],
  [PROMETHEUS_3_TEXT, 'text'],
  [PROTOBUF, 'openmetrics'],
  ['application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', 'text'],
  ['application/openmetrics-text', 'openmetrics'],
  ['Application/OpenMetrics-Text; Version="1.0.0"', 'openmetrics'],
  ['application/openmetrics-text;q=0, */*', 'text'],
  ['application/openmetrics-text;q=high', 'text'],
  ['application/openmetrics-text, text/*;q=0.9', 'openmetrics'],
  ['text/plain, application/openmetrics-text', 'text'],
  ['application/openmetrics-text, text/plain', 'openmetrics'],
  ['text/plain;q=0, */*, application/openmetrics-text;q=0.1', 'openmetrics'],
  ['image/png', 'text'],
] as const)('Accept: %s gets %s', (accept, format) => {
  expect(negotiateFormat({ accept })).toBe(format);
});

test.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['deflate, gzip;q=1.0, *;q=0.5', true],
  ['gzip, deflate, br, zstd', true],
  ['*', true],
  ['identity', false],
  ['br', false],
  ['gzip;q=0', false],
  ['gzip;q=0, *', false],
  ['*;q=0', false],
  ['identity, gzip;q=0.5', false],
  ['identity;q=0.5, gzip', true],
  ['identity;q=0, gzip;q=0.1', true],
])('Accept-Encoding: %s allows gzip: %s', (header, allowed) => {
  expect(acceptsGzip({ 'accept-encoding': header })).toBe(allowed);
});
