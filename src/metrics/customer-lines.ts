/**
 * The sample lines of single customers. Most of what a poll brings is what was known before, so the
 * values are compared first, and only a family with another one is written anew: a quarter of the time
 * that it takes to write every line of a customer. It knows neither where lines are kept nor when
 * figures change.
 */
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import type { Family, FamilyContext } from './family.ts';
import { formatValue, writeLabel, writeSample } from './format.ts';
import type { ChangedLines } from './sample-store.ts';

/** Stands for a value that is not known. No figure is it: a sum of counts or an instant is a number. */
const UNKNOWN = NaN;

/** A series as it is written: `before`, the customer's label, `after`, the value. */
interface Written {
  readonly value: (figures: CustomerMetrics) => number | undefined;
  readonly before: string;
  readonly after: string;
}

interface FixedFamily {
  /** Place of the family in the whole. */
  readonly family: number;
  /** Place of its first value among those of a customer. */
  readonly first: number;
  readonly series: readonly Written[];
}

export class CustomerLines {
  readonly #families: readonly Family[];
  readonly #context: FamilyContext;
  readonly #fixed: readonly FixedFamily[];
  readonly #series: number;
  /** By number of the customer, then of the series: what was written last. */
  readonly #values: Float64Array;
  /** By number of the customer, undefined before it was written once. */
  readonly #labels: (string | undefined)[];

  constructor(families: readonly Family[], context: FamilyContext, customers: number) {
    this.#families = families;
    this.#context = context;
    let first = 0;
    this.#fixed = families.flatMap(({ name, series }, family) => {
      if (series === undefined) {
        return [];
      }
      const fixed = {
        family,
        first,
        series: series.map(({ labels, value }): Written => {
          const after = labels.map((label) => `,${writeLabel(label)}`).join('');
          return { value, before: `${name}{`, after: `${after}} ` };
        }),
      };
      first += series.length;
      return [fixed];
    });
    this.#series = first;
    this.#values = new Float64Array(first * customers);
    this.#labels = Array.from({ length: customers });
  }

  /** Of each family the customer's lines, undefined where they are as they were at the last call. */
  write(number: number, figures: CustomerMetrics): ChangedLines {
    const isFirst = this.#labels[number] === undefined;
    const label = (this.#labels[number] ??= writeLabel(['customer', figures.customer]));
    const lines = this.#families.map((family) =>
      family.series === undefined && (isFirst || family.isConfigured !== true)
        ? this.#writeSamples(family, label, figures)
        : undefined,
    );
    for (const fixed of this.#fixed) {
      if (this.#takeValues(fixed, number, figures) || isFirst) {
        lines[fixed.family] = this.#writeSeries(fixed, number, label);
      }
    }
    return lines;
  }

  /** Whether any is another one than before. */
  #takeValues({ first, series }: FixedFamily, number: number, figures: CustomerMetrics): boolean {
    const values = this.#values;
    let place = number * this.#series + first;
    let isChanged = false;
    for (const { value } of series) {
      const before = values[place] ?? UNKNOWN;
      const now = value(figures) ?? UNKNOWN;
      // Not Object.is: it makes two objects of the numbers.
      if (now !== before && !(Number.isNaN(now) && Number.isNaN(before))) {
        values[place] = now;
        isChanged = true;
      }
      place += 1;
    }
    return isChanged;
  }

  #writeSeries({ first, series }: FixedFamily, number: number, label: string): string {
    let place = number * this.#series + first;
    let lines = '';
    for (const { before, after } of series) {
      const value = this.#values[place] ?? UNKNOWN;
      if (!Number.isNaN(value)) {
        lines += `${before}${label}${after}${formatValue(value)}\n`;
      }
      place += 1;
    }
    return lines;
  }

  #writeSamples({ name, samples }: Family, label: string, figures: CustomerMetrics): string {
    let lines = '';
    for (const { labels, value } of samples(figures, this.#context)) {
      lines += writeSample(name, [label, ...labels.map(writeLabel)].join(','), value);
    }
    return lines;
  }
}
