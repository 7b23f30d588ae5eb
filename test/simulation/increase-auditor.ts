/**
 * Whether what Prometheus makes of the scrapes is what arrived: the sum of the increases that it
 * computes against the sum of the records, from the first scrape that showed a counter to the last.
 */
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { DrawnWorld } from './drawn-world.ts';
import { mayBeEmptyThrice } from './excuses.ts';
import { Prometheus } from './prometheus.ts';

export interface Shown {
  readonly customer: string;
  readonly truth: 'entered' | 'exited' | 'logins';
  readonly periodMs: number;
  readonly value: number;
  readonly atMs: number;
  /** How far the exporter's clock is ahead. */
  readonly aheadMs: number;
  readonly lastSuccessMs: number;
}

type Range = readonly [least: number, most: number];

/** One counter of one exporter. */
interface Course {
  readonly first: Range;
  /** What the epochs that are over had in the end, as far as it could be seen. */
  closed: Range;
  last: Shown;
  /** Whether a fall was excusable, or the exporter's clock was wrong: then there is no promise. */
  isExcused: boolean;
}

export class IncreaseAuditor {
  readonly prometheus = new Prometheus();
  readonly #world: DrawnWorld;
  readonly #service: SimulatedService;
  readonly #courses = new Map<string, Course>();

  constructor(world: DrawnWorld, service: SimulatedService) {
    this.#world = world;
    this.#service = service;
  }

  add(series: string, shown: Shown): void {
    const { periodMs, value, atMs, aheadMs } = shown;
    this.prometheus.append(series, { atMs, value });
    const course = this.#courses.get(series);
    if (course === undefined) {
      const first = this.#rangeOf(shown);
      this.#courses.set(series, { first, closed: [0, 0], last: shown, isExcused: aheadMs !== 0 });
      return;
    }
    const { last } = course;
    if (periodMs !== last.periodMs) {
      const [least, most] = this.#rangeOf(last);
      // A new epoch that is already above the old one is no reset to Prometheus, which then takes the
      // old one's counts for some of the new one's.
      const unseen = value >= last.value ? last.value : 0;
      course.closed = [course.closed[0] + least - unseen, course.closed[1] + most - unseen];
    }
    course.isExcused ||= aheadMs !== 0 || (periodMs === last.periodMs && value < last.value);
    course.last = shown;
  }

  /** What is wrong in the end, in words. */
  findings(): readonly string[] {
    // A first reading has nothing to be held against: what such a fault kept from it comes with the next.
    if (mayBeEmptyThrice(this.#world)) {
      return [];
    }
    return [...this.#courses].flatMap(([series, course]) => {
      const [least, most] = this.#arrived(course);
      const increase = this.prometheus.increase(series);
      return course.isExcused || (increase >= least && increase <= most)
        ? []
        : [`${series} increased by ${increase} for Prometheus, and not by ${least} to ${most}`];
    });
  }

  #arrived({ first, closed, last }: Course): Range {
    const [least, most] = this.#rangeOf(last);
    return [closed[0] + least - first[1], closed[1] + most - first[0]];
  }

  /**
   * What the service had when the value that was shown was read: between the anchor before the last
   * good poll and the scrape. What it took back meanwhile may be in the value.
   */
  #rangeOf({ customer, truth, periodMs, atMs, aheadMs, lastSuccessMs }: Shown): Range {
    const { intervalMs, reconcileIntervalMs, conventions } = this.#world;
    const sinceMs = lastSuccessMs - aheadMs - reconcileIntervalMs - 5 * intervalMs;
    const least = this.#service.served(customer, periodMs, sinceMs)[truth];
    const most = this.#service.served(customer, periodMs, atMs)[truth];
    const { share } = conventions.corrections;
    const takenBack = share === 0 ? 0 : Math.ceil(3 + 4 * share * most);
    return [Math.min(least, most) - takenBack, Math.max(least, most) + takenBack];
  }
}
