/** A logger whose lines a test reads. */
import type { Clock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import type { Logger, LogLevel } from '../../src/base/log.ts';

export interface Line {
  readonly msg: string;
  readonly [field: string]: unknown;
}

export function captureLog(
  clock: Pick<Clock, 'nowMs'>,
  level: LogLevel = 'info',
): { log: Logger; lines: Line[] } {
  const lines: Line[] = [];
  const log = createLogger({
    level,
    format: 'json',
    write: (line) => lines.push(JSON.parse(line) as Line),
    clock,
  });
  return { log, lines };
}
