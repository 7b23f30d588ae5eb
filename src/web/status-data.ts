/**
 * What the status page is told. The shapes are those of the figures that are exported, as far as the
 * page shows them, so that whoever has figures can hand them over as they are. Whatever is undefined
 * is not known.
 */
import type { Kind, Stream } from '../base/nouns.ts';

export interface StatusData {
  readonly nowMs: number;
  /** In any order that people know; the page puts trouble first and keeps the order otherwise. */
  readonly customers: readonly StatusCustomer[];
}

export interface StatusCustomer {
  readonly customer: string;
  readonly timezone: string;
  readonly open: boolean | undefined;
  readonly capacity: number | undefined;
  readonly occupancy: number | undefined;
  readonly credentialsValid: boolean | undefined;
  readonly kinds: Readonly<Partial<Record<Kind, { readonly today: number | undefined }>>>;
  readonly streams: Readonly<Partial<Record<Stream, StatusStream>>>;
}

export interface StatusStream {
  readonly up: boolean | undefined;
  readonly lastSuccessMs: number | undefined;
  readonly polls: number;
  readonly failures: number;
  readonly skipped: number;
  readonly lastError: { readonly message: string; readonly atMs: number } | undefined;
}

/** How a customer does. A refused password needs a person; a failed poll may mend itself. */
export type Trouble = 'credentials' | 'failing' | 'waiting' | 'none';

const WORST_FIRST: readonly Trouble[] = ['credentials', 'failing', 'waiting', 'none'];

/** `waiting` while a stream has not been polled yet. */
export function troubleOf(customer: StatusCustomer): Trouble {
  if (customer.credentialsValid === false) {
    return 'credentials';
  }
  const streams = Object.values(customer.streams);
  if (streams.some(({ up }) => up === false)) {
    return 'failing';
  }
  return streams.some(({ up }) => up === undefined) ? 'waiting' : 'none';
}

/** Trouble first, otherwise in the order given. */
export function troubleFirst(customers: readonly StatusCustomer[]): readonly StatusCustomer[] {
  const byTrouble = Map.groupBy(customers, troubleOf);
  return WORST_FIRST.flatMap((trouble) => byTrouble.get(trouble) ?? []);
}
