/**
 * A fake service, a workspace, and daemons under watch. After the last test of the file, it verifies what
 * must hold throughout: no counter fell, none started with a false 0, every request kept the rules of the
 * interface, and nothing that a daemon wrote or served contains a secret or a token.
 */
import { strict as assert } from 'node:assert';
import { afterAll, beforeAll, vi } from 'vitest';
import { flagsFor, launch, Workspace, writeConfig } from './daemon.ts';
import type { Daemon, Settings } from './daemon.ts';
import { fillHistory } from './expected.ts';
import { LedgerService } from './ledger-service.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import type { Conventions } from './ledger.ts';
import { afternoonZone } from './local-time.ts';
import { Monitor } from './monitor.ts';

// Tests wait for states, not for times: these limits only end what never happens.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const PAGES = ['/metrics', '/', '/-/ready', '/-/healthy'];

export class Harness {
  readonly service = new LedgerService();
  readonly workspace = new Workspace();
  readonly zone = afternoonZone(Date.now());
  readonly #monitor = new Monitor();
  #pages = '';

  constructor() {
    beforeAll(() => this.service.start());
    afterAll(async () => {
      await this.#readPages();
      await this.#monitor.leaveAll();
      await this.workspace.close();
      await this.service.stop();
      assert.deepEqual(this.#monitor.violations, []);
      assert.deepEqual(this.service.violations, []);
      const output = this.workspace.daemons.map(({ stdout, stderr }) => stdout + stderr);
      const shown = [this.#pages, ...output].join('\n');
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

  /** Writes the configuration of these customers; returns its path. */
  configure(customers: readonly ServiceCustomer[], settings?: Settings): string {
    return writeConfig(this.workspace, this.service, customers, settings);
  }

  /** Starts a daemon that is scraped in the background until `stop`. */
  async start(
    configFile: string,
    flags: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Daemon> {
    const args = flagsFor(this.workspace, configFile, ...flags);
    const daemon = await launch(this.workspace, args, environment).listening();
    // A counter must not fall over a restart with the same storage.
    this.#monitor.watch(daemon, args.findLast((arg) => arg.startsWith('--storage.path=')) ?? '');
    return daemon;
  }

  /** Runs a command to its end. */
  async run(...args: readonly string[]): Promise<Daemon> {
    const ran = launch(this.workspace, args);
    await ran.exited;
    return ran;
  }

  async stop(daemon: Daemon, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.#monitor.leave(daemon);
    assert.equal(await daemon.stop(signal), signal === 'SIGKILL' ? signal : 0);
  }

  async #readPages(): Promise<void> {
    for (const daemon of this.workspace.daemons) {
      if (daemon.ended === undefined && daemon.url !== '') {
        const answers = await Promise.all(PAGES.map(async (path) => daemon.get(path)));
        this.#pages += (await Promise.all(answers.map(async (one) => one.text()))).join('\n');
      }
    }
  }
}
