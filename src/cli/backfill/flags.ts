/** The flags of `backfill` and the checks of their values. */
import { InvalidArgumentError } from 'commander';
import { labelProblem } from '../../config/values.ts';
import type { LabelPair } from '../../metrics/family.ts';
import type { LogFlags } from '../flags.ts';
import { parseTimeFlag } from '../time-flag.ts';
import type { TimeFlag } from '../time-flag.ts';

export interface DatedFlag {
  /** As it was written. */
  readonly text: string;
  readonly time: TimeFlag;
}

export interface BackfillFlags extends LogFlags {
  readonly 'config.file': string;
  readonly from: DatedFlag;
  readonly to?: DatedFlag;
  /** All of the configuration where not given. */
  readonly customer?: readonly string[];
  /** Milliseconds. */
  readonly step: number;
  readonly instance: string;
  readonly job: string;
  readonly label?: readonly LabelPair[];
  readonly 'prometheus.url'?: URL;
  readonly output: string;
}

/** Longer ones would leave holes: what is older than five minutes, Prometheus does not show. */
const STEPS_MS: Readonly<Record<string, number>> = { '1m': 60_000, '5m': 300_000 };
export const STEPS: readonly string[] = Object.keys(STEPS_MS);

export function datedFlag(text: string): DatedFlag {
  return { text, time: parseTimeFlag(text) };
}

export function stepFlag(text: string): number {
  const stepMs = Object.hasOwn(STEPS_MS, text) ? STEPS_MS[text] : undefined;
  if (stepMs === undefined) {
    throw new InvalidArgumentError(`It must be ${STEPS.join(' or ')}.`);
  }
  return stepMs;
}

export function addCustomer(name: string, before: readonly string[] = []): readonly string[] {
  if (before.includes(name)) {
    throw new InvalidArgumentError('It was given twice.');
  }
  return [...before, name];
}

/** Prometheus knows no label without a value. */
export function labelValue(text: string): string {
  if (text === '') {
    throw new InvalidArgumentError('It must not be empty.');
  }
  return text;
}

export function addLabel(text: string, before: readonly LabelPair[] = []): readonly LabelPair[] {
  const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('It must be NAME=VALUE, as in datacenter=north.');
  }
  if (name === 'job' || name === 'instance') {
    throw new InvalidArgumentError(`There is a flag for it: --${name}=${value}.`);
  }
  const problem = TAKEN.has(name)
    ? 'is a label of the exporter: choose another name'
    : labelProblem(name);
  if (problem !== undefined) {
    throw new InvalidArgumentError(`${name} ${problem}.`);
  }
  if (before.some(([other]) => other === name)) {
    throw new InvalidArgumentError(`The label ${name} was given twice.`);
  }
  return [...before, [name, value]];
}

/** Where a scrape has a label of its own, Prometheus renames the one it adds. */
const TAKEN = new Set([
  'customer',
  'timezone',
  'branch',
  'client',
  'device',
  'name',
  'kind',
  'stream',
]);

export function prometheusUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidArgumentError('It must be a URL, as in http://localhost:9090.');
  }
  return url;
}
