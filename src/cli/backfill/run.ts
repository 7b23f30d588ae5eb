/** A backfill from its flags to its summary. */
import { mkdir, readdir } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';
import { ServiceError, UsageError } from '../../base/errors.ts';
import { isLocked, lockFolder } from '../../base/folder-lock.ts';
import type { FolderLock } from '../../base/folder-lock.ts';
import type { Logger } from '../../base/log.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config, CustomerConfig } from '../../config/types.ts';
import { Calendar } from '../../counting/calendar.ts';
import { createOpeningHoursParser } from '../../counting/opening-hours.ts';
import { Zone } from '../../counting/zone.ts';
import type { LabelPair } from '../../metrics/families.ts';
import { descriptionOf } from '../../polling/fleet.ts';
import { createGate } from '../../service/limits.ts';
import { customersAtOnce, serviceOf } from '../access.ts';
import type { Io } from '../io.ts';
import { formatTime } from '../time-flag.ts';
import type { BackfillFlags } from './flags.ts';
import { firstSamples } from './joint.ts';
import { createPrometheusApi } from './prometheus-api.ts';
import { newManifest, readManifest, writeManifest } from './manifest.ts';
import type { Manifest } from './manifest.ts';
import { monthsOf, toldSpan } from './plan.ts';
import type { Joint, Subject } from './plan.ts';
import { createProgress } from './progress.ts';
import { Reader } from './reader.ts';
import { settingsOf } from './settings.ts';
import { summaryText } from './summary.ts';
import { MonthWriter } from './write.ts';

/** An error to be thrown when the history of some customers could not be had. */
class BackfillError extends Error {
  override readonly name = 'BackfillError';
}

/** Prometheus still changes the newest hours of its own; blocks of them are better not made. */
const USUAL_END_MS = 3 * 3_600_000;

/** Where Prometheus begins sooner after --from, it has begun before. */
const LEAST_HISTORY_MS = 300_000;

/** Throws a UsageError or ConfigError before the service is asked, and an Error after it. */
export async function backfill(flags: BackfillFlags, io: Io, log: Logger): Promise<void> {
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => log.warn('the configuration is good but for this', { warning }));
  const customers = customersOf(config, flags);
  const settings = settingsOf(flags, config, customers);
  const known = await readManifest(flags.output, settings);
  if (known === undefined) {
    await refuseForeign(flags.output);
  }
  const nowMs = systemClock.nowMs();
  const before = known ?? newManifest(settings);
  const joints = await jointsOf(before, customers, flags, nowMs, io);
  const subjects = subjectsOf(before, customers, joints, flags, nowMs);
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

async function writeMonths({ flags, config, subjects, manifest, io, log }: Run): Promise<void> {
  const months = monthsOf(subjects);
  const parts = months.flatMap((month) => month.parts);
  const days = parts.reduce((sum, { told }) => sum + (told.endMs - told.startMs) / 86_400_000, 0);
  log.info('backfill begins', {
    customers: subjects.length,
    months: months.length,
    days: Math.round(days),
    output: flags.output,
  });
  const progress = createProgress({ clock: systemClock, log, parts: parts.length, days });
  const service = serviceOf(config, io, { request: () => progress.request() });
  const reader = new Reader({
    service,
    timeoutMs: config.service.timeoutMs,
    clock: systemClock,
    log,
    stop: io.stop,
  });
  const writer = new MonthWriter({
    folder: flags.output,
    families: new Set(subjects.flatMap((subject) => subject.config.breakdowns)),
    past: {
      stepMs: flags.step,
      target: targetOf(flags),
      infoLabelNames: [
        ...new Set(config.customers.flatMap(({ labels }) => Object.keys(labels))),
      ].toSorted(),
    },
    reader,
    progress,
    atOnce: customersAtOnce(config.service),
    // One after the other: what is held for it is some ten megabytes.
    rendering: createGate(1),
    log,
    stop: io.stop,
  });
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

function failureText(month: string, failures: ReadonlyMap<string, unknown>): string {
  const lines = [...failures].map(([customer, error]) => {
    const message = error instanceof Error ? error.message : String(error);
    return `  ${customer}: ${error instanceof ServiceError ? `${error.reason}: ` : ''}${message}`;
  });
  return (
    `${month} could not be read of ${failures.size === 1 ? 'a customer' : `${failures.size} customers`}:\n` +
    `${lines.join('\n')}\n` +
    'run it again with the same flags to go on, or choose others with --customer and another --output'
  );
}

function customersOf(
  config: Config,
  { customer: names }: BackfillFlags,
): readonly CustomerConfig[] {
  if (names === undefined) {
    return config.customers;
  }
  for (const name of names) {
    if (!config.customers.some((customer) => customer.name === name)) {
      const known = config.customers.slice(0, 10).map((customer) => customer.name);
      const more = config.customers.length > 10 ? ', …' : '';
      throw new UsageError(
        `error: there is no customer ${JSON.stringify(name)} in the configuration; ` +
          `it must be one of ${known.join(', ')}${more}`,
      );
    }
  }
  return config.customers.filter(({ name }) => names.includes(name));
}

async function jointsOf(
  before: Manifest,
  customers: readonly CustomerConfig[],
  flags: BackfillFlags,
  nowMs: number,
  io: Io,
): Promise<ReadonlyMap<string, Joint>> {
  const url = flags['prometheus.url'];
  const known = customers.flatMap(({ name }): [string, Joint][] => {
    const joint = before.subjects[name]?.joint;
    return joint === undefined ? [] : [[name, joint]];
  });
  if (url === undefined || known.length > 0) {
    return new Map(known);
  }
  const fromMs = Math.min(
    ...customers.map(({ timezone }) => flags.from.time(new Zone(timezone), nowMs)),
  );
  const api = createPrometheusApi(url, io.stop);
  return firstSamples({ api, customers, target: targetOf(flags), fromMs, nowMs });
}

function subjectsOf(
  before: Manifest,
  customers: readonly CustomerConfig[],
  joints: ReadonlyMap<string, Joint>,
  flags: BackfillFlags,
  nowMs: number,
): readonly Subject[] {
  const parseOpeningHours = createOpeningHoursParser();
  return customers.map((config): Subject => {
    const zone = new Zone(config.timezone);
    const joint = joints.get(config.name);
    const fromMs = before.subjects[config.name]?.fromMs ?? flags.from.time(zone, nowMs);
    refuseNothing(config.name, zone, fromMs, joint);
    const usualMs = Math.floor((nowMs - USUAL_END_MS) / 60_000) * 60_000;
    const askedMs = flags.to?.time(zone, nowMs) ?? joint?.atMs ?? usualMs;
    return {
      config,
      calendar: new Calendar(zone, config.dayStartsAt),
      description: descriptionOf(config, parseOpeningHours),
      told: toldSpan(zone, fromMs, Math.min(askedMs, joint?.atMs ?? Infinity), nowMs),
      joint,
    };
  });
}

/** Throws a UsageError where Prometheus has everything already. */
function refuseNothing(
  customer: string,
  zone: Zone,
  fromMs: number,
  joint: Joint | undefined,
): void {
  if (joint !== undefined && joint.atMs - fromMs < LEAST_HISTORY_MS) {
    throw new UsageError(
      `error: Prometheus has samples of ${customer} from ${formatTime(zone, joint.atMs)} on, so that there is ` +
        'nothing to write: give an earlier --from, or leave --prometheus.url out if they are of another backfill',
    );
  }
}

/** The labels that the scrape adds. */
function targetOf({ instance, job, label = [] }: BackfillFlags): readonly LabelPair[] {
  return [['instance', instance], ['job', job], ...label];
}

/** Throws a UsageError where there is something in the folder that we have not written. */
async function refuseForeign(folder: string): Promise<void> {
  const found = await readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return [];
    }
    throw error;
  });
  if (found.some((name) => name !== 'lock')) {
    throw new UsageError(
      `error: ${folder} is not empty and not of a backfill: give another --output, or an empty one`,
    );
  }
}

function locked(folder: string): FolderLock {
  try {
    return lockFolder(folder);
  } catch (error) {
    if (isLocked(error)) {
      throw new UsageError(`error: another backfill is writing to ${folder}: let it end`);
    }
    throw error;
  }
}
