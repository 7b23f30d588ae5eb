/** A file of marks with one good entry, to be spoilt. */
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';

type Entry = readonly (string | number | boolean | null)[];

export const GOOD: Entry = [
  OWNER.service,
  OWNER.clientId,
  OWNER.customer,
  'logins',
  NOVEMBER.startMs,
  NOVEMBER.month,
  7,
  NOW_MS,
];

export function textOf(entries: readonly unknown[]): string {
  return JSON.stringify({ format: 'library-stats-exporter state', version: 1, marks: entries });
}
