/**
 * Scrapes daemons in the background and verifies what no single scrape can show: no counter falls, and
 * none starts with a false 0.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Daemon } from './daemon.ts';
import { seriesName } from './exposition.ts';
import type { Exposition } from './exposition.ts';

/** The counters of a counting period, which survive the process. */
export const periodCounters = [
  'library_people_entered_total',
  'library_people_exited_total',
  'library_logins_total',
] as const;

const COUNTER_OF_PERIOD =
  /^library_(branch_|client_|device_)?(people_entered|people_exited|logins)_total$/;
const COUNTER_OF_PROCESS = /^library_exporter_\w+_(total|count|sum|bucket)$/;

export class Monitor {
  /** Sentences; a test expects none. */
  readonly violations: string[] = [];
  readonly #loops = new Map<Daemon, Promise<void>>();
  readonly #watched = new Set<Daemon>();
  readonly #known = new Map<string, number>();

  /** Watches this daemon from now on. Counters continue those of earlier daemons with the same storage. */
  watch(daemon: Daemon, storage: string): void {
    this.#watched.add(daemon);
    this.#loops.set(daemon, this.#loop(daemon, storage));
  }

  /** Ends the watch. Required before the daemon is stopped. */
  async leave(daemon: Daemon): Promise<void> {
    this.#watched.delete(daemon);
    await this.#loops.get(daemon);
  }

  async leaveAll(): Promise<void> {
    await Promise.all([...this.#watched].map(async (daemon) => this.leave(daemon)));
  }

  /** Compares a scrape with earlier ones. */
  verify(exposition: Exposition, storage: string, process: string): void {
    for (const { name, labels, value } of exposition.samples) {
      const series = seriesName(name, labels);
      if (COUNTER_OF_PROCESS.test(name)) {
        this.#compare(`${process} ${series}`, value);
      } else if (COUNTER_OF_PERIOD.test(name)) {
        const { customer = '' } = labels;
        const start = exposition.value('library_counter_start_timestamp_seconds', { customer });
        this.#compare(`${storage} ${series} since ${String(start)}`, value);
        if (value === 0 && periodCounters.some((counter) => counter === name)) {
          this.violations.push(`${series} is 0`);
        }
      }
    }
  }

  #compare(series: string, value: number): void {
    const last = this.#known.get(series) ?? -Infinity;
    if (value < last) {
      this.violations.push(`${series} fell from ${last} to ${value}`);
    }
    this.#known.set(series, value);
  }

  async #loop(daemon: Daemon, storage: string): Promise<void> {
    while (this.#watched.has(daemon)) {
      try {
        this.verify(await daemon.scrape(), storage, daemon.url);
      } catch (error) {
        this.violations.push(`a scrape failed: ${String(error)}`);
      }
      await sleep(200);
    }
  }
}
