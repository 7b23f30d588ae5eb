/** An exposition of some customers, and what it says. */
import { createExposition } from '../../src/metrics/exposition.ts';
import type { Exposition } from '../../src/metrics/exposition.ts';
import type { Format } from '../../src/metrics/format.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { MovableSource, NOW_MS } from './fixtures.ts';
import type { riverside } from './fixtures.ts';

export function textOf(exposition: Exposition, format: Format = 'text'): string {
  return Buffer.concat(exposition.render(format).parts).toString();
}

export function linesOf(exposition: Exposition, family: string): string[] {
  return textOf(exposition)
    .split('\n')
    .filter((line) => line.startsWith(`${family}{`));
}

/** An exposition of these customers, its clock at NOW_MS, and the sources to move. */
export function exposing(...figures: ReturnType<typeof riverside>[]) {
  const clock = new VirtualClock(NOW_MS);
  const exposition = createExposition({ clock });
  const sources = figures.map((each) => new MovableSource(each));
  exposition.setCustomers(sources);
  return { clock, exposition, sources };
}

export function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) {
    throw new Error(`expected one, got ${items.length}`);
  }
  return item;
}
