/**
 * A fake service, a workspace, and daemons that are scraped in the background. After the last test of the
 * file, it verifies what must hold throughout: no counter fell, none started with a false 0, every request
 * kept the rules of the interface, and nothing that a process wrote contains a secret or a token.
 */
import { strict as assert } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import { flagsFor, launch, Workspace } from './daemon.ts';
import type { Daemon, Settings } from './daemon.ts';
import { fillHistory } from './expected.ts';
import { seriesName } from './exposition.ts';
import type { Exposition } from './exposition.ts';
import { LedgerService } from './ledger-service.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import type { Conventions } from './ledger.ts';
import { afternoonZone } from './local-time.ts';

/** They survive the process. Every customer has counts, so its totals are 0 in a new period only. */
const COUNTER_OF_PERIOD =
  /^library_(branch_|client_|device_)?(people_entered|people_exited|logins)_total$/;
const COUNTER_OF_PROCESS = /^library_exporter_\w+_(total|count|sum|bucket)$/;
const NEW_PERIOD_SECONDS = 600;

export class Harness {
  readonly service = new LedgerService();
  readonly workspace = new Workspace();
  readonly zone = afternoonZone(Date.now());
  readonly #violations: string[] = [];
  readonly #highest = new Map<string, number>();
  /** Daemons that are scraped, and the ends of that. */
  readonly #watches = new Map<Daemon, Promise<void>>();

  constructor() {
    beforeAll(() => this.service.start());
    afterAll(async () => {
      await Promise.all([...this.#watches.keys()].map((daemon) => this.#leave(daemon)));
      await this.workspace.close();
      this.service.stop();
      assert.deepEqual([...this.#violations, ...this.service.violations], []);
      const shown = this.workspace.daemons.map(({ stdout, stderr }) => stdout + stderr).join('\n');
      assert.deepEqual(
        this.service.secrets().filter((secret) => shown.includes(secret)),
        [],
      );
    });
  }

  /** Adds a customer with two weeks of records, in whose zone it is afternoon. */
  addCustomer(name: string, conventions: Partial<Conventions> = {}): ServiceCustomer {
    const customer = this.service.addCustomer(name, this.zone, conventions);
    fillHistory(customer.ledger);
    return customer;
  }

  /** Writes the configuration of these customers, each with a secret file, and further keys by its name. Returns its path. */
  configure(
    customers: readonly ServiceCustomer[],
    settings: Settings & { readonly customers?: Readonly<Record<string, object>> } = {},
  ): string {
    const keys = customers.map(({ name, secret, ledger }) => [
      name,
      {
        client_secret_file: this.workspace.write(`${name}.secret`, `${secret}\n`),
        timezone: ledger.zone,
        ...settings.customers?.[name],
      },
    ]);
    return this.workspace.configure(this.service.url, Object.fromEntries(keys), {
      ...settings,
      polling: { interval: '1s', reconcile_interval: '3s', ...settings.polling },
    });
  }

  /** Starts a daemon that is scraped in the background until `stop`. */
  async start(
    configFile: string,
    flags: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Daemon> {
    const args = flagsFor(this.workspace, configFile, ...flags);
    const daemon = await launch(this.workspace, args, environment).listening();
    const storage = args.findLast((arg) => arg.startsWith('--storage.path=')) ?? '';
    this.#watches.set(daemon, this.#watch(daemon, storage));
    return daemon;
  }

  /** Runs a command to its end. */
  async run(...args: readonly string[]): Promise<Daemon> {
    const ran = launch(this.workspace, args);
    await ran.exited;
    return ran;
  }

  async stop(daemon: Daemon, signal: NodeJS.Signals = 'SIGTERM', status = 0): Promise<void> {
    await this.#leave(daemon);
    assert.equal(await daemon.stop(signal), signal === 'SIGKILL' ? signal : status);
  }

  async #leave(daemon: Daemon): Promise<void> {
    const watched = this.#watches.get(daemon);
    this.#watches.delete(daemon);
    await watched;
  }

  async #watch(daemon: Daemon, storage: string): Promise<void> {
    do {
      try {
        this.#verify(await daemon.scrape(), storage, daemon.url);
      } catch (error) {
        this.#violations.push(`a scrape failed: ${String(error)}`);
      }
      await sleep(500);
    } while (this.#watches.has(daemon));
  }

  #verify(exposition: Exposition, storage: string, process: string): void {
    for (const { name, labels, value } of exposition.samples) {
      const { customer = '' } = labels;
      const series = seriesName(name, labels);
      const start = exposition.value('library_period_start_timestamp_seconds', { customer });
      const isOfPeriod = COUNTER_OF_PERIOD.test(name);
      const isOldPeriod = isOfPeriod && Date.now() / 1_000 - (start ?? 0) > NEW_PERIOD_SECONDS;
      if (isOfPeriod || COUNTER_OF_PROCESS.test(name)) {
        const id = isOfPeriod ? `${storage} ${series} since ${start}` : `${process} ${series}`;
        const highest = this.#highest.get(id) ?? -Infinity;
        if (value < highest || (isOldPeriod && value === 0 && Object.keys(labels).length === 1)) {
          this.#violations.push(`${id} was ${highest} and is ${value}`);
        }
        this.#highest.set(id, value);
      }
    }
  }
}
