/** Keys that the simulator writes: in each format and zone, above all in nights in which clocks change. */
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/base/duration.ts';
import type { Key } from '../../../src/base/model.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import {
  ANY_KEY_FORMAT,
  keyParser,
  narrowKeyFormat,
  parseKey,
} from '../../../src/counting/rows/key-format.ts';
import type { KeyFormat } from '../../../src/counting/rows/key-format.ts';
import { plainConventions } from '../../../src/simulator/conventions.ts';
import type { KeyZone, MinuteKey } from '../../../src/simulator/conventions.ts';
import { createBuckets } from '../../../src/simulator/keys.ts';
import { createZones } from '../../../src/simulator/zone.ts';

const KEY_ZONES = ['customer', 'utc'] as const;
const TYPES = ['number', 'string'] as const;

/** How the simulator writes keys, and the format that they have. */
const WRITTEN: readonly (readonly [MinuteKey, KeyFormat])[] = [
  ...KEY_ZONES.flatMap((zone) =>
    (['minute', 'second', 'fraction'] as const).flatMap((precision) =>
      (['offset', 'Z', 'none'] as const).map((designator) => {
        const keyZone = designator === 'none' ? zoneOf(zone) : 'written';
        return [
          { form: 'iso', zone, designator, precision },
          { form: 'iso', zone: keyZone },
        ] as const;
      }),
    ),
  ),
  ...TYPES.flatMap((type) => [
    [
      { form: 'epoch', unit: 's', type },
      { form: 'epoch_seconds', zone: 'written' },
    ] as const,
    [
      { form: 'epoch', unit: 'ms', type },
      { form: 'epoch_milliseconds', zone: 'written' },
    ] as const,
  ]),
  ...KEY_ZONES.flatMap((zone) =>
    TYPES.flatMap((type) => [
      [
        { form: 'compact', zone, type },
        { form: 'compact', zone: zoneOf(zone) },
      ] as const,
      [
        { form: 'minute-of-day', zone, type },
        { form: 'minute_of_day', zone: zoneOf(zone) },
      ] as const,
      [
        { form: 'clock', zone },
        { form: 'time_of_day', zone: zoneOf(zone) },
      ] as const,
    ]),
  ),
];

function zoneOf(zone: KeyZone): KeyFormat['zone'] {
  return zone === 'customer' ? 'local' : 'utc';
}

const simulatedZones = createZones();
const zones = new Map<string, Zone>();

/** Returns the zone as counting has it, made once. */
function countingZone(name: string): Zone {
  const zone = zones.get(name) ?? new Zone(name);
  zones.set(name, zone);
  return zone;
}

/** Returns the key of the minute that starts at an instant. */
function write(minuteKey: MinuteKey, zone: string, atMs: number): Key {
  const conventions = { ...plainConventions, minuteKey };
  const buckets = createBuckets('minute', conventions, simulatedZones(zone), simulatedZones('UTC'));
  return JSON.parse(buckets.key(buckets.bucketOf(atMs), 0)) as Key;
}

const FIRST_MS = Date.UTC(2025, 0, 1);
const YEARS = 4;

/** Zone names, each with the instants at which its clocks change. */
const CHANGES: readonly (readonly [zone: string, changesMs: readonly number[]])[] =
  Intl.supportedValuesOf('timeZone').map((zone) => {
    const changesMs: number[] = [];
    let at = Temporal.Instant.fromEpochMilliseconds(FIRST_MS).toZonedDateTimeISO(zone);
    for (;;) {
      const next = at.getTimeZoneTransition('next');
      if (next === null || next.year >= 2025 + YEARS) {
        return [zone, changesMs] as const;
      }
      changesMs.push(next.epochMilliseconds);
      at = next;
    }
  });

function minutes(maximum: number): fc.Arbitrary<number> {
  return fc.nat(maximum).map((count) => count * MINUTE_MS);
}

const anyInstant = minutes(YEARS * 365 * 24 * 60).map((ms) => FIRST_MS + ms);
const anyPlace = fc.constantFrom(...CHANGES).chain(([zone, changesMs]) =>
  fc.record({
    zone: fc.constant(zone),
    atMs:
      changesMs.length === 0
        ? anyInstant
        : fc.oneof(
            anyInstant,
            fc
              .tuple(fc.constantFrom(...changesMs), fc.integer({ min: -300, max: 300 }))
              .map(([changeMs, around]) => changeMs + around * MINUTE_MS),
          ),
  }),
);

/** A window that holds the minute of `atMs`, with other minutes in it. A time of day is in it once. */
const anyWindow = fc.record({
  beforeMs: minutes(14 * 60),
  afterMs: minutes(9 * 60).map((ms) => ms + MINUTE_MS),
  others: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 5 }),
});

/**
 * Whether a local time occurs twice, `isMs` first and `atMs` later, and nothing says which of them is meant:
 * the window holds both.
 */
function isAmbiguous(zone: Zone, atMs: number, isMs: number | undefined, startMs: number): boolean {
  return (
    isMs !== undefined &&
    isMs < atMs &&
    isMs >= startMs - MINUTE_MS &&
    isMs + zone.offsetMsAt(isMs) === atMs + zone.offsetMsAt(atMs)
  );
}

test.each(WRITTEN)(
  'keys as %j are parsed to their instant, or are ambiguous',
  (minuteKey, format) => {
    fc.assert(
      fc.property(anyPlace, anyWindow, ({ zone: name, atMs }, { beforeMs, afterMs, others }) => {
        const zone = countingZone(name);
        const window = { startMs: atMs - beforeMs, endMs: atMs + afterMs };
        const written = [
          atMs,
          ...others.map((part) => {
            const length = (window.endMs - window.startMs) / MINUTE_MS;
            return window.startMs + Math.floor(part * length) * MINUTE_MS;
          }),
        ];
        const rows = written.map((ms) => ({ key: write(minuteKey, name, ms), counts: [1, 0] }));
        const usesLocalTime = format.zone === 'local';
        function isRight(ms: number, read: number | undefined): boolean {
          return read === ms || (usesLocalTime && isAmbiguous(zone, ms, read, window.startMs));
        }

        const parsed = rows.map(({ key }) => parseKey(format, key, window, zone));
        expect(parsed.map((read, i) => isRight(written[i] ?? NaN, read))).not.toContain(false);

        const state = narrowKeyFormat(ANY_KEY_FORMAT, { rows, window }, zone);
        expect(state.status).not.toBe('unknown');
        expect(state.formats).toContainEqual(format);
        const isDetected = state.status === 'detected';
        const detected = rows.map(keyParser(state, window, zone));
        expect(detected).toEqual(isDetected ? parsed : parsed.map(() => undefined));
      }),
      { seed: 46, numRuns: 150 },
    );
  },
);
