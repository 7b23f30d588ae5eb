/** Customers of the status page on a morning: most work, some fail in each way. */
import type { OccupancySeries } from '../../src/counting/customer-metrics.ts';
import type { CustomerStatus } from '../../src/web/status-row.ts';
import { NOW_MS } from '../metrics/fixtures.ts';
import { customer, stream } from './fixtures.ts';
import type { CustomerChanges } from './fixtures.ts';

const STEP_MS = 900_000;
const DAY_MS = 86_400_000;

interface Library {
  readonly name: string;
  readonly timezone: string;
  readonly offsetHours: number;
  readonly capacity: number | undefined;
  readonly busiest: number;
  readonly changes?: CustomerChanges;
}

const LIBRARIES: readonly Library[] = [
  { name: 'riverside', timezone: 'Europe/Copenhagen', offsetHours: 1, capacity: 250, busiest: 120 },
  {
    name: 'harbour-point',
    timezone: 'Australia/Perth',
    offsetHours: 8,
    capacity: 180,
    busiest: 171,
  },
  {
    name: 'hillside',
    timezone: 'Europe/Copenhagen',
    offsetHours: 1,
    capacity: undefined,
    busiest: 0,
    changes: {
      credentialsValid: false,
      open: true,
      occupancy: undefined,
      series: undefined,
      counters: {},
      streams: failing(
        'the service refused the credentials (status 400, invalid_client)',
        undefined,
      ),
    },
  },
  {
    name: 'old-town',
    timezone: 'Europe/Lisbon',
    offsetHours: 0,
    capacity: 90,
    busiest: 44,
    changes: {
      streams: failing('no answer within 10s', NOW_MS - 4 * 60_000),
    },
  },
  { name: 'lotus-garden', timezone: 'Asia/Tokyo', offsetHours: 9, capacity: 400, busiest: 310 },
  {
    name: 'southern-cross',
    timezone: 'America/Bogota',
    offsetHours: -5,
    capacity: 60,
    busiest: 0,
    changes: { open: false },
  },
];

function failing(
  message: string,
  lastSuccessMs: number | undefined,
): CustomerChanges['streams'] & object {
  const lastError = { message, atMs: NOW_MS - 21_000 };
  const bad = stream({ up: false, lastSuccessMs, failures: 4, lastError });
  return { people: bad, logins: bad };
}

/** The libraries above, and as many more like them as are asked for. */
export function statusWorld(customers = LIBRARIES.length): readonly CustomerStatus[] {
  return Array.from({ length: customers }, (_, i) => {
    const library = LIBRARIES[i % LIBRARIES.length];
    if (library === undefined) {
      throw new Error('there are no libraries');
    }
    const more = i < LIBRARIES.length ? '' : `-${i}`;
    return morningOf({ ...library, name: library.name + more });
  });
}

function morningOf({
  name,
  timezone,
  offsetHours,
  capacity,
  busiest,
  changes,
}: Library): CustomerStatus {
  const series = seriesOf(offsetHours, busiest);
  const entered = Math.round(busiest * 4.7);
  const occupancy = series.inside.at(-1) ?? 0;
  return customer({
    customer: name,
    timezone,
    utcOffsetSeconds: offsetHours * 3_600,
    capacity,
    series,
    occupancy,
    counters: {
      people_entered: today(entered),
      people_exited: today(entered - occupancy),
      logins: today(Math.round(busiest * 1.3)),
    },
    streams: {
      people: stream({ polls: 1_287, lastSeenMs: NOW_MS - 140_000 }),
      logins: stream({ polls: 1_287, lastSuccessMs: NOW_MS - 41_000 }),
    },
    ...changes,
  });
}

function today(count: number) {
  return { total: count, excess: 0, today: count };
}

/** From 04:00 on: two hills, as most libraries have them. */
function seriesOf(offsetHours: number, busiest: number): OccupancySeries {
  const localMs = NOW_MS + offsetHours * 3_600_000;
  const localStartMs = Math.floor((localMs - 4 * 3_600_000) / DAY_MS) * DAY_MS + 4 * 3_600_000;
  const startMs = localStartMs - offsetHours * 3_600_000;
  const steps = Math.ceil((NOW_MS - startMs) / STEP_MS);
  const inside = Array.from({ length: steps }, (_, i) => {
    const hour = 4 + (i + 1) / 4;
    const hill =
      Math.exp(-(((hour - 11.5) / 1.8) ** 2)) + 0.8 * Math.exp(-(((hour - 16) / 2) ** 2));
    return hour < 8 ? 0 : Math.round(busiest * hill + ((i * 7) % 5));
  });
  return {
    day: { startMs, endMs: startMs + DAY_MS },
    stepMs: STEP_MS,
    inside,
    atMs: NOW_MS - 12_000,
  };
}
