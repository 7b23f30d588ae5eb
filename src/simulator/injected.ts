/** Records that a test puts into the service by hand. */
import type { Ledger } from './ledger.ts';
import type { RecordStream } from './records.ts';

/** A record to be injected. */
export interface InjectedRecord {
  readonly kind: 'in' | 'out' | 'login';
  /** When it took place. */
  readonly atMs: number;
  /** Default: when it took place. */
  readonly arrivesMs?: number;
  /** Default 1; at most 127. */
  readonly amount?: number;
  /** Default: the first of its sort. */
  readonly deviceId?: number;
}

/** Tells an injected record again. */
export interface InjectedId {
  readonly stream: RecordStream;
  readonly number: number;
}

/** Throws where the library has no such device. */
export function inject(ledger: Ledger, injected: InjectedRecord): InjectedId {
  const stream = injected.kind === 'login' ? 'logins' : 'people';
  const sort = stream === 'people' ? 'door' : 'station';
  const device = ledger.library.devices.findIndex(({ id, kind }) =>
    injected.deviceId === undefined ? kind === sort : id === injected.deviceId,
  );
  if (device < 0) {
    throw new Error(`${ledger.library.name} has no ${sort} ${injected.deviceId ?? ''}`.trimEnd());
  }
  const deliveredMs = injected.arrivesMs ?? injected.atMs;
  const number = ledger.inject(stream, {
    eventMs: injected.atMs,
    deliveredMs,
    knownFromMs: deliveredMs,
    goneMs: Infinity,
    device,
    amount: (injected.kind === 'out' ? -1 : 1) * (injected.amount ?? 1),
  });
  return { stream, number };
}
