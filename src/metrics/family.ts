/** What a family is: its name, type and help, and its samples for one customer. */
import type { BranchMetrics, CustomerMetrics, SiteMetrics } from '../counting/customer-metrics.ts';
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
  /** One series for each building: with the label `branch` where a customer is polled by branch. */
  readonly isOfSites?: true;
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
    samples: (metrics) => sampleOf(value(metrics), ''),
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

/** Returns a family with one series for each building. `ofCustomer` gives the value of one that is a customer. */
export function ofSites(
  name: string,
  help: string,
  ofCustomer: (metrics: CustomerMetrics) => number | undefined,
  ofBranch: (branch: BranchMetrics) => number | undefined,
  absent?: string,
): Family {
  const family = single(name, help, ofCustomer, absent);
  return {
    ...family,
    isOfSites: true,
    samples(metrics, context) {
      return metrics.branches === undefined
        ? family.samples(metrics, context)
        : samplesOf(metrics.branches, '', ofBranch);
    },
  };
}

/** Returns a family of buildings with one series for each value of a label. */
export function labelledSites<V extends string>(
  name: string,
  help: string,
  label: string,
  values: readonly V[],
  valueOf: (site: SiteMetrics, labelValue: V) => number | undefined,
  absent?: string,
): Family {
  const family = labelled(name, help, label, values, valueOf, absent);
  const series = values.map((value) => ({ value, labels: `,${writeLabels([label, value])}` }));
  return {
    ...family,
    isOfSites: true,
    samples(metrics, context) {
      const { branches } = metrics;
      return branches === undefined
        ? family.samples(metrics, context)
        : series.flatMap(({ value, labels }) =>
            samplesOf(branches, labels, (branch) => valueOf(branch, value)),
          );
    },
  };
}

function samplesOf(
  branches: readonly BranchMetrics[],
  moreLabels: string,
  valueOf: (branch: BranchMetrics) => number | undefined,
): readonly Sample[] {
  const samples: Sample[] = [];
  for (const branch of branches) {
    const value = valueOf(branch);
    if (value !== undefined) {
      samples.push({ labels: branchLabel(branch.key) + moreLabels, value });
    }
  }
  return samples;
}

const MAX_BRANCH_LABELS = 100_000;
const branchLabels = new Map<string, string>();

/** Remembered: a branch has the same label in 24 series, scrape after scrape. */
function branchLabel(key: string): string {
  let label = branchLabels.get(key);
  if (label === undefined) {
    if (branchLabels.size >= MAX_BRANCH_LABELS) {
      branchLabels.clear();
    }
    label = writeLabels(['branch', key]);
    branchLabels.set(key, label);
  }
  return label;
}

/** Returns the type that a family's name implies. */
export function typeOf(name: string): Family['type'] {
  return name.endsWith('_total') ? 'counter' : 'gauge';
}

/** Returns one sample, or none while the value is unknown. */
export function sampleOf(value: number | undefined, labels: string): readonly Sample[] {
  return value === undefined ? [] : [{ labels, value }];
}
