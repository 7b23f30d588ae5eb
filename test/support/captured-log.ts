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
  function write(line: string): void {
    lines.push(JSON.parse(line) as Line);
  }
  return { log: createLogger({ level, format: 'json', write, clock }), lines };
}
