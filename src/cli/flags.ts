/** Flags that several commands have, and the checks of their values. */
import { InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { parseDuration } from '../base/duration.ts';
import { createLogger, LOG_FORMATS, LOG_LEVELS } from '../base/log.ts';
import type { LogFormat, Logger, LogLevel } from '../base/log.ts';
import type { Io } from './io.ts';

export interface LogFlags {
  readonly 'log.level': LogLevel;
  readonly 'log.format': LogFormat;
}

export function logOptions(): Option[] {
  return [
    new Option('--log.level <level>', 'the least severe events to log')
      .choices(LOG_LEVELS)
      .default('info'),
    new Option('--log.format <format>', 'how a line of the log is written')
      .choices(LOG_FORMATS)
      .default('json'),
  ];
}

export function loggerFor(flags: LogFlags, io: Io): Logger {
  return createLogger({
    level: flags['log.level'],
    format: flags['log.format'],
    write: io.writeError,
    nowMs: () => systemClock.nowMs(),
  });
}

export function configOption(): Option {
  return new Option('--config.file <file>', 'the configuration').default('config.yaml');
}

export function webConfigOption(): Option {
  return new Option(
    '--web.config.file <file>',
    "TLS and passwords, in the format of Prometheus's exporters",
  );
}

export function customersOption(): Option {
  return new Option('--customers <number>', 'how many simulated customers')
    .argParser(wholeNumber(1, 100_000))
    .default(5);
}

export function seedOption(): Option {
  return new Option('--seed <number>', 'the same seed gives the same world')
    .argParser(wholeNumber(0, 2 ** 32 - 1))
    .default(1);
}

/** A parser of whole numbers from `least` to `most`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

const LEAST_INTERVAL_MS = 1_000;

/** Milliseconds of a duration as Prometheus writes it: 0, or a second at least. */
export function intervalOrNever(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw new InvalidArgumentError('It must be a duration such as 30s, 5m or 1h30m, or 0.');
  }
  if (ms > 0 && ms < LEAST_INTERVAL_MS) {
    throw new InvalidArgumentError('It must be at least 1s, or 0 for never.');
  }
  return ms;
}
