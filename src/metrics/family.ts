/** What a family is: its name, type and help, and its samples for one customer. */
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import { writeLabels } from './format.ts';

/** `labels` are those beside `customer`, as the format has them; may be empty. */
export interface Sample {
  readonly labels: string;
  readonly value: number;
}

/** What a family needs beside the values of one customer. */
export interface FamilyContext {
  /** All label names that any customer has, sorted. */
  readonly infoLabelNames: readonly string[];
}

export interface Family {
  /** Name in the text format: a counter ends in `_total`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Completes the sentence "Absent …" in docs/reference. */
  readonly absent?: string | undefined;
  /** A counter that starts at 0 with the counting period. */
  readonly startsWithPeriod?: true;
  /** Label names beside `customer`, without those that the configuration adds. */
  readonly labels: readonly string[];
  /** Empty while no value is known: unknown is absent, never 0. */
  readonly samples: (metrics: CustomerMetrics, context: FamilyContext) => readonly Sample[];
}

/** Returns a family with one series for each customer. */
export function single(
  name: string,
  help: string,
  value: (metrics: CustomerMetrics) => number | undefined,
  absent?: string,
): Family {
  return {
    name,
    type: typeOf(name),
    help,
    absent,
    labels: [],
    samples: (metrics) => known(value(metrics), ''),
  };
}

/** Returns a family with one series for each value of a label; `valueOf` gives a customer's value. */
export function labelled<V extends string>(
  name: string,
  help: string,
  label: string,
  values: readonly V[],
  valueOf: (metrics: CustomerMetrics, labelValue: V) => number | undefined,
  absent?: string,
): Family {
  const series = values.map((value) => ({ value, labels: writeLabels([label, value]) }));
  return {
    name,
    type: typeOf(name),
    help,
    absent,
    labels: [label],
    // A loop: flatMap made rendering a third slower.
    samples(metrics) {
      const samples: Sample[] = [];
      for (const { value: labelValue, labels } of series) {
        const value = valueOf(metrics, labelValue);
        if (value !== undefined) {
          samples.push({ labels, value });
        }
      }
      return samples;
    },
  };
}

/** Returns the type that a family's name implies. */
export function typeOf(name: string): Family['type'] {
  return name.endsWith('_total') ? 'counter' : 'gauge';
}

/** Returns one sample, or none while the value is unknown. */
export function known(value: number | undefined, labels: string): readonly Sample[] {
  return value === undefined ? [] : [{ labels, value }];
}
