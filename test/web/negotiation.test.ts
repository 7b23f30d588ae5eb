import { expect, test } from 'vitest';
import { acceptsGzip, negotiateFormat } from '../../src/web/negotiation.ts';

const PROMETHEUS_2 =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const PROMETHEUS_3_TEXT_FIRST =
  'text/plain;version=1.0.0;escaping=underscores;q=0.6,text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.4,*/*;q=0.2';
const PROTOBUF_FIRST =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const OLD_PROMETHEUS =
  'application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

test.each([
  ['no header', undefined, 'text'],
  ['an empty header', '', 'text'],
  ['curl', '*/*', 'text'],
  ['a browser', BROWSER, 'text'],
  ['Prometheus 2', PROMETHEUS_2, 'openmetrics'],
  ['Prometheus 3', PROMETHEUS_3, 'openmetrics'],
  ['Prometheus 3 that likes the text format better', PROMETHEUS_3_TEXT_FIRST, 'text'],
  ['a scraper that likes protobuf better', PROTOBUF_FIRST, 'openmetrics'],
  ['a scraper of OpenMetrics 0.0.1 only', OLD_PROMETHEUS, 'text'],
  ['OpenMetrics without a version', 'application/openmetrics-text', 'openmetrics'],
  ['OpenMetrics in other letters', 'Application/OpenMetrics-Text; Version="1.0.0"', 'openmetrics'],
  ['OpenMetrics never', 'application/openmetrics-text;q=0, */*', 'text'],
  ['OpenMetrics with a weight that is none', 'application/openmetrics-text;q=high', 'text'],
  ['anything of a kind', 'application/*', 'text'],
  [
    'text less than OpenMetrics, by a wildcard',
    'application/openmetrics-text, text/*;q=0.9',
    'openmetrics',
  ],
  ['both alike, text first', 'text/plain, application/openmetrics-text', 'text'],
  ['both alike, OpenMetrics first', 'application/openmetrics-text, text/plain', 'openmetrics'],
  [
    'text refused by name though a wildcard allows it',
    'text/plain;q=0, */*, application/openmetrics-text;q=0.1',
    'openmetrics',
  ],
  ['nothing that we have', 'image/png', 'text'],
] as const)('%s gets the right format', (_who, accept, format) => {
  expect(negotiateFormat(accept)).toBe(format);
});

test.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['deflate, gzip;q=1.0, *;q=0.5', true],
  ['gzip, deflate, br, zstd', true],
  ['*', true],
  ['x-gzip', true],
  ['identity', false],
  ['br', false],
  ['gzip;q=0', false],
  ['gzip;q=0.000', false],
  ['gzip;q=0, *', false],
  ['*;q=0', false],
  ['identity, gzip;q=0.5', false],
  ['identity;q=0.5, gzip', true],
  ['identity;q=0, gzip;q=0.1', true],
])('Accept-Encoding %j allows gzip: %j', (header, allowed) => {
  expect(acceptsGzip(header)).toBe(allowed);
});
