/**
 * Writes what a registry of prom-client holds, in either format, from its JSON: prom-client's own
 * rendering as OpenMetrics takes `_total` off the counters' names for good, and writes NaN as `Nan`.
 */
import type { Registry } from 'prom-client';
import { writeHead, writeLabel, writeSample } from './format.ts';
import type { Format } from './format.ts';

/** All families that have a sample, without the end of the exposition. */
export async function writeRegistry(format: Format, registry: Registry): Promise<string> {
  let text = '';
  for (const family of await registry.getMetricsAsJSON()) {
    if (family.values.length === 0) {
      continue;
    }
    // Typed as numbers of an enum, which no value ever is: it is 'counter', 'gauge' or 'histogram'.
    const type = String(family.type);
    text += writeHead(format, { name: family.name, type, help: family.help });
    for (const sample of family.values) {
      text += writeSample(nameOf(sample, family.name), writeLabels(sample.labels), sample.value);
    }
  }
  return text;
}

/** Samples of histograms have names of their own, which the types do not tell. */
function nameOf(sample: object, familyName: string): string {
  return 'metricName' in sample && typeof sample.metricName === 'string'
    ? sample.metricName
    : familyName;
}

function writeLabels(labels: Readonly<Record<string, string | number | undefined>>): string {
  const written: string[] = [];
  for (const [name, value] of Object.entries(labels)) {
    if (name !== 'le' && value !== undefined) {
      written.push(writeLabel([name, String(value)]));
    }
  }
  if (labels['le'] !== undefined) {
    written.push(writeLabel(['le', writeBound(labels['le'])]));
  }
  return written.join(',');
}

/**
 * OpenMetrics wants bounds as floats (`1.0`); the text format takes them so, too, and Prometheus 3
 * makes them so. Written alike everywhere, a change of the format is no change of the series.
 */
function writeBound(bound: string | number): string {
  return typeof bound === 'number' && Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}
