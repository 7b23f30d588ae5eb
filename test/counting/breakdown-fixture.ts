/**
 * The exporter without its sockets against the simulator, under a virtual clock in which answers take
 * no time: what a poll has read is what the service knew when the poll ended.
 */
import { silentLogger } from '../../src/base/log.ts';
import { BREAKDOWNS } from '../../src/base/model.ts';
import type { Config, CustomerConfig } from '../../src/config/types.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { ExchangeAnswer, ExchangeRequest } from '../../src/service/transport.ts';
import type { SimulatedRequest } from '../../src/simulator/responses.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import { Exposition } from '../acceptance/exposition.ts';
import { configOf, startExporter, toAnswer, toSimulated } from '../support/exporter-process.ts';
import type { ExporterProcess } from '../support/exporter-process.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

export const MINUTE_MS = 60_000;
const POLLING = {
  intervalMs: 30 * MINUTE_MS,
  reconcileIntervalMs: 240 * MINUTE_MS,
  breakdownIntervalMs: 5 * MINUTE_MS,
};

/** What becomes of the body of an answer of the data endpoints. */
export type Distortion = (body: string, request: SimulatedRequest) => string;

export interface RigOptions {
  readonly clock: VirtualClock;
  readonly service: SimulatedService;
  readonly customers?: (customer: CustomerConfig) => CustomerConfig;
}

export class Rig {
  readonly clock: VirtualClock;
  config: Config;
  distort: Distortion = (body) => body;
  readonly #service: SimulatedService;
  #running: Running | undefined;
  /** What is on the disk. */
  #file = [...new HighWaterMarks().serialize(0)].join('');

  constructor({ clock, service, customers = (customer) => customer }: RigOptions) {
    this.clock = clock;
    this.#service = service;
    const config = configOf(service, POLLING, { streams: ['people'], breakdowns: BREAKDOWNS });
    this.config = { ...config, customers: config.customers.map(customers) };
  }

  start(): void {
    const { clock } = this;
    const marks = new HighWaterMarks();
    marks.restore(this.#file, clock.nowMs());
    const exporter = startExporter(this.config, {
      clock,
      random: { next: () => 0.5 },
      log: silentLogger,
      marks,
      exchange: (request) => Promise.resolve(this.#answer(request)),
      observer: { pollEnded() {}, changed() {} },
    });
    this.#running = { ...exporter, marks };
  }

  reload(change: (customer: CustomerConfig) => CustomerConfig): void {
    this.config = { ...this.config, customers: this.config.customers.map(change) };
    this.#running?.apply(this.config);
  }

  /** The marks reach the disk, whatever else is lost. */
  async stop(): Promise<void> {
    const marks = this.#running?.marks;
    this.#file =
      marks === undefined ? this.#file : [...marks.serialize(this.clock.nowMs())].join('');
    await this.#running?.scheduler.stop();
    this.#running = undefined;
  }

  scrape(): Exposition {
    return new Exposition(this.#running?.scrape() ?? '');
  }

  #answer(request: ExchangeRequest): ExchangeAnswer {
    const simulated = toSimulated(request);
    const response = this.#service.handle(simulated);
    const isData = response.status === 200 && simulated.method === 'GET';
    return toAnswer(
      isData ? { ...response, body: this.distort(response.body, simulated) } : response,
    );
  }
}

interface Running extends ExporterProcess {
  readonly marks: HighWaterMarks;
}
