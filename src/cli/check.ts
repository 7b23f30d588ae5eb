/** `check`: says every problem of a configuration, and with `--connect` what the service answers. */
import { Command } from 'commander';
import { ConfigError } from '../base/errors.ts';
import { systemClock } from '../base/clock.ts';
import { loadAll } from '../config/load-all.ts';
import type { LoadedAll } from '../config/load-all.ts';
import type { Config } from '../config/types.ts';
import type { WebConfig } from '../config/web-types.ts';
import { createOpeningHoursParser } from '../counting/opening-hours.ts';
import { concernsText, linesOf, tablesOf } from './check-report.ts';
import type { Concern } from './check-report.ts';
import { askForAll } from './connect.ts';
import type { CustomerAnswers } from './connect.ts';
import { findingsOfClock, findingsOfStream } from './findings.ts';
import type { Finding } from './findings.ts';
import { configOption, webConfigOption } from './flags.ts';
import type { Io } from './io.ts';
import { requestRateText } from './request-rate.ts';
import { storageWarning } from './storage-access.ts';
import { CLEAR_LINE, counted } from './words.ts';

interface CheckFlags {
  readonly 'config.file': string;
  readonly 'web.config.file'?: string;
  readonly 'storage.path': string;
  readonly connect: boolean;
}

/** An error to be thrown when the configuration is good and what the service answers is not. */
class ConnectError extends Error {
  override readonly name = 'ConnectError';
}

export function checkCommand(io: Io): Command {
  return new Command('check')
    .summary('every problem of a configuration, and whether the service answers')
    .description('Reads the configuration and says every problem with its place.')
    .addOption(configOption())
    .addOption(webConfigOption())
    .option('--storage.path <folder>', 'where the marks would be kept; empty for nowhere', 'data')
    .option('--connect', 'also ask the service for each customer', false)
    .action(async (flags: CheckFlags) => {
      const { config, web, warnings } = await loadAloud(flags, io);
      const storage = await storageWarning(flags['storage.path']);
      const told = [
        ...warnings,
        ...(web?.warnings ?? []),
        ...(storage === undefined ? [] : [storage]),
      ];
      told.forEach((warning) => io.writeOut(`warning: ${warning}\n`));
      const customers = counted(config.customers.length, 'customer');
      io.writeOut(`${flags['config.file']}: good, ${customers}\n`);
      if (web !== undefined) {
        io.writeOut(`${flags['web.config.file']}: good, ${protectionText(web.config)}\n`);
      }
      if (flags.connect) {
        await connect(config, io);
      }
    });
}

/** Problems are the result of this command, so they go to standard output. */
async function loadAloud(flags: CheckFlags, io: Io): Promise<LoadedAll> {
  const { 'config.file': path, 'web.config.file': webPath } = flags;
  try {
    return await loadAll({ path, webPath, env: io.env, nowMs: systemClock.nowMs() });
  } catch (error) {
    if (error instanceof ConfigError) {
      io.writeOut(`${error.message.trimEnd()}\n`);
      throw new ConfigError('the configuration has problems');
    }
    throw error;
  }
}

function protectionText({ tls, users }: WebConfig): string {
  const scheme = tls === undefined ? 'http' : `https, ${tls.clientAuth}`;
  const who = users.size === 0 ? 'no passwords' : counted(users.size, 'user');
  return `${scheme}, ${who}`;
}

/** Asks the service for every customer, and says what came and what is to be done. */
async function connect(config: Config, io: Io): Promise<void> {
  const { length } = config.customers;
  function showProgress(text: string): void {
    if (io.errorIsTerminal) {
      io.writeError(`${CLEAR_LINE}${text}`);
    }
  }
  const answers = await askForAll(config, io, (asked) =>
    showProgress(`${asked} of ${length} customers asked`),
  );
  showProgress('');
  if (io.stop.aborted) {
    io.writeOut('stopped before every customer was asked\n');
    return;
  }
  const concerns = concernsOf(answers);
  const { outIsTerminal: isTerminal } = io;
  const isColoured = isTerminal && (io.env['NO_COLOR'] ?? '') === '';
  io.writeOut(isTerminal ? tablesOf(answers, isColoured) : linesOf(answers));
  io.writeOut(concernsText(concerns, { isTerminal, isColoured }));
  io.writeOut(requestRateText(config));
  const wrong = concerns.filter(({ finding }) => finding.severity === 'wrong');
  if (wrong.length > 0) {
    const whom = new Set(wrong.flatMap((concern) => concern.whom));
    throw new ConnectError(`something is wrong with ${whom.size} of ${length} customers`);
  }
  io.writeOut(
    `nothing is wrong with ${length === 1 ? 'the customer' : `the ${length} customers`}\n`,
  );
}

/** What is wrong comes first; else in the order in which it was found. */
function concernsOf(answers: readonly CustomerAnswers[]): readonly Concern[] {
  const names = answers.map(({ config }) => config.name);
  const found = new Map<string, { readonly finding: Finding; readonly whom: Set<string> }>();
  function add(finding: Finding, whom: readonly string[]): void {
    const key = JSON.stringify(finding);
    const concern = found.get(key) ?? { finding, whom: new Set() };
    whom.forEach((name) => concern.whom.add(name));
    found.set(key, concern);
  }
  const parseOpeningHours = createOpeningHoursParser();
  findingsOfClock(answers).forEach((finding) => add(finding, names));
  for (const one of answers) {
    for (const answer of one.streams) {
      findingsOfStream(one, answer, parseOpeningHours).forEach((finding) =>
        add(finding, [one.config.name]),
      );
    }
  }
  const concerns = [...found.values()].map(({ finding, whom }) => ({ finding, whom: [...whom] }));
  return ['wrong', 'note'].flatMap((severity) =>
    concerns.filter(({ finding }) => finding.severity === severity),
  );
}
