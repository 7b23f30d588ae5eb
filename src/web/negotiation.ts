/** The format and the encoding that a scraper asked for (RFC 9110, 12.5). The fallback is plain text. */
import type { IncomingHttpHeaders } from 'node:http';
import Negotiator from 'negotiator';

export type ExpositionFormat = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** In the order of our preference. */
const MEDIA_TYPES: Readonly<Record<string, ExpositionFormat>> = {
  'text/plain;version=0.0.4': 'text',
  'application/openmetrics-text;version=1.0.0': 'openmetrics',
};

export function negotiateFormat({ accept }: IncomingHttpHeaders): ExpositionFormat {
  // Prometheus 3 sends `escaping`. negotiator accepts no parameter that we do not offer.
  const headers = { accept: accept?.replaceAll(/;\s*escaping=[^;,]*/g, '') };
  const [best = ''] = new Negotiator({ headers }).mediaTypes(Object.keys(MEDIA_TYPES));
  return MEDIA_TYPES[best] ?? 'text';
}

export function acceptsGzip(headers: IncomingHttpHeaders): boolean {
  return new Negotiator({ headers }).encoding(['gzip', 'identity']) === 'gzip';
}
