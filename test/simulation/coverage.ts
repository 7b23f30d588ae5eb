/**
 * What a run of many worlds has met: every setting of every convention, every kind of library, every
 * fault and mishap. A run that is long enough and has not met all of it proves less than it says.
 */
import { FAULT_KINDS } from '../../src/simulator/faults.ts';
import { drawWorld, MISHAP_KINDS } from './drawn-world.ts';
import type { DrawnWorld } from './drawn-world.ts';

/** What may happen to an exporter in the course of a world, beside faults and mishaps. */
export const OCCASIONS = [
  'the day changed',
  'the epoch changed',
  'the day changed while polls failed',
  'the epoch changed while polls failed',
  'counts were held',
  'counts were held no more',
  'no counter at the first scrapes',
] as const;
export type Occasion = (typeof OCCASIONS)[number];

/** Every setting that is rarer than one in eight is met in so many worlds, but for once in a million runs. */
export const ENOUGH_SEEDS = 500;
/** Of which drawn worlds the settings are collected. */
const SAMPLE = 4_000;

/** The settings of a world, each as `name=value`. */
export function settingsOf({ conventions, ...world }: DrawnWorld): readonly string[] {
  const { timezone, visitsPerDay, alwaysOpen, exporters, intervalMs, days, faultRate, breakdowns } =
    world;
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

/** All that a long run must have met. */
export function allThereIs(): ReadonlySet<string> {
  const settings = Array.from({ length: SAMPLE }, (_, i) => settingsOf(drawWorld(1e9 + i)));
  return new Set([
    ...settings.flat(),
    ...FAULT_KINDS.map((kind) => `fault: ${kind}`),
    ...MISHAP_KINDS.map((kind) => `mishap: ${kind}`),
    ...OCCASIONS,
  ]);
}

function flatten(path: string, value: unknown): string[] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, part]) =>
        flatten(path === '' ? name : `${path}.${name}`, part),
      )
    : [`${path}=${String(value)}`];
}
