/** A backfill from its flags to its summary. */
import { mkdir, readdir } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';
import { codeOf, messageOf, ServiceError, UsageError } from '../../base/errors.ts';
import { isLocked, LOCK_FILE, lockFolder } from '../../base/files.ts';
import type { FolderLock } from '../../base/files.ts';
import type { Logger } from '../../base/log.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/types.ts';
import { Gate } from '../../service/limits.ts';
import type { Service } from '../../service/types.ts';
import { customersAtOnce, serviceOf } from '../access.ts';
import type { Io } from '../io.ts';
import type { BackfillFlags } from './flags.ts';
import { newManifest, readManifest, writeManifest } from './manifest.ts';
import type { Manifest } from './manifest.ts';
import { monthsOf } from './plan.ts';
import type { Subject } from './plan.ts';
import { createProgress } from './progress.ts';
import type { Progress } from './progress.ts';
import { Reader } from './reader.ts';
import { settingsOf } from './settings.ts';
import {
  customersOf,
  jointsOf,
  labelNamesOf,
  refuseOwnLabels,
  subjectsOf,
  targetOf,
  warnOfJoints,
} from './subjects.ts';
import { summaryText } from './summary.ts';
import { daysOf, MonthWriter } from './write.ts';

/** An error to be thrown when the history of some customers could not be had. */
class BackfillError extends Error {
  override readonly name = 'BackfillError';
}

/** Throws a UsageError or ConfigError before the service is asked, and an Error after it. */
export async function backfill(flags: BackfillFlags, io: Io, log: Logger): Promise<void> {
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => log.warn('the configuration is good but for this', { warning }));
  const customers = customersOf(config, flags);
  refuseOwnLabels(config, flags);
  const settings = settingsOf(flags, config, customers);
  const known = await readManifest(flags.output, settings);
  if (known === undefined) {
    await refuseForeign(flags.output);
  }
  const nowMs = systemClock.nowMs();
  const before = known ?? newManifest(settings);
  const joints = await unlessStopped(jointsOf(before, customers, flags, nowMs, io), io);
  if (joints === undefined) {
    io.writeOut('stopped before anything was written\n');
    return;
  }
  const subjects = subjectsOf(before, customers, joints, flags, nowMs);
  warnOfJoints(subjects, flags, nowMs, log);
  await mkdir(flags.output, { recursive: true });
  const lock = locked(flags.output);
  try {
    const manifest = { ...before, subjects: recordsOf(subjects) };
    await writeManifest(flags.output, manifest);
    await writeMonths({ flags, config, subjects, manifest, io, log });
  } finally {
    lock.close();
  }
}

/** Undefined in place of the error that the stop itself was the cause of. */
async function unlessStopped<Result>(asked: Promise<Result>, { stop }: Io) {
  try {
    return await asked;
  } catch (error) {
    if (stop.aborted) {
      return undefined;
    }
    throw error;
  }
}

function recordsOf(subjects: readonly Subject[]): Manifest['subjects'] {
  return Object.fromEntries(
    subjects.map(({ config, told, joint }) => [
      config.name,
      { fromMs: told.startMs, ...(joint === undefined ? {} : { joint }) },
    ]),
  );
}

interface Run {
  readonly flags: BackfillFlags;
  readonly config: Config;
  readonly subjects: readonly Subject[];
  readonly manifest: Manifest;
  readonly io: Io;
  readonly log: Logger;
}

async function writeMonths(run: Run): Promise<void> {
  const { flags, config, subjects, manifest, io, log } = run;
  const months = monthsOf(subjects);
  const parts = months.flatMap((month) => month.parts);
  const days = parts.reduce((sum, part) => sum + daysOf(part), 0);
  log.info('backfill begins', {
    customers: subjects.length,
    months: months.length,
    days: Math.round(days),
    output: flags.output,
  });
  const progress = createProgress({ clock: systemClock, log, parts: parts.length, days });
  const service = serviceOf(config, io, { request: () => progress.request() });
  const writer = writerFor(run, service, progress);
  let written = manifest;
  try {
    for (const month of months) {
      const { record, failures } = await writer.write(month, written);
      if (io.stop.aborted) {
        log.info('backfill was stopped', { months: Object.keys(written.months).length });
        break;
      }
      if (record === undefined) {
        throw new BackfillError(failureText(month.name, failures));
      }
      written = { ...written, months: { ...written.months, [month.name]: record } };
      await writeManifest(flags.output, written);
    }
  } finally {
    service.close();
  }
  const names = months.map(({ name }) => name);
  const customers = subjects.map((subject) => subject.config.name);
  log.info('backfill ends', { requests: progress.requests() });
  io.writeOut(summaryText(written, names, customers, flags.output));
  if (io.stop.aborted) {
    io.writeOut('stopped before the end: run it again with the same flags to go on\n');
  }
}

function writerFor(
  { flags, config, subjects, io, log }: Run,
  service: Service,
  progress: Progress,
): MonthWriter {
  const common = { log, stop: io.stop };
  const { timeoutMs } = config.service;
  return new MonthWriter({
    ...common,
    folder: flags.output,
    families: new Set(subjects.flatMap((subject) => subject.config.breakdowns)),
    past: {
      stepMs: flags.step,
      target: targetOf(flags),
      infoLabelNames: labelNamesOf(config),
    },
    reader: new Reader({ ...common, service, timeoutMs, clock: systemClock }),
    progress,
    atOnce: customersAtOnce(config.service),
    // One after the other: what is held for it is some ten megabytes.
    rendering: new Gate(1),
  });
}

function failureText(month: string, failures: ReadonlyMap<string, unknown>): string {
  const lines = [...failures].map(([customer, error]) => {
    const reason = error instanceof ServiceError ? `${error.reason}: ` : '';
    return `  ${customer}: ${reason}${messageOf(error)}`;
  });
  return (
    `${month} could not be written for ${failures.size === 1 ? 'a customer' : `${failures.size} customers`}:\n` +
    `${lines.join('\n')}\n` +
    'run it again with the same flags to go on, or choose others with --customer and another --output'
  );
}

/** Throws a UsageError where there is something in the folder that we have not written. */
async function refuseForeign(folder: string): Promise<void> {
  const found = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') {
      return [];
    }
    throw error;
  });
  if (found.some((name) => name !== LOCK_FILE)) {
    throw new UsageError(
      `${folder} is not empty and not of a backfill: give another --output, or an empty one`,
    );
  }
}

function locked(folder: string): FolderLock {
  try {
    return lockFolder(folder);
  } catch (error) {
    if (isLocked(error)) {
      throw new UsageError(`another backfill is writing to ${folder}: let it end`);
    }
    throw error;
  }
}
