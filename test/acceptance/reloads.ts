/**
 * A daemon that reads its configuration again, and three customers in it; a fourth may come. Every
 * test begins with the three, all of them counted.
 */
import { beforeAll, beforeEach } from 'vitest';
import { flagsFor, launch } from '../limits/child.ts';
import type { Child } from '../limits/child.ts';
import { eventually, writeConfig } from './daemon.ts';
import type { Settings } from './daemon.ts';
import type { Exposition } from './exposition.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { afternoonZone } from './local-time.ts';
import { stage } from './stage.ts';
import { expectCountersExact, fillHistory } from './world.ts';

export class Reloads {
  readonly #stage = stage();
  readonly service = this.#stage.service;
  readonly workspace = this.#stage.workspace;
  readonly monitor = this.#stage.monitor;
  readonly zone = afternoonZone(Date.now());
  readonly steady = this.service.addCustomer('steady', this.zone);
  readonly changing = this.service.addCustomer('changing', this.zone);
  readonly leaving = this.service.addCustomer('leaving', this.zone);
  readonly coming = this.service.addCustomer('coming', this.zone);
  readonly everybody = [this.steady, this.changing, this.leaving];
  #daemon: Child | undefined;

  /** The hooks of the test file that this is made in. */
  constructor() {
    beforeAll(() => this.#start());
    beforeEach(async () => {
      this.write(this.everybody);
      await this.daemon.reload();
      await this.expectExact(...this.everybody);
    });
  }

  get daemon(): Child {
    if (this.#daemon === undefined) {
      throw new Error('The daemon has not been started');
    }
    return this.#daemon;
  }

  write(customers: readonly ServiceCustomer[], settings: Settings = {}): string {
    return writeConfig(this.workspace, this.service, customers, settings);
  }

  /** Reads the configuration again by a signal, and waits until that is done. */
  async hangUp(): Promise<void> {
    const before = this.reloadsSaid();
    this.daemon.signal('SIGHUP');
    await this.daemon.until(() => this.reloadsSaid() > before);
  }

  reloadsSaid(): number {
    return this.daemon
      .logLines()
      .filter(({ msg }) => /^config reload(ed| failed)/.test(String(msg))).length;
  }

  async expectExact(...customers: readonly ServiceCustomer[]): Promise<Exposition> {
    let exposition: Exposition | undefined;
    await eventually(async () => {
      exposition = await this.daemon.scrape();
      for (const { name, ledger } of customers) {
        expectCountersExact(exposition, name, ledger);
      }
    });
    return exposition ?? (await this.daemon.scrape());
  }

  /** What fell or went since the start, but for the polls of those that were changed. */
  async falls(): Promise<readonly string[]> {
    await this.monitor.leave();
    return this.monitor.violations.filter(
      (violation) => !/^library_polls?_\w+\{customer="(changing|leaving)"/.test(violation),
    );
  }

  async #start(): Promise<void> {
    await this.service.start();
    for (const { ledger } of [...this.everybody, this.coming]) {
      fillHistory(ledger);
    }
    const flags = flagsFor(this.workspace, this.write(this.everybody), '--web.enable-lifecycle');
    this.#daemon = await launch(this.workspace, flags).listening();
    this.monitor.watch(this.#daemon);
  }
}

export function pollsOf(exposition: Exposition, customer: string): number {
  return exposition.value('library_polls_total', { customer, stream: 'people' }) ?? NaN;
}

export function customersOf({ samples }: Exposition): readonly string[] {
  const names = samples
    .map(({ labels }) => labels['customer'])
    .filter((name) => name !== undefined);
  return [...new Set(names)].toSorted();
}

/** Whether the last reload was good, and when a good one was. */
export function reloadOf(exposition: Exposition): readonly (number | undefined)[] {
  return [
    exposition.value('library_exporter_config_last_reload_successful'),
    exposition.value('library_exporter_config_last_reload_success_timestamp_seconds'),
  ];
}
