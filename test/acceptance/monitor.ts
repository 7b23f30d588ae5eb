/**
 * Scrapes a daemon in the background, over restarts, and holds every scrape against the promises
 * that no single scrape can show: no counter falls, none begins with a 0 that is not true.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Daemon } from './daemon.ts';
import { seriesName } from './exposition.ts';
import type { Exposition, Sample } from './exposition.ts';

/** The counters that are the service's own totals, and so survive the process. */
export const ledgerCounters = [
  'library_people_entered_total',
  'library_people_exited_total',
  'library_logins_total',
] as const;

export class Monitor {
  /** Sentences; a check expects none. */
  readonly violations: string[] = [];
  scrapes = 0;
  #daemon: Daemon | undefined;
  #watching: Promise<void> | undefined;
  readonly #ofProcess = new Map<string, number>();
  readonly #ofPeriod = new Map<string, number>();

  /** Watches this daemon from now on; what an earlier one showed still binds it. */
  watch(daemon: Daemon): void {
    this.#daemon = daemon;
    this.#ofProcess.clear();
    this.#watching = this.#loop(daemon);
  }

  /** Ends the watch, as it must before the daemon is ended. */
  async leave(): Promise<void> {
    this.#daemon = undefined;
    await this.#watching;
  }

  /** Holds one exposition against the earlier ones. */
  judge(exposition: Exposition): void {
    this.scrapes += 1;
    for (const sample of exposition.samples) {
      if (/_(total|count|sum|bucket)$/.test(sample.name)) {
        this.#compare(this.#ofProcess, seriesName(sample.name, sample.labels), sample);
      }
      if (ledgerCounters.some((name) => name === sample.name)) {
        this.#judgeLedgerCounter(exposition, sample);
      }
    }
  }

  #judgeLedgerCounter(exposition: Exposition, sample: Sample): void {
    const { customer = '' } = sample.labels;
    const epoch = exposition.value('library_counter_start_timestamp_seconds', { customer });
    this.#compare(this.#ofPeriod, `${customer} ${sample.name} since ${String(epoch)}`, sample);
    if (sample.value === 0) {
      this.violations.push(`${sample.name} of ${customer} is shown as 0`);
    }
  }

  #compare(known: Map<string, number>, series: string, { value }: Sample): void {
    const last = known.get(series) ?? -Infinity;
    if (value < last) {
      this.violations.push(`${series} fell from ${last} to ${value}`);
    }
    known.set(series, value);
  }

  async #loop(daemon: Daemon): Promise<void> {
    while (this.#daemon === daemon) {
      try {
        this.judge(await daemon.scrape());
      } catch (error) {
        this.violations.push(`a scrape failed: ${String(error)}`);
      }
      await sleep(120);
    }
  }
}
