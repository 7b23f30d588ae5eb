/** Where devices are: requested at most once a day, also over restarts. */
import { NO_PLACES } from '../counting/devices.ts';
import type { DevicePlace, KnownPlaces } from '../counting/devices.ts';
import { arrayOf, NOTHING, parseArray } from './daily-rows.ts';
import type { RowKind } from './daily-rows.ts';

/** They change at most once a day, and are looked at every ten seconds. */
const serialized = new WeakMap<KnownPlaces, string>([[NO_PLACES, NOTHING]]);

export const DEVICE_PLACES: RowKind = {
  stream: 'devices',
  serialize({ devices: { known } }) {
    const content = serialized.get(known) ?? serializePlaces(known);
    serialized.set(known, content);
    return content;
  },
  restore({ devices }, content) {
    devices.restore(parsePlaces(content));
  },
};

function serializePlaces({ requestedMs, places }: KnownPlaces): string {
  return JSON.stringify([
    requestedMs,
    Array.from(places, ([device, { branch, client }]) => [device, branch, client]),
  ]);
}

/** Returns the valid places. */
function parsePlaces(content: string): KnownPlaces {
  const [requestedMs, places] = parseArray(content);
  return typeof requestedMs === 'number'
    ? { requestedMs, places: new Map(arrayOf(places).flatMap(parsePlace)) }
    : NO_PLACES;
}

function parsePlace(value: unknown): readonly (readonly [string, DevicePlace])[] {
  const [device, branch, client] = arrayOf(value);
  return typeof device === 'string'
    ? [[device, { branch: idOf(branch), client: idOf(client) }]]
    : [];
}

function idOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
