/**
 * What goes wrong between the service and its clients: a plan says how often and which, a source of
 * chance says when. It knows no socket, so that a simulation without one has the same faults.
 */
import type { Random } from '../base/random.ts';
import { SECOND_MS } from './conventions.ts';
import { errorResponse, htmlPage } from './responses.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
import { pick } from './seeds.ts';
import type { SimulatedService } from './service.ts';

export type FaultKind =
  | 'timeout'
  | 'reset'
  | 'unauthorized'
  | 'rate-limited'
  | 'rate-limited-retry-after'
  | 'unavailable'
  | 'unavailable-retry-after'
  | 'html'
  | 'truncated'
  | 'oversized'
  | 'empty'
  | 'slow';

export const FAULT_KINDS: readonly FaultKind[] = [
  'timeout',
  'reset',
  'unauthorized',
  'rate-limited',
  'rate-limited-retry-after',
  'unavailable',
  'unavailable-retry-after',
  'html',
  'truncated',
  'oversized',
  'empty',
  'slow',
];

/** White space after an answer, more than anybody should take of it. */
const OVERSIZE = 9 * 2 ** 20;

/** These would mean something else at the token endpoint: refused credentials, or nothing at all. */
const ONLY_OF_DATA: readonly FaultKind[] = ['unauthorized', 'empty'];

export interface FaultPlan {
  /** The share of requests that it befalls. */
  readonly rate: number;
  readonly kinds: readonly FaultKind[];
}

/** What becomes of a request. `silence`: there is never an answer; `reset`: the connection breaks. */
export type Outcome =
  | { readonly kind: 'answer'; readonly response: SimulatedResponse; readonly afterMs: number }
  | { readonly kind: 'silence' }
  | { readonly kind: 'reset' };

export interface Faults {
  /** From now on, for one customer or for all that have no plan of their own. */
  set(plan: FaultPlan, customer?: string): void;
  /** Ends the plan of one customer, or all plans. */
  clear(customer?: string): void;
  /** How often each kind has befallen a request. */
  readonly counts: ReadonlyMap<FaultKind, number>;
  outcome(service: SimulatedService, request: SimulatedRequest): Outcome;
}

export interface FaultOptions {
  readonly random: Random;
  readonly plan?: FaultPlan;
  /** A slow answer takes up to this. Default: 20 s. */
  readonly slowestMs?: number;
  /** Default: 5. */
  readonly longestRetryAfterSeconds?: number;
}

/** Faults as `plan` says; none without one. */
export function createFaults(options: FaultOptions): Faults {
  const { random, slowestMs = 20 * SECOND_MS, longestRetryAfterSeconds = 5 } = options;
  const ofCustomers = new Map<string, FaultPlan>();
  const counts = new Map<FaultKind, number>();
  let ofAll = options.plan;

  function draw(customer: string | undefined, isData: boolean): FaultKind | undefined {
    const plan = (customer === undefined ? undefined : ofCustomers.get(customer)) ?? ofAll;
    if (plan === undefined || random.next() >= plan.rate) {
      return undefined;
    }
    const kinds = plan.kinds.filter((kind) => isData || !ONLY_OF_DATA.includes(kind));
    return kinds.length === 0 ? undefined : pick(random, kinds);
  }

  /** In seconds or as a date, one as often as the other. */
  function retryAfter(service: SimulatedResponse): string {
    const seconds = 1 + Math.floor(random.next() * longestRetryAfterSeconds);
    const dateMs = Date.parse(service.headers['date'] ?? '');
    return random.next() < 0.5
      ? String(seconds)
      : new Date(dateMs + seconds * SECOND_MS).toUTCString();
  }

  function spoil(kind: FaultKind, good: SimulatedResponse): Outcome {
    const dateMs = Date.parse(good.headers['date'] ?? '');
    switch (kind) {
      case 'timeout':
        return { kind: 'silence' };
      case 'reset':
        return { kind: 'reset' };
      case 'unauthorized':
        return atOnce(errorResponse(401, 'the token is not known here', 'error', dateMs));
      case 'rate-limited':
        return atOnce(errorResponse(429, 'too many requests', 'error', dateMs));
      case 'rate-limited-retry-after':
        return atOnce(errorResponse(429, 'too many requests', 'error', dateMs, retryAfter(good)));
      case 'unavailable':
        return atOnce(errorResponse(503, 'out of service', 'html', dateMs));
      case 'unavailable-retry-after':
        return atOnce(errorResponse(503, 'out of service', 'html', dateMs, retryAfter(good)));
      case 'html':
        return atOnce({
          status: 200,
          headers: { ...good.headers, 'content-type': 'text/html; charset=utf-8' },
          body: htmlPage('Please accept our terms'),
        });
      case 'truncated':
        return atOnce({ ...good, body: good.body.slice(0, random.next() * good.body.length) });
      case 'oversized':
        return atOnce({ ...good, body: good.body + ' '.repeat(OVERSIZE) });
      case 'empty':
        return atOnce({ ...good, body: emptied(good) });
      case 'slow':
        return { kind: 'answer', response: good, afterMs: Math.ceil(random.next() * slowestMs) };
    }
  }

  return {
    counts,
    set(plan, customer) {
      if (customer === undefined) {
        ofAll = plan;
      } else {
        ofCustomers.set(customer, plan);
      }
    },
    clear(customer) {
      if (customer === undefined) {
        ofAll = undefined;
        ofCustomers.clear();
      } else {
        ofCustomers.delete(customer);
      }
    },
    outcome(service, request) {
      const kind = draw(service.customerOf(request), request.path.startsWith('/v1/'));
      const good = service.handle(request);
      if (kind === undefined) {
        return atOnce(good);
      }
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return spoil(kind, good);
    },
  };
}

function atOnce(response: SimulatedResponse): Outcome {
  return { kind: 'answer', response, afterMs: 0 };
}

/** The same answer as if there had been nothing in the window. */
function emptied(good: SimulatedResponse): string {
  if (good.status !== 200) {
    return good.body;
  }
  const { metadata } = JSON.parse(good.body) as { metadata: Record<string, unknown> };
  const { startToken: _, ...rest } = metadata;
  return JSON.stringify({ metadata: { ...rest, count: 0 }, result: [] });
}
