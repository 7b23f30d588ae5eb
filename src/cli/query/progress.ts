/** How far a long reading is, on one line of a terminal that is written anew; else nothing. */
import type { Clock } from '../../base/clock.ts';
import { CLEAR_LINE, counted } from '../words.ts';

export interface Progress {
  /** A page has been written out. */
  add(records: number, bytes: number): void;
  /** Takes the line away, so that something else can be written to the terminal. */
  clear(): void;
  /** Leaves the line as it is. */
  end(): void;
}

export interface ProgressOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly isTerminal: boolean;
  readonly write: (text: string) => void;
}

export function createProgress({ clock, isTerminal, write }: ProgressOptions): Progress {
  const startMs = clock.monotonicMs();
  let pages = 0;
  let records = 0;
  let bytes = 0;
  let isShown = false;

  function show(text: string, shown: boolean): void {
    if (isTerminal) {
      write(text);
      isShown = shown;
    }
  }

  return {
    add(moreRecords, moreBytes) {
      pages += 1;
      records += moreRecords;
      bytes += moreBytes;
      const seconds = Math.max(0.001, (clock.monotonicMs() - startMs) / 1_000);
      const rate = Math.round(records / seconds);
      const megabytes = (bytes / 1_000_000).toFixed(1);
      show(
        `${CLEAR_LINE}${counted(pages, 'page')}, ${records} records, ${megabytes} MB, ${rate} records/s`,
        true,
      );
    },
    clear() {
      if (isShown) {
        show(CLEAR_LINE, false);
      }
    },
    end() {
      if (isShown) {
        show('\n', false);
      }
    },
  };
}
