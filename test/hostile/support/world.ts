/**
 * The whole daemon in this process, polling a hostile service over real sockets, with its /metrics as
 * the only witness: what is shown, what is true, and what must not have happened.
 */
import { expect } from 'vitest';
import { createLogger } from '../../../src/base/log.ts';
import { Secret } from '../../../src/base/secret.ts';
import type { Config, ServiceConfig } from '../../../src/config/types.ts';
import { Zone } from '../../../src/counting/zone.ts';
import { createDaemon } from '../../../src/daemon.ts';
import type { Daemon } from '../../../src/daemon.ts';
import { Exposition } from '../../acceptance/exposition.ts';
import { SmallService } from '../../support/small-service.ts';
import { MARKER } from './bytes.ts';
import { STREAMS, customer, figuresOf, upOf } from './figures.ts';
import type { Figures } from './figures.ts';
import { HostileService, SECRET, SECRET_CORE, TOKEN_CORE } from './hostile-service.ts';
import { SteppingClock } from './stepping-clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Noon of a Saturday in Copenhagen, a fortnight into the epoch. */
const START_MS = Date.parse('2026-11-14T11:00:20Z');
const PERIOD_START_MS = Date.parse('2026-11-01T03:00:00Z');
const DAY_START_MS = Date.parse('2026-11-14T03:00:00Z');
const INTERVAL_MS = MINUTE_MS;
/** How long polls may take as the poller has it: a later one and the first one of a stream. */
const DEADLINES_MS = [INTERVAL_MS * 0.9, 15_000];

export interface WorldOptions {
  /** Of one request, by the real clock. */
  readonly timeoutMs?: number;
  readonly reconcileIntervalMs?: number;
  readonly service?: Partial<ServiceConfig>;
  readonly tls?: { readonly cert: string; readonly key: string };
}

export class World implements AsyncDisposable {
  readonly clock = new SteppingClock(START_MS, DEADLINES_MS);
  readonly service: HostileService;
  readonly told: string[] = [];
  readonly #people = new SmallService(new Zone('Europe/Copenhagen'), 2);
  readonly #logins = new SmallService(new Zone('Europe/Copenhagen'), 1);
  readonly #options: WorldOptions;
  #daemon: Daemon | undefined;
  #url = '';

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    const ledgers = { peoplecount: this.#people, login: this.#logins };
    this.service = new HostileService(ledgers, () => this.clock.nowMs(), options.tls);
    for (let day = 1; day <= 13; day += 1) {
      this.#record(PERIOD_START_MS + (day - 1) * DAY_MS + 40 * MINUTE_MS, 17 + day, 11, 5 + day);
    }
    for (const minutes of [400, 240, 70, 12, 3]) {
      this.#record(START_MS - minutes * MINUTE_MS, 9, 4, 3);
    }
  }

  /** The service alone, listening. */
  static async create(options?: WorldOptions): Promise<World> {
    const world = new World(options);
    await world.service.start();
    return world;
  }

  /** The daemon, and its first polls to their end. */
  async start(): Promise<void> {
    this.#daemon = createDaemon({
      loaded: { config: this.#config(), files: [], warnings: [] },
      load: () => Promise.reject(new Error('nobody asked for a reload')),
      listenAddress: '127.0.0.1:0',
      telemetryPath: '/metrics',
      enableLifecycle: false,
      storagePath: '',
      shard: { shard: 0, shards: 1 },
      version: '0.0.0',
      revision: 'unknown',
      nodeVersion: process.version,
      proxyEnvironment: {},
      clock: this.clock,
      random: { next: () => 0 },
      log: createLogger({
        level: 'debug',
        format: 'json',
        write: (line) => this.told.push(line),
        nowMs: () => this.clock.nowMs(),
      }),
    });
    this.#url = (await this.#daemon.start()).url;
    await this.clock.whenQuiet();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon?.stop();
    await this.service[Symbol.asyncDispose]();
  }

  /** Some people come and go, and log in, now. */
  visit(entered = 7, exited = 2, logins = 5): void {
    this.#record(this.clock.nowMs(), entered, exited, logins);
  }

  /** One interval: every stream is polled once. */
  async turn(): Promise<void> {
    await this.clock.pass(INTERVAL_MS);
  }

  async turns(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      await this.turn();
    }
  }

  /** What the service itself would say. */
  truth(): Figures {
    const totals = this.#sums(PERIOD_START_MS);
    const today = this.#sums(DAY_START_MS);
    // Nobody in these worlds leaves before somebody came, so the floor of every minute is not met.
    return { totals, today, held: [0, 0, 0], occupancy: (today[0] ?? 0) - (today[1] ?? 0) };
  }

  async scrape(): Promise<Exposition> {
    return new Exposition(await this.get('/metrics'));
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const answer = await fetch(new URL(path, this.#url), { headers });
    return answer.text();
  }

  /** What was ever said or is shown and must not be: a secret, a token, a query, what the service said. */
  async leaks(): Promise<readonly string[]> {
    const openMetrics = { accept: 'application/openmetrics-text; version=1.0.0' };
    const shown = await Promise.all([
      this.get('/metrics'),
      this.get('/metrics', openMetrics),
      this.get('/'),
      this.get('/-/ready'),
    ]);
    const said = [...this.told, ...shown].join('\n');
    const encoded = [SECRET, ...this.service.tokens].map((secret) =>
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    );
    const queries = ['from=', 'aggregation='];
    return [SECRET_CORE, TOKEN_CORE, MARKER, ...queries, ...encoded].filter((secret) =>
      said.includes(secret),
    );
  }

  #record(eventMs: number, entered: number, exited: number, logins: number): void {
    this.#people.records.push({ eventMs, arrivalMs: eventMs, counts: [entered, exited] });
    this.#logins.records.push({ eventMs, arrivalMs: eventMs, counts: [logins] });
  }

  #sums(fromMs: number): number[] {
    const nowMs = this.clock.nowMs();
    return [...this.#people.total(fromMs, nowMs), ...this.#logins.total(fromMs, nowMs)];
  }

  #config(): Config {
    const { timeoutMs = 10_000, reconcileIntervalMs = 60 * MINUTE_MS, service } = this.#options;
    return {
      service: {
        baseUrl: this.service.url,
        authUrl: this.service.url,
        scope: 'ServiceAPI',
        timeoutMs,
        maxConcurrency: 32,
        maxRequestsPerSecond: 10_000,
        allowInsecure: false,
        proxyUrl: undefined,
        ca: undefined,
        ...service,
      },
      polling: { intervalMs: INTERVAL_MS, reconcileIntervalMs, breakdownIntervalMs: 300_000 },
      customers: [
        {
          name: customer,
          clientId: 'riverside-api',
          clientSecret: { secret: new Secret(SECRET), path: undefined },
          timezone: 'Europe/Copenhagen',
          dayStartsAt: { hour: 4, minute: 0 },
          capacity: undefined,
          openingHours: undefined,
          holidays: undefined,
          labels: {},
          streams: STREAMS,
          breakdowns: [],
          branches: {},
        },
      ],
    };
  }
}

/** Expects that the last polls were good, and every figure is the service's own. */
export async function expectWell(world: World): Promise<void> {
  const exposition = await world.scrape();
  expect(upOf(exposition)).toEqual([1, 1]);
  expect(figuresOf(exposition)).toEqual(world.truth());
}
