/** A web server's options as a test wants them, and customers for the status page. */
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import type { StatusCustomer, StatusStream } from '../../src/web/status-data.ts';

export const NOW_MS = Date.UTC(2026, 2, 10, 9);

export function webOptions(changes: Partial<WebServerOptions> = {}): WebServerOptions {
  return {
    listenAddress: '127.0.0.1:0',
    telemetryPath: '/metrics',
    enableLifecycle: true,
    version: '1.2.3',
    clock: systemClock,
    log: silentLogger,
    exposition: (format, gzip) => Promise.resolve(Buffer.from(`${format} gzip=${gzip}\n`)),
    healthy: () => true,
    ready: () => ({ ready: true, why: '' }),
    status: () => ({ nowMs: NOW_MS, customers: [customer()] }),
    reload: () => Promise.resolve({ ok: true }),
    ...changes,
  };
}

export function customer(changes: Partial<StatusCustomer> = {}): StatusCustomer {
  return {
    customer: 'riverside',
    timezone: 'Europe/Copenhagen',
    open: true,
    capacity: 250,
    occupancy: 42,
    credentialsValid: true,
    kinds: {
      people_entered: { today: 1_321 },
      people_exited: { today: 279 },
      logins: { today: 55 },
    },
    streams: { people: stream() },
    ...changes,
  };
}

export function stream(changes: Partial<StatusStream> = {}): StatusStream {
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
