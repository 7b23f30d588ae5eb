/**
 * What the status page is told. The shapes are those of the figures that are exported, as far as the
 * page shows them, so that whoever has figures can hand them over as they are. Whatever is undefined
 * is not known.
 */
import type { CounterName, Stream } from '../base/model.ts';

export interface StatusData {
  readonly nowMs: number;
  /** In any order that people know; the page puts trouble first and keeps the order otherwise. */
  readonly customers: readonly StatusCustomer[];
}

/** Of every customer: what decides who comes first. The rest is asked for those that are shown. */
export interface StatusCustomer {
  readonly customer: string;
  readonly credentialsValid: boolean | undefined;
  readonly streams: Readonly<Partial<Record<Stream, StatusStream>>>;
  readonly detail: () => StatusDetail;
}

export interface StatusStream {
  readonly up: boolean | undefined;
  readonly lastSuccessMs: number | undefined;
  readonly polls: number;
  readonly failures: number;
  readonly skipped: number;
  readonly lastError: { readonly message: string; readonly atMs: number } | undefined;
}

export interface StatusDetail {
  readonly figures: StatusFigures;
  readonly path: StatusPath | undefined;
  /** How long until each stream is polled next; 0 for one that is being polled. */
  readonly nextPollInMs: Readonly<Partial<Record<Stream, number | undefined>>>;
}

export interface StatusFigures {
  readonly timezone: string;
  readonly utcOffsetSeconds: number;
  readonly open: boolean | undefined;
  readonly capacity: number | undefined;
  readonly occupancy: number | undefined;
  readonly counters: Readonly<Partial<Record<CounterName, { readonly today: number | undefined }>>>;
  readonly streams: Readonly<Partial<Record<Stream, { readonly lastSeenMs: number | undefined }>>>;
}

/** How the occupancy of today went. */
export interface StatusPath {
  readonly day: { readonly startMs: number; readonly endMs: number };
  readonly stepMs: number;
  /** People inside at the end of each step from the start of the day on; the last one ends at `atMs`. */
  readonly inside: readonly number[];
  readonly atMs: number;
}

/** How a customer does. A refused password needs a person; a failed poll may mend itself. */
export type Trouble = 'credentials' | 'failing' | 'waiting' | 'none';

const WORST_FIRST: readonly Trouble[] = ['credentials', 'failing', 'waiting', 'none'];

/** `waiting` while a stream has not been polled yet. */
export function troubleOf({ credentialsValid, streams }: StatusCustomer): Trouble {
  if (credentialsValid === false) {
    return 'credentials';
  }
  const polled = Object.values(streams);
  if (polled.some(({ up }) => up === false)) {
    return 'failing';
  }
  return polled.some(({ up }) => up === undefined) ? 'waiting' : 'none';
}

export type ByTrouble = ReadonlyMap<Trouble, readonly StatusCustomer[]>;

/** The worst trouble first; within each, the order given. */
export function byTrouble(customers: readonly StatusCustomer[]): ByTrouble {
  const groups = Map.groupBy(customers, troubleOf);
  return new Map(WORST_FIRST.map((trouble) => [trouble, groups.get(trouble) ?? []]));
}
