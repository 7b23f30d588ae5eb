/**
 * A whole world from a seed: customers with names and credentials, their libraries, the service
 * that counts for them, and the exporter's configuration that fits. The first five customers are
 * picked by hand: of the four of them that work, at least three are open at any hour of any day.
 */
import { stringify } from 'yaml';
import type { Clock } from '../base/clock.ts';
import type { Breakdown } from '../base/model.ts';
import { seededRandom } from '../base/random.ts';
import { DAY_MS, MINUTE_MS } from './conventions.ts';
import type { Conventions } from './conventions.ts';
import {
  ALWAYS_OPEN,
  OFFICE_HOURS,
  OPEN_EARLY_AND_LATE,
  drawDevices,
  drawLibrary,
  openingHoursText,
} from './libraries.ts';
import type { Branch, Library } from './libraries.ts';
import { hexadecimal, mixSeeds } from './seeds.ts';
import { createSimulatedService } from './service.ts';
import type { SimulatedCustomer, SimulatedService } from './service.ts';
import { SCOPE } from './tokens.ts';
import { createZones } from './zone.ts';

export interface WorldOptions {
  readonly seed: number;
  /** How many. */
  readonly customers: number;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly conventions?: Conventions;
}

export interface World {
  readonly service: SimulatedService;
  readonly customers: readonly SimulatedCustomer[];
}

/** The local time of yesterday at which the door of the demo's last library died. */
const DEATH_MINUTE = 14 * 60 + 37;

/** The same seed, number and start of the clock give the same world. */
export function createWorld({ seed, customers: count, clock, conventions }: WorldOptions): World {
  const picked = pickedLibraries(seed, clock.nowMs());
  const customers = Array.from({ length: count }, (_, i): SimulatedCustomer => {
    const library = picked[i] ?? drawLibrary(seed, 1_001 + i, { name: customerName(seed, i) });
    return {
      library,
      clientId: `${library.name}-api`,
      clientSecret: hexadecimal(32, seed, library.customerId, 0),
    };
  });
  const service = createSimulatedService({
    seed,
    customers,
    clock,
    ...(conventions === undefined ? {} : { conventions }),
  });
  return { service, customers };
}

export interface ExporterConfigOptions {
  /** Further keys of the section `service`, as in `{ max_requests_per_second: 500 }`. */
  readonly service?: Readonly<Record<string, number>>;
  /** The section `polling`, as in `{ interval: '5s' }`. Default: left out. */
  readonly polling?: Readonly<Record<string, string>>;
  /** The same of every customer. Default: none. */
  readonly breakdowns?: readonly Breakdown[];
}

/** The exporter's configuration file for a world whose service answers at `baseUrl`. */
export function exporterConfigYaml(
  world: World,
  baseUrl: string,
  options: ExporterConfigOptions = {},
): string {
  return stringify({
    service: { base_url: baseUrl, auth_url: baseUrl, scope: SCOPE, ...options.service },
    ...(options.polling === undefined ? {} : { polling: options.polling }),
    customers: world.customers.map(({ library, clientId, clientSecret }) => ({
      name: library.name,
      client_id: clientId,
      client_secret: clientSecret,
      timezone: library.timezone,
      capacity: library.capacity,
      opening_hours: openingHoursText(library.opening),
      labels: { region: library.region },
      ...(options.breakdowns === undefined ? {} : { breakdowns: options.breakdowns }),
      branches: Object.fromEntries(library.branches.map(({ id, name }) => [id, name])),
    })),
  });
}

/**
 * Three of them are open from 6 to midnight on three continents, so that at any instant at least two
 * are; the first never closes.
 */
function pickedLibraries(seed: number, nowMs: number): readonly Library[] {
  const lively = { quietHours: 0.5, groupChance: 0.9, opening: OPEN_EARLY_AND_LATE };
  return [
    pickedLibrary(seed, 1_001, ['Riverside Hall', 'Riverside Annex'], [2, 1], {
      ...lively,
      name: 'riverside',
      timezone: 'Europe/Copenhagen',
      region: 'north',
      opening: ALWAYS_OPEN,
      visitsPerDay: 4_300,
      meanVisitMinutes: 32,
      capacity: 200,
    }),
    pickedLibrary(seed, 1_002, ['Harbour Point', 'Ferry Landing'], [3, 1], {
      ...lively,
      name: 'harbour-point',
      timezone: 'America/New_York',
      region: 'west',
      visitsPerDay: 2_600,
      meanVisitMinutes: 38,
      capacity: 180,
    }),
    pickedLibrary(seed, 1_003, ['Lotus Garden'], [2], {
      ...lively,
      name: 'lotus-garden',
      timezone: 'Asia/Kolkata',
      region: 'east',
      visitsPerDay: 3_100,
      meanVisitMinutes: 28,
      capacity: 160,
    }),
    pickedLibrary(seed, 1_004, ['Southern Cross'], [2], {
      ...lively,
      name: 'southern-cross',
      timezone: 'Pacific/Auckland',
      region: 'south',
      visitsPerDay: 2_200,
      meanVisitMinutes: 35,
      capacity: 140,
    }),
    withDeadDoor(
      pickedLibrary(seed, 1_005, ['Old Town'], [1], {
        name: 'old-town',
        timezone: 'Europe/London',
        region: 'north',
        opening: OFFICE_HOURS,
        visitsPerDay: 900,
        capacity: 90,
      }),
      nowMs,
    ),
  ];
}

function pickedLibrary(
  seed: number,
  customerId: number,
  branchNames: readonly string[],
  doors: readonly number[],
  given: Partial<Library>,
): Library {
  const random = seededRandom(mixSeeds(seed, customerId, 1));
  const branches: readonly Branch[] = branchNames.map((name, i) => ({
    id: (customerId % 1_000) * 100 + i + 1,
    name,
  }));
  const devices = branches.flatMap((branch, i) => drawDevices(random, branch, doors[i]));
  return drawLibrary(seed, customerId, { ...given, branches, devices });
}

/** Its only door saw nobody since yesterday; the stations still work. */
function withDeadDoor(library: Library, nowMs: number): Library {
  const zone = createZones()(library.timezone);
  const yesterday = zone.dayOf(nowMs) - 1;
  const diedAtMs = zone.instantOf(yesterday * DAY_MS + DEATH_MINUTE * MINUTE_MS);
  const devices = library.devices.map((device) =>
    device.kind === 'door' ? { ...device, diedAtMs } : device,
  );
  return { ...library, devices };
}

const FIRST_WORDS = (
  'amber ash birch bright broad calm castle cedar chapel cherry clear clover copper coral crescent ' +
  'dale east elm fair fern field forest garden golden grand granite green grove hazel heather high ' +
  'hill holly iron ivy juniper lake lark laurel lime linden long maple market meadow mill moor north'
).split(' ');
const SECOND_WORDS = (
  'bank bay bend bridge brook centre cliff commons corner court cove creek cross dock end ferry ford ' +
  'gate glen hall harbour haven head heath hollow house island junction landing lane lodge ' +
  'mead mount park pier place plaza point pond quay ridge rise road row side square station'
).split(' ');

/** Two words, each pair once; a number where there are more customers than pairs. */
function customerName(seed: number, index: number): string {
  const pairs = FIRST_WORDS.length * SECOND_WORDS.length;
  // A stride without a common divisor goes through all the pairs before it comes back to one.
  const place = (mixSeeds(seed) + index * 1_009) % pairs;
  const first = FIRST_WORDS[Math.floor(place / SECOND_WORDS.length)];
  const second = SECOND_WORDS[place % SECOND_WORDS.length];
  const round = Math.floor(index / pairs);
  return `${first}-${second}${round === 0 ? '' : `-${round + 1}`}`;
}
