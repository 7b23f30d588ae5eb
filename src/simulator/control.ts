/** Paths under /simulator/, which the vendor does not have: ground truth and fault injection. */
import type { Clock } from '../base/clock.ts';
import { SECOND_MS } from './conventions.ts';
import { FAULT_KINDS } from './faults.ts';
import type { FaultPlan, Faults } from './faults.ts';
import { errorResponse, jsonResponse } from './responses.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
import type { SimulatedService } from './service.ts';

export interface Control {
  readonly service: SimulatedService;
  readonly faults: Faults;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/**
 * - GET /simulator/truth?from=TIME[&at=TIME][&customer=NAME]: totals of every customer, see
 *   {@link Truth}; TIME is ISO 8601 with an offset, or seconds since 1970.
 * - GET /simulator/occupancy, same parameters: people inside, for the day that starts at `from`.
 * - POST /simulator/faults {"rate": 0.1, "kinds": [...], "customer": NAME}: by default all kinds and
 *   all customers. DELETE removes all faults; GET returns how often each kind occurred.
 */
export function handleControl(control: Control, request: SimulatedRequest): SimulatedResponse {
  const nowMs = control.clock.nowMs();
  try {
    switch (`${request.method} ${request.path}`) {
      case 'GET /simulator/truth':
        return perCustomer(control, request, (customer, fromMs, atMs) =>
          control.service.truth(customer, fromMs, atMs),
        );
      case 'GET /simulator/occupancy':
        return perCustomer(control, request, (customer, fromMs, atMs) =>
          control.service.occupancy(customer, fromMs, atMs),
        );
      case 'GET /simulator/faults':
        return jsonResponse(200, JSON.stringify(Object.fromEntries(control.faults.counts)), nowMs);
      case 'POST /simulator/faults': {
        const { plan, customer } = readPlan(control, request.body ?? '');
        control.faults.set(plan, customer);
        return jsonResponse(200, JSON.stringify({ ...plan, customer }), nowMs);
      }
      case 'DELETE /simulator/faults':
        control.faults.clear();
        return jsonResponse(200, '{}', nowMs);
      default:
        return errorResponse(
          404,
          'expected /simulator/truth, /simulator/occupancy or /simulator/faults',
          'error',
          nowMs,
        );
    }
  } catch (error) {
    if (error instanceof BadRequest) {
      return errorResponse(400, error.message, 'error', nowMs);
    }
    throw error;
  }
}

class BadRequest extends Error {}

function perCustomer(
  { service, clock }: Control,
  request: SimulatedRequest,
  valueOf: (customer: string, fromMs: number, atMs: number) => unknown,
): SimulatedResponse {
  const query = new URLSearchParams(request.query ?? {});
  const nowMs = clock.nowMs();
  const fromMs = readTime('from', query.get('from'));
  const atText = query.get('at');
  const atMs = atText === null ? nowMs : readTime('at', atText);
  const only = query.get('customer') ?? undefined;
  const names = service.customers.map(({ library }) => library.name);
  const asked = only === undefined ? names : [knownCustomer(service, only)];
  const customers = Object.fromEntries(asked.map((name) => [name, valueOf(name, fromMs, atMs)]));
  const from = new Date(fromMs).toISOString();
  const at = new Date(atMs).toISOString();
  return jsonResponse(200, JSON.stringify({ from, at, customers }), nowMs);
}

function readTime(name: string, text: string | null): number {
  const seconds = Number(text === null || text === '' ? Number.NaN : text);
  const ms = Number.isFinite(seconds)
    ? Math.round(seconds * SECOND_MS)
    : Date.parse(/(?:Z|[+-]\d\d:\d\d)$/i.test(text ?? '') ? (text ?? '') : '');
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) {
    throw new BadRequest(
      `${name}: expected a time like 2026-03-01T04:00:00Z (encode + as %2B) or seconds since 1970`,
    );
  }
  return ms;
}

function knownCustomer(service: SimulatedService, name: string): string {
  if (!service.customers.some(({ library }) => library.name === name)) {
    throw new BadRequest(`customer: no customer is named ${name}`);
  }
  return name;
}

function readPlan(
  { service }: Control,
  body: string,
): { readonly plan: FaultPlan; readonly customer: string | undefined } {
  let given: unknown;
  try {
    given = JSON.parse(body);
  } catch {
    throw new BadRequest('expected JSON like {"rate": 0.1, "kinds": ["timeout"]}');
  }
  const { rate, kinds = FAULT_KINDS, customer } = Object(given) as Record<string, unknown>;
  if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1)) {
    throw new BadRequest('rate: expected a number from 0 to 1');
  }
  if (!Array.isArray(kinds)) {
    throw new BadRequest(`kinds: expected a list of ${FAULT_KINDS.join(', ')}`);
  }
  const known = kinds.map((kind: unknown) => {
    const found = FAULT_KINDS.find((name) => name === kind);
    if (found === undefined) {
      const kinds = FAULT_KINDS.join(', ');
      throw new BadRequest(`kinds: expected one of ${kinds}, got ${JSON.stringify(kind)}`);
    }
    return found;
  });
  return {
    plan: { rate, kinds: known },
    customer: typeof customer === 'string' ? knownCustomer(service, customer) : undefined,
  };
}
