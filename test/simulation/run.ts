/**
 * Runs the exporter in an environment. First with faults and incidents, while every scrape is audited
 * for what must never happen; then without them, until the counters must be the service's totals.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { Logger } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import type { BranchConfig, Config, CustomerConfig } from '../../src/config/types.ts';
import { pick } from '../../src/simulator/chance.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import type { Faults } from '../../src/simulator/faults.ts';
import { openingHoursText } from '../../src/simulator/libraries.ts';
import type { Branch, Library } from '../../src/simulator/libraries.ts';
import type { SimulatedService } from '../../src/simulator/simulated-service.ts';
import { configOf } from '../support/simulated-config.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { createAuditor } from './auditor.ts';
import type { Auditor } from './auditor.ts';
import { serviceOf } from './environment.ts';
import type { Environment } from './environment.ts';
import { HOLIDAY_REGION } from './holidays.ts';
import { causeIncident } from './incidents.ts';
import type { Mutation } from './mutations.ts';
import { createExchange } from './network.ts';
import { createSimulatedExporter } from './process.ts';
import type { ProcessNetwork, SimulatedExporter } from './process.ts';
import { mayOccur } from './tolerances.ts';

export interface RunResult {
  readonly environment: Environment;
  readonly violations: readonly string[];
  /** The last log lines and incidents, oldest first. */
  readonly events: readonly string[];
  readonly customerDays: number;
  readonly polls: number;
  readonly faults: number;
}

/** Refused credentials are tried again after a quarter of an hour at the latest. */
const MAX_PAUSE_MS = 16 * MINUTE_MS;
const MAX_EVENTS = 20;
/** An incident comes after at most this many waits, in the middle of polls. */
const MAX_WAITS = 40;
const MISSED_SCRAPES = 0.03;
const UNKNOWN_BRANCH = { id: 999_999, name: 'Closed' };
/** What an operator does a few times a week. */
const RELOADS = ['reload', 'hours changed', 'branches reconfigured'] as const;
const MEAN_DAYS_BETWEEN_RELOADS = 7 / 3;
/** What may be polled of a customer. */
const STREAMS = [['people', 'logins'], ['people'], ['logins']] as const;
/** Incidents that may end a process. */
const KILLS = ['kill', 'kill, lost file', 'clock wrong for a while'] as const;

/** `mutation` is an error that is built into the exporter. */
export async function runEnvironment(
  environment: Environment,
  mutation?: Mutation,
): Promise<RunResult> {
  return new Run(environment, mutation).run();
}

export class Run {
  readonly environment: Environment;
  readonly random: Random;
  readonly clock: VirtualClock;
  readonly service: SimulatedService;
  readonly faults: Faults;
  readonly exporters: readonly SimulatedExporter[] = [];
  readonly auditor: Auditor;
  /** What exporters are started and reloaded with. */
  config: Config;
  readonly #events: string[] = [];
  /** When the next reload is due. */
  #reloadMs: number;
  #hasMoved = false;
  #polls = 0;

  constructor(environment: Environment, mutation: Mutation | undefined) {
    this.environment = environment;
    this.#reloadMs = environment.long === undefined ? Infinity : environment.startMs + DAY_MS;
    this.random = seededRandom(environment.seed ^ 0x5eed);
    this.clock = new VirtualClock(environment.startMs);
    this.service = serviceOf(environment, this.clock);
    this.faults = createFaults({ random: this.random });
    const { intervalMs, reconcileIntervalMs, breakdownIntervalMs } = environment;
    const { breakdowns, requestTimes, keyTimes } = environment;
    const polling = { intervalMs, reconcileIntervalMs, breakdownIntervalMs };
    const config = configOf(this.service, polling, { streams: STREAMS[0], breakdowns });
    this.config = { ...config, service: { ...config.service, requestTimes, keyTimes } };
    if (environment.namesBranches) {
      this.nameBranches();
    }
    if (environment.long !== undefined) {
      this.setHours();
      // Breakdowns need people.
      this.configure(({ breakdowns }) => ({
        streams: pick(this.random, breakdowns.length > 0 ? STREAMS.slice(0, 2) : STREAMS),
      }));
    }
    this.auditor = createAuditor(environment, this.service, this.clock, (customer) => {
      const found = this.config.customers.find(({ name }) => name === customer);
      if (found === undefined) {
        throw new Error(`the exporter has no customer named ${customer}`);
      }
      return found;
    });
    this.exporters = Array.from({ length: environment.exporters }, (_, i) =>
      createSimulatedExporter({
        clock: this.clock,
        random: this.random,
        connect: (clock) => this.#connect(`exporter ${i}`, clock),
        log: this.#log(),
        mutation,
        mayRestart: KILLS.some((kind) => mayOccur(environment, kind)),
      }),
    );
  }

  async run(): Promise<RunResult> {
    const { environment } = this;
    try {
      await this.#simulate();
    } catch (error) {
      this.auditor.report(`the simulation failed: ${(error as Error).stack}`);
    }
    const days = (this.clock.nowMs() - environment.startMs) / DAY_MS;
    return {
      environment,
      violations: this.auditor.violations,
      events: this.#events.slice(-MAX_EVENTS),
      customerDays: days * environment.visitsPerDay.length,
      polls: this.#polls,
      faults: [...this.faults.counts.values()].reduce((sum, count) => sum + count, 0),
    };
  }

  async #simulate(): Promise<void> {
    const { environment } = this;
    this.exporters.forEach((exporter) => exporter.start(this.config));
    const endMs = environment.startMs + environment.days * DAY_MS;
    const { phaseDays = environment.days } = environment.long ?? {};
    while (this.clock.nowMs() < endMs) {
      await this.#withFaults(Math.min(endMs, this.clock.nowMs() + phaseDays * DAY_MS));
      await this.#withoutFaults();
    }
  }

  /** Draws which branches the configuration of the exporter names, and what it says of them. */
  nameBranches(): void {
    this.configure(({ name }) => {
      const { library } = this.service.ledgerOf(name);
      return { branches: drawNamed(this.random, library, this.environment) };
    });
  }

  /** Draws opening hours. Some libraries have none, and those of some say nothing of holidays. */
  setHours(): void {
    const { random, service } = this;
    this.configure(({ name }) => {
      // With exceptions, `24/7` would be ambiguous.
      const hours = openingHoursText(service.ledgerOf(name).library.opening);
      const text = hours.replace('24/7', 'Mo-Su 00:00-24:00');
      const rest = random.next() < 0.8 ? '; PH off' : '';
      const openingHours = random.next() < 0.8 && text !== '' ? text + rest : undefined;
      return { openingHours, holidays: HOLIDAY_REGION };
    });
  }

  /** Moves a customer to another zone, at the service and in the configuration at the same time. */
  move(customer: string): void {
    const timezone = this.environment.long?.move.timezone ?? this.environment.timezone;
    this.service.moveTo(customer, timezone);
    this.auditor.moved(customer);
    this.configure(({ name }) => (name === customer ? { timezone } : {}));
  }

  /** Single requests fail as drawn. */
  setFaults(): void {
    const { faultRate, faultKinds } = this.environment;
    this.faults.set({ rate: faultRate, kinds: faultKinds });
  }

  configure(change: (customer: CustomerConfig) => Partial<CustomerConfig>): void {
    this.reload(this.config.customers.map((one) => ({ ...one, ...change(one) })));
  }

  reload(customers: Config['customers']): void {
    this.config = { ...this.config, customers };
    this.exporters.forEach((one) => one.reload(this.config));
  }

  #connect(exporter: string, clock: VirtualClock): ProcessNetwork {
    return {
      exchange: createExchange(this, clock),
      pollEnded: (stream, seconds, succeeded) => {
        this.#polls += 1;
        if (succeeded) {
          this.auditor.pollEnded(exporter, stream, clock.nowMs(), 1000 * seconds);
        }
      },
    };
  }

  async #withFaults(endMs: number): Promise<void> {
    const { incidents, incidentsPerHour, scrapeIntervalMs } = this.environment;
    this.setFaults();
    while (this.clock.nowMs() < endMs) {
      const nextMs = this.clock.nowMs() + scrapeIntervalMs * (0.9 + 0.2 * this.random.next());
      const incidentChance = incidentsPerHour * (scrapeIntervalMs / HOUR_MS);
      if (incidents.length > 0 && this.random.next() < incidentChance) {
        await this.#cause(pick(this.random, incidents), nextMs);
      }
      if (this.clock.nowMs() >= this.#reloadMs) {
        await this.#cause(this.#drawReload(), nextMs);
      }
      await this.clock.advance(Math.max(0, nextMs - this.clock.nowMs()));
      this.scrape(this.random.next() < MISSED_SCRAPES);
    }
  }

  async #cause(kind: Parameters<typeof causeIncident>[0], nextMs: number): Promise<void> {
    const waits = this.random.next() * MAX_WAITS;
    await this.clock.runWaits(waits, nextMs - this.clock.nowMs());
    this.#addEvent(kind);
    await causeIncident(kind, this);
  }

  #drawReload(): 'move' | (typeof RELOADS)[number] {
    const { startMs, long } = this.environment;
    const nowMs = this.clock.nowMs();
    this.#reloadMs = nowMs + 2 * this.random.next() * MEAN_DAYS_BETWEEN_RELOADS * DAY_MS;
    if (this.#hasMoved || nowMs < startMs + (long?.move.afterDays ?? Infinity) * DAY_MS) {
      return pick(this.random, RELOADS);
    }
    this.#hasMoved = true;
    return 'move';
  }

  /** Until a corrected clock is accepted, and the longest pause of the client and one reconcile interval are over. */
  async #withoutFaults(): Promise<void> {
    this.faults.clear();
    this.service.customers.forEach(({ library }) => this.service.restore(library.name));
    for (const exporter of this.exporters) {
      const clock = exporter.clock();
      if (clock === undefined) {
        exporter.start(this.config);
      } else {
        clock.aheadMs = 0;
      }
    }
    const { intervalMs, reconcileIntervalMs, breakdowns, breakdownIntervalMs, scrapeIntervalMs } =
      this.environment;
    // Before the newest high-water mark, polls fail.
    const steppedMs = mayOccur(this.environment, 'clock steps') ? HOUR_MS : 0;
    const settledMs =
      steppedMs +
      MAX_PAUSE_MS +
      Math.max(
        reconcileIntervalMs + 4 * intervalMs,
        breakdowns.length > 0 ? 4 * breakdownIntervalMs : 0,
      );
    for (let ms = 0; ms < settledMs; ms += scrapeIntervalMs) {
      await this.clock.advance(scrapeIntervalMs);
      this.scrape();
    }
    this.exporters.forEach((exporter, i) => {
      this.auditor.expectTotals(`exporter ${i}`, exporter.scrape());
    });
  }

  /** Audits the metrics of each exporter. */
  scrape(isMissed = false): void {
    this.exporters.forEach((exporter, i) => {
      const text = isMissed ? undefined : exporter.scrape();
      const aheadMs = exporter.clock()?.aheadMs ?? 0;
      this.auditor.audit(`exporter ${i}`, text, aheadMs, () => exporter.page() ?? '');
    });
  }

  #addEvent(what: string): void {
    this.#events.push(`${new Date(this.clock.nowMs()).toISOString()} ${what}`);
  }

  #log(): Logger {
    const write: Logger['info'] = (message, fields) => {
      const line = `${message} ${JSON.stringify(fields ?? {})}`;
      this.auditor.expectNoSecret(line);
      this.#addEvent(line);
    };
    return { debug() {}, info: write, warn: write, error: write };
  }
}

/** Some of the branches of a library, and sometimes one that it does not have. */
function drawNamed(
  random: Random,
  { branches, opening }: Library,
  { conventions: { groupKey } }: Environment,
): CustomerConfig['branches'] {
  const known = branches.filter(() => random.next() < 0.6);
  const named: readonly Branch[] = random.next() < 0.5 ? [...known, UNKNOWN_BRANCH] : known;
  const drawn = named.map(({ id, name, ...branch }): [string, BranchConfig] => {
    const hours = openingHoursText(branch.opening ?? opening);
    return [
      groupKey === 'name' ? `${name} ${id}` : String(id),
      {
        name,
        openingHours: random.next() < 0.3 && hours !== '' ? hours : undefined,
        staffedHours: undefined,
        holidays: undefined,
        capacity: 50,
        estimate: random.next() < 0.9,
      },
    ];
  });
  return Object.fromEntries(drawn);
}
