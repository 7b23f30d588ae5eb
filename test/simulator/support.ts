/** Fixtures of the tests of the simulator: a service with one customer, and requests to it. */
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import type { SimulatedResponse } from '../../src/simulator/responses.ts';
import { createSimulatedService } from '../../src/simulator/simulated-service.ts';
import type { SimulatedService } from '../../src/simulator/simulated-service.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A Wednesday afternoon in Europe. */
export const NOW_MS = Date.parse('2026-03-18T15:00:00Z');
export const PEOPLE = '/v1/peoplecount';
export const LOGIN = '/v1/login';

interface Row {
  readonly key: string | number;
  readonly in: number;
  readonly out: number;
}

interface Response {
  readonly metadata: { readonly aggregation?: string };
  readonly result: readonly Row[];
}

export type Small = ReturnType<typeof small>;

/** A service with one customer named `lone`, in Copenhagen unless `library` says otherwise. */
export function small(
  conventions: Partial<Conventions> = {},
  library: Partial<Library> = {},
  nowMs = NOW_MS,
) {
  const clock = new VirtualClock(nowMs);
  const lone = drawLibrary(7, 42, { name: 'lone', timezone: 'Europe/Copenhagen', ...library });
  const service = createSimulatedService({
    seed: 7,
    customers: [{ library: lone, clientId: 'lone-api', clientSecret: 'open sesame' }],
    conventions: { ...plainConventions, ...conventions },
    clock,
  });
  function request(path: string, query: Record<string, string> = {}): SimulatedResponse {
    const headers = { authorization: bearer(service) };
    return service.handle({ method: 'GET', path, query, headers });
  }
  function ask(path: string, query?: Record<string, string>): Response {
    const { status, body } = request(path, query);
    if (status !== 200) {
      throw new Error(`${status} ${body}`);
    }
    return JSON.parse(body) as Response;
  }
  return { service, clock, request, ask };
}

/** A service whose customer has no records but those that a test adds. */
export function silent(conventions: Partial<Conventions> = {}): Small {
  return small(conventions, { visitsPerDay: 0 });
}

export function bearer(service: SimulatedService): string {
  const { body } = askToken(service);
  return `Bearer ${(JSON.parse(body) as { access_token: string }).access_token}`;
}

/** A request for a token with the customer's credentials; `fields` replace what is sent. */
export function askToken(
  service: SimulatedService,
  fields: Record<string, string> = {},
): SimulatedResponse {
  const form = { client_id: 'lone-api', client_secret: 'open sesame', scope: 'ServiceAPI' };
  const sent = { grant_type: 'client_credentials', ...form, ...fields };
  const body = new URLSearchParams(sent).toString();
  return service.handle({ method: 'POST', path: '/connect/token', body });
}
