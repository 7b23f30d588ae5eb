/**
 * The service of the demo, from a seed: libraries, and customers with names and credentials. Also the
 * configuration of an exporter that polls it.
 */
import { stringify } from 'yaml';
import type { Clock } from '../base/clock.ts';
import type { Breakdown } from '../base/model.ts';
import { seededRandom } from '../base/random.ts';
import { hexadecimal, mixSeeds } from './chance.ts';
import { DAY_MS, HOUR_MS } from '../base/duration.ts';
import { plainConventions } from './conventions.ts';
import {
  ALWAYS_OPEN,
  OFFICE_HOURS,
  OPEN_EARLY_AND_LATE,
  SHORTER_ON_WEEKENDS,
  deadBetween,
  deadFrom,
  drawDevices,
  drawLibrary,
  openingHoursText,
} from './libraries.ts';
import type { Branch, Library } from './libraries.ts';
import { SCOPE, createSimulatedService } from './simulated-service.ts';
import type { SimulatedCustomer, SimulatedService } from './simulated-service.ts';

const FIRST_CUSTOMER_ID = 1_001;
/** How long dead doors have counted nobody: more than the day after which an alert needs no past. */
const DEAD_FOR_MS = 25 * HOUR_MS;
/** Last year and the year before are complete on any day of a year. */
const HISTORY_MS = 3 * 366 * DAY_MS;
const DETAILED_MS = 35 * DAY_MS;

/**
 * Returns the demo's service, which depends on nothing but the options and the clock's time at the call. With a number
 * of `branches`, all customers are drawn.
 */
export function createDemoService({
  seed,
  customers: count,
  branches,
  timezone,
  clock,
}: {
  readonly seed: number;
  readonly customers: number;
  /** Of each customer. */
  readonly branches?: number | undefined;
  /** Of all customers. */
  readonly timezone?: string | undefined;
  readonly clock: Pick<Clock, 'nowMs'>;
}): SimulatedService {
  const demo = branches === undefined ? demoLibraries(seed, clock.nowMs()) : [];
  const customers = Array.from({ length: count }, (_, i): SimulatedCustomer => {
    const drawn = demo[i] ?? drawLibrary(seed, FIRST_CUSTOMER_ID + i, {}, branches);
    const library = { ...drawn, timezone: timezone ?? drawn.timezone };
    return {
      library,
      clientId: `${library.name}-api`,
      clientSecret: hexadecimal(32, seed, library.customerId, 0),
    };
  });
  return createSimulatedService({
    seed,
    customers,
    clock,
    conventions: { ...plainConventions, retentionMs: Infinity },
    historyMs: HISTORY_MS,
    detailedMs: DETAILED_MS,
  });
}

export interface ExporterConfigOptions {
  /** More keys of the section `service`. */
  readonly service?: Readonly<Record<string, number>>;
  /** The section `polling`. */
  readonly polling?: Readonly<Record<string, string>>;
  /** Breakdowns of every customer. */
  readonly breakdowns?: readonly Breakdown[];
}

/** Returns the configuration file of an exporter whose service is at `baseUrl`. */
export function exporterConfigYaml(
  { customers }: SimulatedService,
  baseUrl: string,
  options: ExporterConfigOptions = {},
): string {
  return stringify({
    service: { base_url: baseUrl, auth_url: baseUrl, scope: SCOPE, ...options.service },
    polling: options.polling,
    customers: customers.map(({ library, clientId, clientSecret }) => ({
      name: library.name,
      client_id: clientId,
      client_secret: clientSecret,
      timezone: library.timezone,
      opening_hours: openingHoursText(library.opening),
      labels: { region: library.region },
      ...buildingsOf(library, options.breakdowns),
    })),
  });
}

/** Returns the keys of a customer with one building, or with several that are polled by branch. */
function buildingsOf({ branches, capacity }: Library, breakdowns: readonly Breakdown[] = []) {
  const byBranch = branches.length > 1 && breakdowns.includes('branch');
  const weights = branches.reduce((sum, { weight = 1 }) => sum + weight, 0);
  return {
    capacity: byBranch ? undefined : capacity,
    breakdowns: breakdowns.filter((one) => byBranch || one !== 'branch'),
    branches: Object.fromEntries(
      branches.map(({ id, name, opening, weight = 1 }) => {
        const hours = opening && { opening_hours: openingHoursText(opening) };
        const share = Math.ceil((capacity * weight) / weights);
        return [id, byBranch ? { name, capacity: share, ...hours } : name];
      }),
    ),
  };
}

/**
 * Returns the five customers of the demo. The first four are closed at night, on four continents, so at least
 * two of them are open at any time. The last never closes. Three have dead doors: one of the three of the
 * first, the only one of a branch of the second, and the only one of the last.
 */
function demoLibraries(seed: number, nowMs: number): readonly Library[] {
  const lively = { quietHours: 0.5, groupChance: 0.9, opening: OPEN_EARLY_AND_LATE };
  const libraries: readonly DemoLibrary[] = [
    {
      ...lively,
      name: 'riverside',
      branches: { 'Riverside Hall': { doors: 3, deadDoor: 'Garden entrance' } },
      timezone: 'Europe/Copenhagen',
      region: 'north',
      visitsPerDay: 4_300,
      meanVisitMinutes: 32,
      capacity: 200,
    },
    {
      ...lively,
      name: 'harbour-point',
      branches: {
        'Harbour Point': { doors: 3 },
        'Ferry Landing': { doors: 1, opening: OFFICE_HOURS, weight: 0.4 },
        Lighthouse: { doors: 1, weight: 0.3, deadDoor: 'Main entrance', hasFailed: true },
      },
      timezone: 'America/New_York',
      region: 'west',
      opening: SHORTER_ON_WEEKENDS,
      visitsPerDay: 2_600,
      meanVisitMinutes: 38,
      capacity: 180,
    },
    {
      ...lively,
      name: 'lotus-garden',
      branches: { 'Lotus Garden': { doors: 2 } },
      timezone: 'Asia/Kolkata',
      region: 'east',
      visitsPerDay: 3_100,
      meanVisitMinutes: 28,
      capacity: 160,
    },
    {
      ...lively,
      name: 'southern-cross',
      branches: { 'Southern Cross': { doors: 2 } },
      timezone: 'Pacific/Auckland',
      region: 'south',
      visitsPerDay: 2_200,
      meanVisitMinutes: 35,
      capacity: 140,
    },
    {
      name: 'old-town',
      branches: { 'Old Town': { doors: 1, deadDoor: 'Main entrance', hasFailed: true } },
      timezone: 'Europe/London',
      region: 'north',
      opening: ALWAYS_OPEN,
      visitsPerDay: 900,
      capacity: 90,
    },
  ];
  return libraries.map((one, i) => demoLibrary(seed, FIRST_CUSTOMER_ID + i, one, nowMs));
}

interface DemoLibrary extends Omit<Partial<Library>, 'branches'> {
  readonly timezone: string;
  /** By name. */
  readonly branches: Readonly<Record<string, DemoBranch>>;
}

interface DemoBranch extends Pick<Branch, 'opening' | 'weight'> {
  /** Number of doors. */
  readonly doors: number;
  /** Has counted nobody for 25 hours. */
  readonly deadDoor?: string;
  /** Whether it counted nobody for some days of March last year. */
  readonly hasFailed?: boolean;
}

function demoLibrary(
  seed: number,
  customerId: number,
  { branches: demoBranches, ...given }: DemoLibrary,
  nowMs: number,
): Library {
  const year = new Date(nowMs).getUTCFullYear();
  const random = seededRandom(mixSeeds(seed, customerId, 1));
  const failedMs = [Date.UTC(year - 1, 2, 11), Date.UTC(year - 1, 2, 15)] as const;
  const drawn = Object.entries(demoBranches).map(
    ([name, { doors, deadDoor, hasFailed = false, ...branch }], i) => {
      const id = (customerId % 1_000) * 100 + i + 1;
      const devices = drawDevices(random, { id, name }, doors)
        .map((device) => (hasFailed ? deadBetween(device, ...failedMs) : device))
        .map((device) =>
          device.name === deadDoor ? deadFrom(device, nowMs - DEAD_FOR_MS) : device,
        );
      return { branch: { id, name, ...branch }, devices };
    },
  );
  return drawLibrary(seed, customerId, {
    ...given,
    branches: drawn.map(({ branch }) => branch),
    devices: drawn.flatMap(({ devices }) => devices),
  });
}
