/** Where the rows of a query go: standard output as fast as its reader takes them; words go beside. */
import type { Clock } from '../../base/clock.ts';
import { codeOf } from '../../base/errors.ts';
import type { RawRecord } from '../../base/model.ts';
import type { Io } from '../io.ts';
import { createFormatter } from './formats.ts';
import type { Format } from './formats.ts';
import { createProgress } from './progress.ts';

/** An error to be thrown when nobody reads the rows any more, as in `query … | head -1`. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

export interface Output {
  /** How many rows were written so far. */
  rows(): number;
  /** Writes whole rows and waits until there is room for more. Throws ReaderGone. */
  write(rows: readonly RawRecord[]): Promise<void>;
  /** A sentence on standard error. */
  tell(sentence: string): void;
  end(): void;
}

export interface OutputOptions {
  readonly io: Io;
  readonly clock: Clock;
  readonly format: Format;
  readonly columns: readonly string[];
}

export function createOutput({ io, clock, format, columns }: OutputOptions): Output {
  const toText = createFormatter({ format, columns, forTerminal: io.outIsTerminal });
  const progress = createProgress({
    clock,
    isTerminal: io.errorIsTerminal,
    write: io.writeError,
  });
  let written = 0;
  return {
    rows: () => written,
    async write(rows) {
      const text = toText(rows);
      // Both may be one terminal.
      progress.clear();
      await deliver(io, text);
      written += rows.length;
      progress.add(rows.length, Buffer.byteLength(text));
    },
    tell(sentence) {
      progress.clear();
      io.writeError(`${sentence}\n`);
    },
    end: () => progress.end(),
  };
}

async function deliver(io: Io, text: string): Promise<void> {
  try {
    await io.deliverOut(text);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EPIPE') {
      throw new ReaderGone('standard output was closed', { cause: error });
    }
    throw new Error(`standard output cannot be written (${code ?? 'unknown'})`, { cause: error });
  }
}
