/**
 * Rows as minutes in time: a day's rows by the minute, however coarse the service answers, and the
 * ledger that is made of them. Only the order of minutes rests on this, never a sum.
 */
import type { WindowResponse, WindowReader } from './query.ts';
import { contains, floorToMinute } from './calendar.ts';
import type { Span } from './calendar.ts';
import { isZero } from './counts.ts';
import type { Dating } from './dating.ts';
import { readKey } from './keys.ts';
import type { Evidence } from './keys.ts';
import { MinuteLedger } from './minute-ledger.ts';
import { withRows } from './minutes.ts';
import type { DateRow } from './minutes.ts';
import type { Zone } from './zone.ts';

/** How many halves of a day are asked for at most, where the service forces a coarser aggregation. */
const MOST_PIECES = 32;

/**
 * The rows of a window by the minute, asked for in halves where the service gave a coarser
 * aggregation; undefined where that takes too many or too long. Only for the sake of the order of minutes: the
 * sums are those of the whole.
 */
export async function minutePieces(
  reader: WindowReader,
  answer: WindowResponse,
  most = MOST_PIECES,
): Promise<readonly Evidence[] | undefined> {
  if (isZero(answer.sums)) {
    return [];
  }
  if (answer.aggregation === 'minute') {
    return [answer];
  }
  const { startMs, endMs } = answer.window;
  const middleMs = floorToMinute((startMs + endMs) / 2);
  if (most < 2 || middleMs <= startMs) {
    return undefined;
  }
  const halves: Evidence[] = [];
  for (const [fromMs, toMs] of [
    [startMs, middleMs],
    [middleMs, endMs],
  ] as const) {
    const half = await reader.readOptional('minute', fromMs, toMs);
    const pieces = half && (await minutePieces(reader, half, most / 2));
    if (pieces === undefined) {
      return undefined;
    }
    halves.push(...pieces);
  }
  return halves;
}

/** When anybody was counted by these rows; undefined where a key cannot be read. */
export function ledgerOfPieces(
  pieces: readonly Evidence[],
  dating: Dating,
  zone: Zone,
): MinuteLedger | undefined {
  let ledger: MinuteLedger | undefined = MinuteLedger.EMPTY;
  for (const { rows, window } of pieces) {
    ledger = ledger && withRows(ledger, rows, 1, dateRowBy(dating, window, zone));
  }
  return ledger;
}

/** Such a ledger of a day, for its order: each minute once, and those of the newest window taken away. */
export function withoutWindow(
  pieces: readonly Evidence[],
  window: WindowResponse,
  dating: Dating,
  zone: Zone,
): MinuteLedger | undefined {
  let ledger: MinuteLedger | undefined = MinuteLedger.EMPTY;
  for (const { rows, window: span } of pieces) {
    const dateOf = dateRowBy(dating, span, zone);
    // Whether a window includes its edges is not known: the minute between two pieces counts once.
    const own = pieces.length === 1 ? rows : rows.filter((row) => isWithin(span, dateOf(row)));
    ledger = ledger && withRows(ledger, own, 1, dateOf);
  }
  return ledger && withRows(ledger, window.rows, -1, dateRowBy(dating, window.window, zone));
}

/** Rows that cannot be dated stay, for they must not be lost in silence. */
function isWithin(span: Span, instantMs: number | undefined): boolean {
  return instantMs === undefined || contains(span, instantMs);
}

/** How to read the keys of one window's rows: undefined for every key while no reading is established. */
export function dateRowBy(dating: Dating, window: Span, zone: Zone): DateRow {
  const reading = dating.status === 'established' ? dating.readings[0] : undefined;
  return ({ key }) => (reading === undefined ? undefined : readKey(reading, key, window, zone));
}
