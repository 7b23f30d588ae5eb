/** The libraries of the occupancy bench, and how their doors count. Visitors and sensors are those of the simulator. */
import { DAY_MS } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import { mixSeeds } from '../../src/simulator/chance.ts';
import * as simulator from '../../src/simulator/libraries.ts';
import { OFFICE_HOURS, SHORTER_ON_WEEKENDS } from '../../src/simulator/libraries.ts';
import type { Detection, Library, SensorSetting } from '../../src/simulator/libraries.ts';

export const DAYS = 84;
/** A Monday, as days since 1970-01-01. */
export const FIRST_DAY = Date.UTC(2026, 0, 5) / DAY_MS;
const CHANGE_DAY = 64;
/** Two weeks before the first day that is evaluated. */
const LOSS_DAY = 28;
/** From a Monday to a Wednesday. */
const DEAD_FROM_DAY = 56;
const DEAD_DAYS = 3;
/** Together as many entries as exits are missed where all four have the same share of the traffic. */
const BIAS_BY_DOOR: readonly (readonly [entries: number, exits: number])[] = [
  [0.97, 0.94],
  [0.9, 0.97],
  [0.945, 0.915],
  [0.945, 0.915],
];

/** All of them are closed at night: without that there is no estimate. */
export const LIBRARIES = {
  small: { visitsPerDay: 80, meanVisitMinutes: 48, doors: 1, opening: OFFICE_HOURS },
  branch: { visitsPerDay: 320, meanVisitMinutes: 45, doors: 1, opening: OFFICE_HOURS },
  town: { visitsPerDay: 900, meanVisitMinutes: 52, doors: 2, opening: OFFICE_HOURS },
  univ: { visitsPerDay: 6_000, meanVisitMinutes: 101, doors: 4, opening: SHORTER_ON_WEEKENDS },
};
export type LibraryName = keyof typeof LIBRARIES;

/** Returns a library with one building. */
export function drawLibrary(name: LibraryName, seed: number): Library {
  const { doors, ...given } = LIBRARIES[name];
  const branch = { id: 1, name };
  const devices = simulator.drawDevices(seededRandom(mixSeeds(seed, 1)), branch, doors);
  return simulator.drawLibrary(seed, 1, { ...given, timezone: 'UTC', branches: [branch], devices });
}

/** How a door counts on a day; doors and days are counted from 0 on. */
type Regime = (day: number, door: number, doors: number) => SensorSetting;

export const REGIMES: Readonly<Record<string, Regime>> = {
  perfect: () => counted(1),
  'u98/98': () => counted(0.98),
  'u95/95': () => counted(0.95),
  'b97/95': () => counted(0.97, 0.95),
  'b95/97': () => counted(0.95, 0.97),
  'b90/95': () => counted(0.9, 0.95),
  'b95/90': () => counted(0.95, 0.9),
  bydoor: (_, door) => counted(...(BIAS_BY_DOOR[door] ?? ([1, 1] as const))),
  drift: (day) => counted(0.97, 0.97 - (0.07 * day) / DAYS),
  season: (day) => counted(0.96 + 0.02 * Math.sin((2 * Math.PI * day) / 57), 0.96),
  sudden: (day) => counted(day < CHANGE_DAY ? 0.97 : 0.9, 0.96),
  deadout: (day, door) => counted(0.97, door === 0 && isDead(day) ? 0 : 0.95),
  deadin: (day, door) => counted(door === 0 && isDead(day) ? 0 : 0.97, 0.95),
  deadpart: (day, door, doors) => counted(0.97, door === doors - 1 && isDead(day) ? 0 : 0.95),
  lossout: (day) => counted(0.97, day < LOSS_DAY ? 0.95 : 0.6),
  lossin: (day) => counted(day < LOSS_DAY ? 0.97 : 0.6, 0.95),
  doubles: () => detected({ counted: 0.97, twice: 0.03 }, { counted: 0.97, twice: 0.03 }),
  dblbias: () => detected({ counted: 0.99, twice: 0.04 }, { counted: 0.99, twice: 0.01 }),
};

function counted(entries: number, exits = entries): SensorSetting {
  return simulator.sensorSetting(-Infinity, entries, exits);
}

function detected(entries: Detection, exits: Detection): SensorSetting {
  return { fromMs: -Infinity, in: entries, out: exits };
}

function isDead(day: number): boolean {
  return day >= DEAD_FROM_DAY && day < DEAD_FROM_DAY + DEAD_DAYS;
}

/** Returns the library with its sensors on a day. */
export function equip(library: Library, regime: Regime, day: number): Library {
  const doors = library.devices.filter(({ kind }) => kind === 'door');
  const devices = library.devices.map((device) => {
    const door = doors.indexOf(device);
    return door < 0 ? device : { ...device, sensor: [regime(day, door, doors.length)] };
  });
  return { ...library, devices };
}
