/** Flags that several commands have, and what every `--help` ends with. */
import { InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { createLogger, LOG_FORMATS, LOG_LEVELS } from '../base/log.ts';
import type { LogFormat, Logger, LogLevel } from '../base/log.ts';
import type { Io } from './io.ts';

export interface LogFlags {
  readonly 'log.level': LogLevel;
  readonly 'log.format'?: LogFormat;
}

export function logOptions(): Option[] {
  return [
    new Option('--log.level <level>', 'lowest level to log').choices(LOG_LEVELS).default('info'),
    new Option('--log.format <format>', 'format of the log')
      .choices(LOG_FORMATS)
      .default(undefined, 'pretty on a terminal, else json'),
  ];
}

/** The log goes to standard error. */
export function loggerFor(flags: LogFlags, io: Pick<Io, 'writeError' | 'errorIsTerminal'>): Logger {
  return createLogger({
    level: flags['log.level'],
    format: flags['log.format'] ?? (io.errorIsTerminal ? 'pretty' : 'json'),
    write: io.writeError,
    nowMs: () => systemClock.nowMs(),
  });
}

export function configOption(): Option {
  return new Option('--config.file <file>', 'configuration file').default('config.yaml');
}

export function webConfigOption(): Option {
  return new Option('--web.config.file <file>', 'file with TLS and basic_auth_users');
}

export function customersOption(): Option {
  return new Option('--customers <number>', 'number of simulated customers')
    .argParser(integer(1, 100_000))
    .default(5);
}

export function seedOption(): Option {
  return new Option('--seed <number>', 'seed of the simulation: the same seed, the same data')
    .argParser(integer(0, 2 ** 32 - 1))
    .default(1);
}

/** A parser of integers from `min` to `max`. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`expected an integer from ${min} to ${max}`);
    }
    return value;
  };
}

/** The end of a `--help`. `page` is a file in docs. Examples are arguments of the program. */
export function helpNotes(page: string, examples: readonly string[], notes = ''): string {
  const lines = examples.map((example) => `  library-stats-exporter ${example}\n`);
  return `\n${notes === '' ? '' : `${notes}\n\n`}Examples:\n${lines.join('')}\nDocumentation: docs/${page}`;
}
