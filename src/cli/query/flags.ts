/** The flags of `query`, between the command line and those who act on them. */
import type { Aggregation } from '../../base/model.ts';
import type { TimeFlag } from '../time-flag.ts';
import type { Format } from './formats.ts';

export interface QueryFlags {
  readonly 'config.file': string;
  readonly customer?: string;
  readonly aggregation?: Aggregation;
  readonly from?: TimeFlag;
  readonly to?: TimeFlag;
  /** Of a page; {@link USUAL_LIMIT} where not given. */
  readonly limit?: number;
  readonly maxRecords?: number;
  readonly includePatronFields: boolean;
  readonly format: Format;
}

/** A page of so many records has a good third of the 1 MB above which the service aggregates. */
export const USUAL_LIMIT = 1_000;
