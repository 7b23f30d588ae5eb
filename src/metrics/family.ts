/** What a family is: its head, and the series that a customer's figures give it. */
import type { CustomerMetrics } from '../counting/customer-metrics.ts';

export type FamilyType = 'counter' | 'gauge';

export type LabelPair = readonly [name: string, value: string];

/** One series of a customer; `labels` are those beside `customer`. */
export interface Sample {
  readonly labels: readonly LabelPair[];
  readonly value: number;
}

/** What a family may need to know beside the figures of the one customer. */
export interface FamilyContext {
  /** The label names that any customer was given, sorted: all show the same, empty where not given. */
  readonly infoLabelNames: readonly string[];
}

/** A series that has the same labels whatever the customer. */
export interface Series {
  readonly labels: readonly LabelPair[];
  readonly value: (figures: CustomerMetrics) => number | undefined;
}

export interface Family {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  /** Names of the labels beside `customer` and those that the configuration gives; none if left out. */
  readonly labels?: readonly string[];
  /** When there is no series, for the reference: completes "absent …". Left out where there always is. */
  readonly absent?: string;
  /** All there can be, in their order; undefined where the labels follow from the figures. */
  readonly series?: readonly Series[];
  /** Follows from the configuration alone, and stays as it is for as long as the customers do. */
  readonly isConfigured?: true;
  /** Empty where the figure is not known: then there is no series, rather than one that says 0. */
  readonly samples: (figures: CustomerMetrics, context: FamilyContext) => readonly Sample[];
}

/** What a family says of itself. */
export type Head = Pick<Family, 'name' | 'type' | 'help' | 'absent'>;

export const IN_BACKGROUND = 'Polled from the service in the background, not at the scrape.';

/** One series without a label beside `customer`. */
export function gauge(head: Omit<Head, 'type'>, value: Series['value']): Family {
  return fixed({ ...head, type: 'gauge' }, [{ labels: [], value }]);
}

/** Series whose labels are the same whatever the customer. */
export function fixed(head: Head, series: readonly Series[]): Family {
  return {
    ...head,
    labels: series[0]?.labels.map(([name]) => name) ?? [],
    series,
    samples: (figures) => series.flatMap(({ labels, value }) => known(value(figures), labels)),
  };
}

/** One sample, or none where the value is not known. */
export function known(
  value: number | undefined,
  labels: readonly LabelPair[] = [],
): readonly Sample[] {
  return value === undefined ? [] : [{ labels, value }];
}
