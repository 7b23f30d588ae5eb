/**
 * The log: one line per event. Messages are short, constant and in lower case; data is in snake_case
 * fields with units. Only this file imports pino.
 */
import { pino } from 'pino';
import type { Clock } from './clock.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export const LOG_FORMATS = ['json', 'pretty'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = (typeof LOG_FORMATS)[number];

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Plain values only, so that no error object, header or body is logged by accident. */
export type Logger = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;

/** Returns a log. `write` gets whole lines with their line end. */
export function createLogger(options: {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, 'nowMs'>;
}): Logger {
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date(options.clock.nowMs()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: options.format === 'json' ? options.write : prettyWriter(options.write) },
  );
  return {
    debug: (message, fields) => log.debug(fields ?? {}, message),
    info: (message, fields) => log.info(fields ?? {}, message),
    warn: (message, fields) => log.warn(fields ?? {}, message),
    error: (message, fields) => log.error(fields ?? {}, message),
  };
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};

function prettyWriter(write: (line: string) => void): (line: string) => void {
  return (line) => {
    const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    write(`${String(time)} ${String(level).padEnd(5)} ${String(msg)}${rest.join('')}\n`);
  };
}
