/** Whose history is written, from when to when, and where it meets a running exporter's samples. */
import { UsageError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Config, CustomerConfig } from '../../config/types.ts';
import { Calendar } from '../../counting/calendar.ts';
import { createOpeningHoursParser } from '../../counting/opening-hours.ts';
import { Zone } from '../../counting/zone.ts';
import type { LabelPair } from '../../metrics/family.ts';
import { descriptionOf } from '../../polling/customer-registry.ts';
import { noSuchCustomer } from '../access.ts';
import type { Io } from '../io.ts';
import { formatTime } from '../time-flag.ts';
import type { BackfillFlags } from './flags.ts';
import { firstSamples } from './joint.ts';
import type { Manifest } from './manifest.ts';
import { toldSpan } from './plan.ts';
import type { Joint, Subject } from './plan.ts';
import { createPrometheusApi } from './prometheus-api.ts';

/** Prometheus still changes the newest hours of its own; blocks of them are better not made. */
const USUAL_END_MS = 3 * 3_600_000;

/** So old, samples are in blocks of Prometheus's own. */
const SETTLED_MS = 4 * 3_600_000;

/** Where Prometheus begins sooner after --from, it has begun before. */
const LEAST_HISTORY_MS = 300_000;

/** In the configuration's order. Throws a UsageError for a name that is not in it. */
export function customersOf(
  config: Config,
  { customer: names }: BackfillFlags,
): readonly CustomerConfig[] {
  if (names === undefined) {
    return config.customers;
  }
  for (const name of names) {
    if (!config.customers.some((customer) => customer.name === name)) {
      throw noSuchCustomer(config, name);
    }
  }
  return config.customers.filter(({ name }) => names.includes(name));
}

/** The names of the labels that customers are given, in their order. */
export function labelNamesOf({ customers }: Config): readonly string[] {
  return [...new Set(customers.flatMap(({ labels }) => Object.keys(labels)))].toSorted();
}

/** Throws a UsageError for a label that would be in a sample twice, for which promtool refuses them all. */
export function refuseOwnLabels(config: Config, { label = [] }: BackfillFlags): void {
  const own = labelNamesOf(config);
  const twice = label.find(([name]) => own.includes(name));
  if (twice !== undefined) {
    throw new UsageError(
      `--label=${twice.join('=')}: customers have a label of that name in the configuration: ` +
        'choose another name for one of them',
    );
  }
}

/**
 * By customer, as a Prometheus tells them now, or told them when this backfill began: by now it may
 * have its blocks. Throws a PrometheusError or a UsageError.
 */
export async function jointsOf(
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

/** Throws a UsageError where there is nothing to write. */
export function subjectsOf(
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

/** What the files are good for all the same, once somebody has minded this. */
export function warnOfJoints(
  subjects: readonly Subject[],
  flags: BackfillFlags,
  nowMs: number,
  log: Logger,
): void {
  if (flags['prometheus.url'] === undefined) {
    return;
  }
  const unknown = subjects.filter(({ joint }) => joint === undefined);
  if (unknown.length > 0) {
    log.warn('Prometheus has no sample of some customers, their history ends three hours ago', {
      customers: unknown.length,
      first: unknown[0]?.config.name,
    });
  }
  const newestMs = Math.max(...subjects.map(({ joint }) => joint?.atMs ?? -Infinity));
  if (nowMs - newestMs < SETTLED_MS) {
    log.warn('Prometheus still changes the hours of its first samples, load the blocks later', {
      not_before: new Date(newestMs + SETTLED_MS).toISOString(),
    });
  }
}

/** The labels that the scrape adds. */
export function targetOf({ instance, job, label = [] }: BackfillFlags): readonly LabelPair[] {
  return [['instance', instance], ['job', job], ...label];
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
      `Prometheus has samples of ${customer} from ${formatTime(zone, joint.atMs)} on, so that there is ` +
        'nothing to write: give an earlier --from, or leave --prometheus.url out if they are of another backfill',
    );
  }
}
