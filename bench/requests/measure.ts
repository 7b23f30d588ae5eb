/**
 * What the exporter costs the service: requests and bytes over a simulated day. The exporter's core
 * runs under a virtual clock, from the bytes of a response on, against the simulated service with
 * libraries as the demo has them; some of them stand for a thousand, for each is polled by itself.
 */
import { silentLogger } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { createSimulatedService } from '../../src/simulator/simulated-service.ts';
import { VirtualClock } from '../../test/support/virtual-clock.ts';
import {
  configOf,
  startExporter,
  toResponse,
  toSimulated,
} from '../../test/support/exporter-process.ts';
import { barOf } from '../measured.ts';
import type { Measured, Progress } from '../measured.ts';
import { medianOf, wait } from '../processes.ts';

const CUSTOMERS = 20;
const HOURS = 24;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const INTERVAL_MS = MINUTE_MS;
/** A Tuesday. */
const START_MS = Date.UTC(2026, 2, 10);
const TIMEZONE = 'Europe/Copenhagen';
const UNCOUNTED_HOURS = 2;
/** Among the counted hours, the one in which the day starts. */
const DAY_START_HOUR = 1;
const SEED = 9;

/** What the service's document leaves open, and what costs most bytes. */
const CONVENTIONS: Readonly<Record<string, Conventions>> = {
  sparse: plainConventions,
  listed: { ...plainConventions, emptyBuckets: 'listed' },
};

export async function measureRequests(progress: Progress): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  const perHour = CUSTOMERS * (HOUR_MS / INTERVAL_MS);
  for (const [name, conventions] of Object.entries(CONVENTIONS)) {
    const day = await simulate(conventions);
    const atDayStart = (day.requestsByHour[DAY_START_HOUR] ?? NaN) / perHour;
    rows.push(
      barOf(
        `Requests a customer and interval, median of ${HOURS} simulated hours, ${name}`,
        medianOf(day.requestsByHour) / perHour,
        '.3',
        2.2,
      ),
      barOf(
        `Requests a customer and interval, in the hour in which a day starts, ${name}`,
        atDayStart,
        '.3',
        2.5,
      ),
      barOf(
        `Requests of the past a customer and night, nothing changed, ${name}`,
        day.requestsOfPast / CUSTOMERS,
        '.2',
        3,
      ),
      barOf(`Bytes of a response, median, ${name}`, medianOf(day.bytes) / 1_024, '.2 KiB', 3),
    );
    progress(
      `requests, ${name}: ${rows
        .slice(-4)
        .map(({ ours }) => ours)
        .join(', ')}`,
    );
  }
  return rows;
}

interface SimulatedDay {
  readonly requestsByHour: readonly number[];
  /** Those with an end: polls have none. */
  readonly requestsOfPast: number;
  readonly bytes: readonly number[];
}

async function simulate(conventions: Conventions): Promise<SimulatedDay> {
  const virtual = new VirtualClock(START_MS);
  const service = createSimulatedService({
    seed: SEED,
    conventions,
    clock: virtual,
    historyMs: 12 * 24 * HOUR_MS,
    customers: Array.from({ length: CUSTOMERS }, (_, i) => ({
      clientId: `client-${i}`,
      clientSecret: `secret-${i}`,
      library: { ...drawLibrary(SEED, 1_001 + i, { name: `library-${i}` }), timezone: TIMEZONE },
    })),
  });
  const polling = {
    intervalMs: INTERVAL_MS,
    reconcileIntervalMs: HOUR_MS,
    breakdownIntervalMs: 5 * MINUTE_MS,
  };
  const rest = { streams: ['people', 'logins'], breakdowns: [] } as const;
  let requests = 0;
  let requestsOfPast = 0;
  const bytes: number[] = [];
  const exporter = startExporter(configOf(service, polling, rest), {
    clock: virtual.process(),
    random: seededRandom(SEED),
    log: silentLogger,
    marks: new HighWaterMarks(),
    exchange(request) {
      const response = toResponse(service.handle(toSimulated(request)));
      requests += 1;
      requestsOfPast += Number(new URL(request.url).searchParams.has('to'));
      // Tokens are requests, and not responses of the service's data.
      if (request.form === undefined) {
        bytes.push(response.body.length);
      }
      return Promise.resolve(response);
    },
    observer: { pollEnded() {}, changed() {} },
  });
  // Into the steady state, baselines included.
  await virtual.advance(UNCOUNTED_HOURS * HOUR_MS);
  requestsOfPast = 0;
  bytes.length = 0;
  const requestsByHour: number[] = [];
  for (let hour = 0; hour < HOURS; hour += 1) {
    requests = 0;
    await virtual.advance(HOUR_MS);
    requestsByHour.push(requests);
    // Whoever else measures in this process has its turn.
    await wait(0);
  }
  // What is under way waits for a clock that stands still: it cannot be waited for.
  void exporter.stop();
  return { requestsByHour, requestsOfPast, bytes };
}
