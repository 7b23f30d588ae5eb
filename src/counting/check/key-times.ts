/**
 * Which setting of `service.key_times` fits a service: the newest key is read as a local time and as UTC, and
 * the service is asked for that minute (docs/service.md#keys).
 */
import { HOUR_MS, MINUTE_MS } from '../../base/duration.ts';
import { KEY_TIMES } from '../../base/model.ts';
import type { Key, KeyTimes } from '../../base/model.ts';
import type { Zone } from '../calendar/zone.ts';
import { isZero } from '../rows/counts.ts';
import { parseKey, readKey } from '../rows/keys.ts';
import type { WindowReader, WindowResponse } from '../rows/window-reader.ts';

export type KeyTimesFit =
  /** The setting fits, the keys do not depend on it, or nothing is known. */
  | { readonly kind: 'no finding' }
  | { readonly kind: 'other setting'; readonly keyTimes: KeyTimes }
  /** By neither setting: the newest local time has not begun in the customer's time zone. */
  | { readonly kind: 'ahead'; readonly hours: number };

const NO_FINDING: KeyTimesFit = { kind: 'no finding' };
/** The clocks of the service and of devices may be off by this. */
const MARGIN_MS = 30 * MINUTE_MS;
/** Zones differ by less; devices with wrong clocks by more. */
const MAX_AHEAD_MS = 15 * HOUR_MS;

/** Returns the newest key with counts that has begun, else the newest one; undefined if nobody was counted. */
export function newestKey(
  windows: readonly Pick<WindowResponse, 'rows'>[],
  zone: Zone,
  keyTimes: KeyTimes,
  nowMs: number,
): Key | undefined {
  const times = windows
    .flatMap(({ rows }) => rows)
    .filter(({ counts }) => !isZero(counts))
    .map(({ key }) => ({ key, ms: parseKey(key, zone, keyTimes) ?? -Infinity }))
    .toSorted((a, b) => b.ms - a.ms);
  return (times.find(({ ms }) => Number.isFinite(ms) && ms <= nowMs) ?? times[0])?.key;
}

/** Compares both settings by the newest key. Throws a ServiceError if the service does not respond. */
export async function compareKeyTimes(
  key: Key,
  zone: Zone,
  configured: KeyTimes,
  nowMs: number,
  reader: WindowReader,
): Promise<KeyTimesFit> {
  const time = readKey(key);
  if (time?.zone !== 'missing') {
    return NO_FINDING;
  }
  for (const keyTimes of new Set([configured, ...KEY_TIMES])) {
    const atMs = parseKey(key, zone, keyTimes) ?? NaN;
    const { rows } = await reader.read('minute', atMs - 5 * MINUTE_MS, atMs + 5 * MINUTE_MS);
    if (rows.some((row) => row.key === key && !isZero(row.counts))) {
      return keyTimes === configured ? NO_FINDING : { kind: 'other setting', keyTimes };
    }
  }
  const aheadMs = time.ms - (nowMs + zone.offsetMsAt(nowMs));
  return aheadMs > MARGIN_MS && aheadMs < MAX_AHEAD_MS
    ? { kind: 'ahead', hours: Math.round((2 * aheadMs) / HOUR_MS) / 2 }
    : NO_FINDING;
}
