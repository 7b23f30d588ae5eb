/**
 * The ways in which the fake service may write the keys of its minutes: service-interface.md says
 * "string or int" and no more.
 */
import { hourMs, minuteMs, offsetMs, wallMs } from './local-time.ts';

/** What a key may depend on: the bucket, the zone and the start of the window asked for. */
interface Bucket {
  readonly startMs: number;
  readonly zone: string;
  readonly fromMs: number;
}

function naive(wall: number): string {
  return new Date(wall).toISOString().slice(0, 19);
}

function compact(wall: number): string {
  return naive(wall).replaceAll(/\D/g, '').slice(0, 12);
}

function isoWithOffset({ startMs, zone }: Bucket): string {
  const offset = offsetMs(startMs, zone);
  const distance = new Date(Math.abs(offset)).toISOString().slice(11, 16);
  return `${naive(startMs + offset)}${offset < 0 ? '-' : '+'}${distance}`;
}

function minuteOfDay({ startMs, zone }: Bucket): number {
  return Math.floor((wallMs(startMs, zone) % (24 * hourMs)) / minuteMs);
}

/** Every key form by its name. */
export const keyForms = {
  'iso Z': ({ startMs }) => new Date(startMs).toISOString(),
  'iso offset': isoWithOffset,
  'naive local': ({ startMs, zone }) => naive(wallMs(startMs, zone)),
  'naive UTC': ({ startMs }) => naive(startMs),
  'epoch seconds, number': ({ startMs }) => startMs / 1000,
  'epoch seconds, string': ({ startMs }) => String(startMs / 1000),
  'epoch milliseconds, number': ({ startMs }) => startMs,
  'epoch milliseconds, string': ({ startMs }) => String(startMs),
  'yyyyMMddHHmm local, string': ({ startMs, zone }) => compact(wallMs(startMs, zone)),
  'yyyyMMddHHmm local, number': ({ startMs, zone }) => Number(compact(wallMs(startMs, zone))),
  'HH:mm local': ({ startMs, zone }) => naive(wallMs(startMs, zone)).slice(11, 16),
  'minute of day': minuteOfDay,
  opaque: ({ startMs }) => `k${((startMs / minuteMs) * 7919) % 104_729}x`,
} satisfies Record<string, (bucket: Bucket) => string | number>;

export type KeyForm = keyof typeof keyForms;
