/** Where a Prometheus has the first samples of the running exporter. */
import type { CustomerConfig } from '../../config/types.ts';
import type { BackfillFlags } from './flags.ts';
import type { Joint } from './plan.ts';

export interface JointOptions {
  readonly url: URL;
  readonly flags: BackfillFlags;
  readonly customers: readonly CustomerConfig[];
  readonly fromMs: number;
  readonly nowMs: number;
  readonly stop: AbortSignal;
}

/** By customer. */
export function firstSamples(_options: JointOptions): Promise<ReadonlyMap<string, Joint>> {
  throw new Error('later');
}
