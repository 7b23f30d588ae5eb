/** Audits what Prometheus computes from the scrapes: its increases must add up to the records. */
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { Environment } from './environment.ts';
import { mayAcceptEmpty, removedCounts } from './tolerances.ts';

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
  /** The last known totals of past periods. */
  closed: Range;
  last: Shown;
  /** What Prometheus computes: it takes every decrease for a reset. */
  increase: number;
  /** A decrease was tolerated, or the exporter's clock was wrong. */
  isTolerated: boolean;
}

export class IncreaseAuditor {
  readonly #environment: Environment;
  readonly #service: SimulatedService;
  readonly #courses = new Map<string, Course>();

  constructor(environment: Environment, service: SimulatedService) {
    this.#environment = environment;
    this.#service = service;
  }

  add(series: string, shown: Shown): void {
    const { periodMs, value, aheadMs } = shown;
    const course = this.#courses.get(series);
    if (course === undefined) {
      const first = this.#rangeOf(shown);
      const isTolerated = aheadMs !== 0;
      this.#courses.set(series, { first, closed: [0, 0], last: shown, increase: 0, isTolerated });
      return;
    }
    const { last } = course;
    if (periodMs !== last.periodMs) {
      const [least, most] = this.#rangeOf(last);
      // Prometheus sees no reset if a new period starts above the old one's value.
      const unseen = value >= last.value ? last.value : 0;
      course.closed = [course.closed[0] + least - unseen, course.closed[1] + most - unseen];
    }
    course.isTolerated ||= aheadMs !== 0 || (periodMs === last.periodMs && value < last.value);
    course.increase += value < last.value ? value : value - last.value;
    course.last = shown;
  }

  violations(): readonly string[] {
    // A first answer that lacks rows cannot be recognized; the rest comes with the next.
    if (mayAcceptEmpty(this.#environment)) {
      return [];
    }
    return [...this.#courses].flatMap(([series, course]) => {
      const [least, most] = this.#arrived(course);
      const { increase } = course;
      return course.isTolerated || (increase >= least && increase <= most)
        ? []
        : [`${series} increased by ${increase} for Prometheus, and not by ${least} to ${most}`];
    });
  }

  #arrived({ first, closed, last }: Course): Range {
    const [least, most] = this.#rangeOf(last);
    return [closed[0] + least - first[1], closed[1] + most - first[0]];
  }

  /** The totals that the service had between the baseline before the last successful poll and the scrape. */
  #rangeOf({ customer, truth, periodMs, atMs, aheadMs, lastSuccessMs }: Shown): Range {
    const { intervalMs, reconcileIntervalMs } = this.#environment;
    const sinceMs = lastSuccessMs - aheadMs - reconcileIntervalMs - 5 * intervalMs;
    const least = this.#service.served(customer, periodMs, sinceMs)[truth];
    const most = this.#service.served(customer, periodMs, atMs)[truth];
    const slack = removedCounts(this.#environment, most);
    return [Math.min(least, most) - slack, Math.max(least, most) + slack];
  }
}
