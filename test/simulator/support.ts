/** Small worlds for the tests of the simulator, and questions to them. */
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import type { SimulatedResponse } from '../../src/simulator/responses.ts';
import { createSimulatedService } from '../../src/simulator/service.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A Wednesday afternoon in Europe. */
export const NOW_MS = Date.parse('2026-03-18T15:00:00Z');

export interface Row {
  readonly key: string | number;
  readonly in: number;
  readonly out: number;
  readonly value: number;
}

export interface Answer<Item = Row> {
  readonly metadata: {
    readonly from?: string;
    readonly to?: string;
    readonly count: number;
    readonly startToken?: string;
    readonly limit?: number;
    readonly aggregation?: string;
  };
  readonly result: readonly Item[];
}

export interface RawRecord {
  readonly id: string;
  readonly amount: number;
  readonly category: string;
  readonly localTime: string;
  readonly serverTime: string;
  readonly clientTime: string;
}

export interface Small {
  readonly service: SimulatedService;
  readonly clock: VirtualClock;
  request(this: void, path: string, query?: Record<string, string>): SimulatedResponse;
  ask<Item = Row>(this: void, path: string, query?: Record<string, string>): Answer<Item>;
}

/** One customer named `lone`, in Copenhagen unless `library` says otherwise. */
export function small(
  conventions: Partial<Conventions> = {},
  library: Partial<Library> = {},
  nowMs = NOW_MS,
  cacheRows = 100_000,
): Small {
  const clock = new VirtualClock(nowMs);
  const service = createSimulatedService({
    seed: 7,
    customers: [
      {
        library: drawLibrary(7, 42, { name: 'lone', timezone: 'Europe/Copenhagen', ...library }),
        clientId: 'lone-api',
        clientSecret: 'open sesame',
      },
    ],
    conventions: { ...plainConventions, ...conventions },
    clock,
    cacheRows,
  });
  function request(path: string, query: Record<string, string> = {}): SimulatedResponse {
    const headers = { authorization: bearer(service) };
    return service.handle({ method: 'GET', path, query, headers });
  }
  return {
    service,
    clock,
    request,
    ask<Item>(path: string, query: Record<string, string> = {}) {
      const response = request(path, query);
      if (response.status !== 200) {
        throw new Error(`${response.status} ${response.body}`);
      }
      return JSON.parse(response.body) as Answer<Item>;
    },
  };
}

/** A customer of whom only injected records are known. */
export function silent(conventions: Partial<Conventions> = {}, nowMs = NOW_MS): Small {
  return small(conventions, { visitsPerDay: 0 }, nowMs);
}

export function bearer(service: SimulatedService): string {
  const [customer] = service.customers;
  const response = service.handle({
    method: 'POST',
    path: '/connect/token',
    body: tokenForm({
      client_id: customer?.clientId ?? '',
      client_secret: customer?.clientSecret ?? '',
    }),
  });
  const { access_token: token } = JSON.parse(response.body) as { access_token: string };
  return `Bearer ${token}`;
}

export function tokenForm(fields: Record<string, string>): string {
  const whole = { grant_type: 'client_credentials', scope: 'ServiceAPI', ...fields };
  return new URLSearchParams(whole).toString();
}

export function at(iso: string): number {
  return Date.parse(iso);
}

export function sum(rows: readonly Row[]): { in: number; out: number } {
  return {
    in: rows.reduce((total, row) => total + row.in, 0),
    out: rows.reduce((total, row) => total + row.out, 0),
  };
}

export function keys(answer: Answer): readonly (string | number)[] {
  return answer.result.map((row) => row.key);
}

/** One person in at 12:34:56.789 in Copenhagen in winter, 11:34 UTC. */
export function oneEntry(conventions: Partial<Conventions>) {
  const world = silent(conventions);
  world.service.record('lone', { kind: 'in', atMs: at('2026-03-18T11:34:56.789Z') });
  return world;
}
