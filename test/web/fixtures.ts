/** A web server's options as a test wants them, and customers for the status page. */
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import type {
  StatusCustomer,
  StatusFigures,
  StatusPath,
  StatusStream,
} from '../../src/web/status-data.ts';

export const NOW_MS = Date.UTC(2026, 2, 10, 9);

export function webOptions(changes: Partial<WebServerOptions> = {}): WebServerOptions {
  return {
    listenAddress: '127.0.0.1:0',
    telemetryPath: '/metrics',
    enableLifecycle: true,
    version: '1.2.3',
    clock: systemClock,
    log: silentLogger,
    exposition: (format, gzip) => Promise.resolve([Buffer.from(`${format} gzip=${gzip}\n`)]),
    healthy: () => true,
    ready: () => ({ ready: true, why: '' }),
    status: () => ({ nowMs: NOW_MS, customers: [customer()] }),
    reload: () => Promise.resolve({ ok: true }),
    ...changes,
  };
}

export interface Written
  extends StatusFigures, Pick<StatusCustomer, 'customer' | 'credentialsValid'> {
  readonly streams: Readonly<Record<string, StatusStream & { readonly lastSeenMs?: number }>>;
  readonly path: StatusPath | undefined;
  readonly nextPollInMs: Readonly<Record<string, number>>;
}

/** A customer that is well, but for the changes. */
export function customer(changes: Partial<Written> = {}): StatusCustomer {
  const {
    customer: name,
    credentialsValid,
    streams,
    path,
    nextPollInMs,
    ...rest
  } = {
    ...WELL,
    ...changes,
  };
  const figures = {
    ...rest,
    streams: Object.fromEntries(
      Object.entries(streams).map(([key, { lastSeenMs }]) => [key, { lastSeenMs }]),
    ),
  };
  const detail = { figures, path, nextPollInMs };
  return { customer: name, credentialsValid, streams, detail: () => detail };
}

export function stream(
  changes: Partial<Written['streams'][string]> = {},
): Written['streams'][string] {
  return {
    up: true,
    lastSuccessMs: NOW_MS - 12_000,
    polls: 100,
    failures: 0,
    skipped: 0,
    lastError: undefined,
    ...changes,
  };
}

/** Since 04:00 in Copenhagen. */
export function pathOf(inside: readonly number[]): StatusPath {
  const startMs = Date.UTC(2026, 2, 10, 3);
  return {
    day: { startMs, endMs: startMs + 86_400_000 },
    stepMs: 900_000,
    inside,
    atMs: NOW_MS - 12_000,
  };
}

const WELL: Written = {
  customer: 'riverside',
  credentialsValid: true,
  timezone: 'Europe/Copenhagen',
  utcOffsetSeconds: 3_600,
  open: true,
  capacity: 250,
  occupancy: 42,
  counters: {
    people_entered: { today: 1_321 },
    people_exited: { today: 279 },
    logins: { today: 55 },
  },
  streams: { people: stream() },
  path: pathOf([0, 0, 7, 31, 42]),
  nextPollInMs: { people: 48_000 },
};
