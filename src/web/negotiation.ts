/**
 * Which format and which encoding a scraper asked for (RFC 9110, 12.5), and the exact Content-Type
 * that says what it got. Nobody is refused for what he asked: the fallback is the plain text format.
 */

export type ExpositionFormat = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

const TEXT = { type: 'text/plain', version: '0.0.4' };
const OPENMETRICS = { type: 'application/openmetrics-text', version: '1.0.0' };

/** One element of an Accept header, in lower case. */
interface Preference {
  readonly value: string;
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 to 1; 0 means never. */
  readonly quality: number;
}

/**
 * The format that a header Accept asks for. OpenMetrics only where it is named; parameters that do
 * not concern us, as `escaping`, are passed over. Of two that are wanted alike, the one named first.
 */
export function negotiateFormat(accept: string | undefined): ExpositionFormat {
  const preferences = parsePreferences(accept ?? '');
  const openmetrics = bestMatch(preferences, OPENMETRICS, false);
  const text = bestMatch(preferences, TEXT, true);
  if (openmetrics === undefined || openmetrics.quality === 0) {
    return 'text';
  }
  if (text === undefined || openmetrics.quality > text.quality) {
    return 'openmetrics';
  }
  const namedFirst = preferences.indexOf(openmetrics) < preferences.indexOf(text);
  return openmetrics.quality === text.quality && namedFirst ? 'openmetrics' : 'text';
}

/** Whether a header Accept-Encoding allows gzip, and does not like the plain answer better. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const preferences = parsePreferences(acceptEncoding ?? '');
  const gzip =
    preferences.find(({ value }) => value === 'gzip' || value === 'x-gzip') ??
    preferences.find(({ value }) => value === '*');
  const identity = preferences.find(({ value }) => value === 'identity');
  return gzip !== undefined && gzip.quality > 0 && gzip.quality >= (identity?.quality ?? 0);
}

/** The most specific element that covers the type: it decides, even if a wider one has more weight. */
function bestMatch(
  preferences: readonly Preference[],
  wanted: { readonly type: string; readonly version: string },
  byWildcard: boolean,
): Preference | undefined {
  const group = `${wanted.type.slice(0, wanted.type.indexOf('/'))}/*`;
  const exact = preferences.filter(({ value }) => value === wanted.type);
  return (
    exact.find(({ parameters }) => parameters.get('version') === wanted.version) ??
    exact.find(({ parameters }) => !parameters.has('version')) ??
    (byWildcard ? preferences.find(({ value }) => value === group) : undefined) ??
    (byWildcard ? preferences.find(({ value }) => value === '*/*') : undefined)
  );
}

function parsePreferences(header: string): readonly Preference[] {
  return header
    .toLowerCase()
    .split(',')
    .map((element) => {
      const [value = '', ...rest] = element.split(';').map((part) => part.trim());
      const parameters = new Map(rest.map(parseParameter));
      return { value, parameters, quality: parseQuality(parameters.get('q')) };
    })
    .filter(({ value }) => value !== '');
}

function parseParameter(text: string): readonly [name: string, value: string] {
  const [name = '', value = ''] = text.split('=', 2);
  return [name.trim(), value.trim().replace(/^"(.*)"$/, '$1')];
}

/** What is not a weight is read as none at all: such an element asks for nothing. */
function parseQuality(text: string | undefined): number {
  if (text === undefined) {
    return 1;
  }
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
