/** Samples of a response, whoever wrote them, and whether two responses have the same. */
import { strict as assert } from 'node:assert';

export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function* parseSamples(text: string): Generator<ParsedSample> {
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name !== undefined && value !== undefined) {
      const pairs = [...labels.matchAll(LABEL)].map(([, key = '', text = '']) => [key, text]);
      yield { name, labels: Object.fromEntries(pairs), value: Number(value) };
    }
  }
}

/** The families with the label `customer`, without those about a server itself. */
export function ofCustomers(text: string): string {
  const families = text.split(/^(?=# HELP )/m);
  return families.filter((family) => /^library_\w+\{[^}]*\bcustomer="/m.test(family)).join('');
}

/** Throws if one says of the customers what the other does not, but for what pushgateway adds. */
export function assertSame(what: string, one: string, other: string): void {
  const [a, b] = [byName(one), byName(other)];
  assert(a.size > 0 && a.size === b.size, `${what}: ${a.size} samples and ${b.size}`);
  for (const [name, value] of a) {
    assert(b.get(name) === value, `${what}: ${name} is ${value} and ${b.get(name)}`);
  }
}

function byName(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  for (const { name, labels, value } of parseSamples(text)) {
    if (labels['customer'] !== undefined) {
      const { job: _job, instance: _instance, ...own } = labels;
      const pairs = Object.entries(own).map(([key, text]) => `${key}=${text}`);
      samples.set(`${name} ${pairs.toSorted().join()}`, value);
    }
  }
  return samples;
}
