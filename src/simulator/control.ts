/**
 * What the simulator has beside the vendor's paths, for tests in another process and for curious
 * people: the truth, and the faults. All under /simulator/.
 */
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
 *   {@link Truth}; TIME is ISO 8601 with a designator, or seconds since 1970.
 * - GET /simulator/occupancy, the same parameters: how many are inside, the day starting at `from`.
 * - POST /simulator/faults {"rate": 0.1, "kinds": [...], "customer": NAME}: without kinds all of
 *   them, without a customer for all. DELETE /simulator/faults ends them all; GET tells how often
 *   each kind came.
 */
export function handleControl(control: Control, request: SimulatedRequest): SimulatedResponse {
  const nowMs = control.clock.nowMs();
  try {
    switch (`${request.method} ${request.path}`) {
      case 'GET /simulator/truth':
        return tell(control, request, (customer, fromMs, atMs) =>
          control.service.truth(customer, fromMs, atMs),
        );
      case 'GET /simulator/occupancy':
        return tell(control, request, (customer, fromMs, atMs) =>
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
        return errorResponse(404, 'the simulator has truth, occupancy and faults', 'error', nowMs);
    }
  } catch (error) {
    if (error instanceof Misuse) {
      return errorResponse(400, error.message, 'error', nowMs);
    }
    throw error;
  }
}

class Misuse extends Error {}

function tell(
  { service, clock }: Control,
  request: SimulatedRequest,
  figureOf: (customer: string, fromMs: number, atMs: number) => unknown,
): SimulatedResponse {
  const query = new URLSearchParams(request.query ?? {});
  const nowMs = clock.nowMs();
  const fromMs = readTime('from', query.get('from'));
  const atText = query.get('at');
  const atMs = atText === null ? nowMs : readTime('at', atText);
  const only = query.get('customer') ?? undefined;
  const names = service.customers.map(({ library }) => library.name);
  const asked = only === undefined ? names : [knownCustomer(service, only)];
  const customers = Object.fromEntries(asked.map((name) => [name, figureOf(name, fromMs, atMs)]));
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
    throw new Misuse(
      `${name} must be a time like 2026-03-01T04:00:00Z, or seconds since 1970; a + is written %2B`,
    );
  }
  return ms;
}

function knownCustomer(service: SimulatedService, name: string): string {
  if (!service.customers.some(({ library }) => library.name === name)) {
    throw new Misuse(`there is no customer named ${name}`);
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
    throw new Misuse('the body must be JSON like {"rate": 0.1, "kinds": ["timeout"]}');
  }
  const { rate, kinds = FAULT_KINDS, customer } = Object(given) as Record<string, unknown>;
  if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1)) {
    throw new Misuse('rate must be a number from 0 to 1');
  }
  if (!Array.isArray(kinds)) {
    throw new Misuse(`kinds must be a list of ${FAULT_KINDS.join(', ')}`);
  }
  const known = kinds.map((kind: unknown) => {
    const found = FAULT_KINDS.find((name) => name === kind);
    if (found === undefined) {
      throw new Misuse(
        `kinds has ${JSON.stringify(kind)}, and must be of ${FAULT_KINDS.join(', ')}`,
      );
    }
    return found;
  });
  return {
    plan: { rate, kinds: known },
    customer: typeof customer === 'string' ? knownCustomer(service, customer) : undefined,
  };
}
