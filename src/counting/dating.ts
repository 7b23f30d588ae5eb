/**
 * Which reading of the minute keys holds for one customer and stream. Readings are ruled out by
 * rows whose window is known; where a wide window leaves several, narrow ones are asked for around
 * the instants that each of them names.
 */
import type { WindowReader } from './query.ts';
import { MINUTE_MS } from './calendar.ts';
import { KEY_READINGS, readKey, sameInstants, surviveAlike, survivingReadings } from './keys.ts';
import type { Evidence, KeyReading } from './keys.ts';
import type { Zone } from './zone.ts';

export type Dating =
  /** All of `readings` give the same instants for the rows seen, so the first one serves. */
  | { readonly status: 'established'; readonly readings: readonly KeyReading[] }
  /** The rows seen so far leave several; without rows, all. */
  | { readonly status: 'undecided'; readonly readings: readonly KeyReading[] }
  /** No known reading fits. */
  | { readonly status: 'unknown'; readonly readings: readonly KeyReading[] };

export const UNDECIDED: Dating = { status: 'undecided', readings: KEY_READINGS };

/** How many narrow windows are asked for at most, at one anchor. */
const MOST_PROBES = 4;

/** What is left of `dating` after these rows. Rows that fit none of it start the search anew. */
export function considerRows(dating: Dating, evidence: Evidence, zone: Zone): Dating {
  if (evidence.rows.length === 0) {
    return dating;
  }
  if (dating.status === 'established' && surviveAlike(dating.readings, evidence, zone)) {
    return dating;
  }
  const survivors = survivingReadings(dating.readings, evidence, zone);
  const readings =
    survivors.length > 0 ? survivors : survivingReadings(KEY_READINGS, evidence, zone);
  if (readings.length === 0) {
    return { status: 'unknown', readings: KEY_READINGS };
  }
  return sameInstants(readings, evidence, zone)
    ? { status: 'established', readings }
    : { status: 'undecided', readings };
}

/** {@link considerRows} for several windows, the narrowest first, asking for more where they do not decide. */
export async function establish(
  reader: WindowReader,
  dating: Dating,
  evidences: readonly Evidence[],
  zone: Zone,
): Promise<Dating> {
  let found = dating;
  for (const evidence of evidences) {
    found = considerRows(found, evidence, zone);
  }
  const widest = evidences.findLast(({ rows }) => rows.length > 0);
  if (found.status !== 'undecided' || widest === undefined) {
    return found;
  }
  for (const instantMs of instantsNamed(found.readings, widest, zone).slice(0, MOST_PROBES)) {
    const startMs = instantMs - 5 * MINUTE_MS;
    const endMs = instantMs + 10 * MINUTE_MS;
    const probe = await reader.readOptional('minute', startMs, endMs);
    if (probe === undefined) {
      return found;
    }
    const probed = considerRows(found, probe, zone);
    if (probe.rows.length > 0 && probed.status === 'established') {
      return considerRows(probed, widest, zone);
    }
  }
  return found;
}

/**
 * The different instants that the readings give for the newest row that counted anybody and on which
 * they differ: in winter a clock may show UTC, and in the summer before it did not.
 */
function instantsNamed(readings: readonly KeyReading[], evidence: Evidence, zone: Zone): number[] {
  for (const row of evidence.rows.toReversed()) {
    const named = readings.map((reading) => readKey(reading, row.key, evidence.window, zone));
    const instants = new Set(named.filter((instantMs) => instantMs !== undefined));
    if (instants.size > 1 && row.counts.some((count) => count > 0)) {
      return [...instants];
    }
  }
  return [];
}
