/**
 * What a long simulation must have met: every setting of every convention, every kind of library,
 * fault, incident and situation. Otherwise it proves less than it says.
 */
import { FAULT_KINDS } from '../../src/simulator/faults.ts';
import { drawEnvironment, INCIDENT_KINDS } from './environment.ts';
import type { Environment } from './environment.ts';

/** What happens to an exporter as a consequence of the environment. */
export const SITUATIONS = [
  'the day changed',
  'the period changed',
  'the day changed while polls failed',
  'the period changed while polls failed',
  'a counter had an excess',
  'the excess returned to 0',
  'no counter at the first scrapes',
  'the estimate was shown',
  'two polls in one minute had an estimate',
] as const;
export type Situation = (typeof SITUATIONS)[number];

/** From this number on, missing a setting is hardly chance: it fails the run. */
export const MIN_SEEDS_FOR_COVERAGE = 1_000;
/** Settings are collected from this many drawn environments. */
const SAMPLE = 4_000;

/** The settings of an environment, each as `name=value`. */
export function settingsOf({ conventions, ...environment }: Environment): readonly string[] {
  const { timezone, visitsPerDay, alwaysOpen, exporters, intervalMs, days, faultRate, breakdowns } =
    environment;
  return flatten('', {
    ...conventions,
    timezone,
    visitsPerDay: visitsPerDay.join('+'),
    alwaysOpen,
    exporters,
    intervalMs,
    days,
    faultRate,
    breakdowns,
  });
}

export function allSettings(): ReadonlySet<string> {
  const settings = Array.from({ length: SAMPLE }, (_, i) => settingsOf(drawEnvironment(1e9 + i)));
  return new Set([
    ...settings.flat(),
    ...FAULT_KINDS.map((kind) => `fault: ${kind}`),
    ...INCIDENT_KINDS.map((kind) => `incident: ${kind}`),
    ...SITUATIONS,
  ]);
}

function flatten(path: string, value: unknown): string[] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, part]) =>
        flatten(path === '' ? name : `${path}.${name}`, part),
      )
    : [`${path}=${String(value)}`];
}
