/** Flags that several commands have, and what every `--help` ends with. */
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { Temporal } from 'temporal-polyfill';
import type { TimeFlag } from '../backfill/targets.ts';
import { systemClock } from '../base/clock.ts';
import { parseDuration } from '../base/duration.ts';
import { createLogger, LOG_FORMATS, LOG_LEVELS } from '../base/log.ts';
import type { LogFormat, Logger, LogLevel } from '../base/log.ts';
import type { Io } from './io.ts';

export interface LogFlags {
  readonly 'log.level': LogLevel;
  readonly 'log.format'?: LogFormat;
}

/** Adds `--log.level` and `--log.format`. */
export function addLogOptions(command: Command): Command {
  const format = 'format of the log; by default pretty on a terminal, else json';
  return command
    .addOption(
      new Option('--log.level <level>', 'lowest level to log').choices(LOG_LEVELS).default('info'),
    )
    .addOption(new Option('--log.format <format>', format).choices(LOG_FORMATS));
}

/** Returns a logger that writes to standard error. */
export function loggerFor(flags: LogFlags, io: Pick<Io, 'writeError' | 'errorIsTerminal'>): Logger {
  return createLogger({
    level: flags['log.level'],
    format: flags['log.format'] ?? (io.errorIsTerminal ? 'pretty' : 'json'),
    write: io.writeError,
    clock: systemClock,
  });
}

/** Returns `--config.file`. */
export function configOption(): Option {
  return new Option('--config.file <file>', 'configuration file').default('config.yaml');
}

/** Returns `--customer`, of which there may be several. */
export function customerOption(): Option {
  return new Option('--customer <name>', 'customer name, repeatable (default: all)').argParser(
    repeatable,
  );
}

/** Collects the values of a flag that may be given several times. */
export function repeatable(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/**
 * Returns `--web.listen-address`. Other exporters take it several times, so a second one is refused and
 * not used alone.
 */
export function listenAddressOption(description: string, standard: string): Option {
  let isGiven = false;
  return new Option('--web.listen-address <address>', description)
    .argParser((address: string) => {
      if (isGiven) {
        throw new InvalidArgumentError('Expected one address, got a second one.');
      }
      isGiven = true;
      return address;
    })
    .default(standard);
}

/** Returns `--web.config.file`. */
export function webConfigOption(): Option {
  return new Option('--web.config.file <file>', 'file with TLS and basic_auth_users');
}

/** Adds `--customers`, the number of simulated ones, and `--seed`. */
export function addSimulationOptions(command: Command): Command {
  return command
    .option('--customers <number>', 'number of simulated customers', integer(1, 100_000), 5)
    .option(
      '--seed <number>',
      'seed of the simulation: the same seed, the same data',
      integer(0, 2 ** 32 - 1),
      1,
    );
}

/** Returns the path of a file or folder. Throws an InvalidArgumentError if it is empty. */
export function parsePath(text: string): string {
  if (text === '') {
    throw new InvalidArgumentError('Expected a path, got an empty one.');
  }
  return text;
}

/** Returns a parser of integers from `min` to `max`. It throws an InvalidArgumentError. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected an integer from ${min} to ${max}.`);
    }
    return value;
  };
}

export const TIME_FORMATS =
  'ISO 8601, local without an offset; a date; or a duration before now such as -24h';

const LOCAL_TIME = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?$/i;

/**
 * Parses ISO 8601 or a duration before now. A time without an offset is the customer's local time, a date
 * means its midnight. Throws an InvalidArgumentError.
 */
export function parseTimeFlag(text: string): TimeFlag {
  if (text.startsWith('-')) {
    const agoMs = parseDuration(text.slice(1)) ?? refuseTime();
    return { text, toInstantMs: (_zone, nowMs) => wholeSeconds(Math.max(0, nowMs - agoMs)) };
  }
  try {
    if (LOCAL_TIME.test(text)) {
      const wall = Temporal.PlainDateTime.from(text).toZonedDateTime('UTC');
      return {
        text,
        toInstantMs: (zone) => zone.instantOfWall(wholeSeconds(wall.epochMilliseconds)),
      };
    }
    const instantMs = wholeSeconds(Temporal.Instant.from(text).epochMilliseconds);
    return { text, toInstantMs: () => instantMs };
  } catch {
    return refuseTime();
  }
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

function refuseTime(): never {
  throw new InvalidArgumentError(
    'Expected a time such as 2026-11-01T04:00:00+01:00, a date such as 2026-11-01, ' +
      'or a duration before now such as -24h.',
  );
}

/** Returns the end of a `--help`. `page` is a file in docs. Examples are arguments of the program. */
export function helpNotes(page: string, ...examples: readonly string[]): string {
  const lines = examples.map((example) => `  library-stats-exporter ${example}\n`);
  return `\nExamples:\n${lines.join('')}\nDocumentation: docs/${page}`;
}
