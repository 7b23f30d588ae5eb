/** Faults of the service and of the way to it, drawn at random. No sockets, so simulations can use them. */
import type { Random } from '../base/random.ts';
import { pick } from './chance.ts';
import { SECOND_MS } from '../base/duration.ts';
import { HTML_TYPE, errorResponse, htmlPage, retryAfterHeader } from './responses.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
import type { SimulatedService } from './simulated-service.ts';

export const FAULT_KINDS = [
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
  'shortened',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** White space added to a response, so that it exceeds the limit of any client. */
const OVERSIZE_BYTES = 9 * 2 ** 20;
const MAX_RETRY_AFTER_SECONDS = 5;
const MAX_SLOW_MS = 20 * SECOND_MS;

/** These have another meaning, or none, at the token endpoint. */
const DATA_ONLY: readonly FaultKind[] = ['unauthorized', 'empty', 'shortened'];

export interface FaultPlan {
  /** Share of requests that fail. */
  readonly rate: number;
  readonly kinds: readonly FaultKind[];
}

/** The result of a request. `silence`: there is never a response. */
export type Outcome =
  | { readonly kind: 'response'; readonly response: SimulatedResponse; readonly afterMs: number }
  | { readonly kind: 'silence' }
  | { readonly kind: 'reset' };

export type Faults = ReturnType<typeof createFaults>;

/** Returns faults that are planned by customer and drawn for each request. None are planned at first. */
export function createFaults({ random }: { readonly random: Random }) {
  /** Plans by customer; undefined: all others. */
  const plans = new Map<string | undefined, FaultPlan>();
  const counts = new Map<FaultKind, number>();

  function draw(customer: string | undefined, isData: boolean): FaultKind | undefined {
    const plan = plans.get(customer) ?? plans.get(undefined);
    if (plan === undefined || random.next() >= plan.rate) {
      return undefined;
    }
    const kinds = plan.kinds.filter((kind) => isData || !DATA_ONLY.includes(kind));
    return kinds.length === 0 ? undefined : pick(random, kinds);
  }

  /** Seconds or a date, equally often. */
  function retryAfter(dateMs: number): Record<string, string> {
    const seconds = 1 + Math.floor(random.next() * MAX_RETRY_AFTER_SECONDS);
    return retryAfterHeader(random.next() < 0.5 ? 'seconds' : 'date', seconds, dateMs);
  }

  function apply(kind: FaultKind, good: SimulatedResponse): Outcome {
    const dateMs = Date.parse(good.headers['date'] ?? '');
    function refusal(status: number, message: string, headers = {}): Outcome {
      return respond(
        errorResponse(status, message, status === 503 ? 'html' : 'error', dateMs, headers),
      );
    }
    switch (kind) {
      case 'timeout':
        return { kind: 'silence' };
      case 'reset':
        return { kind: 'reset' };
      case 'unauthorized':
        return refusal(401, 'unknown token');
      case 'rate-limited':
        return refusal(429, 'too many requests');
      case 'rate-limited-retry-after':
        return refusal(429, 'too many requests', retryAfter(dateMs));
      case 'unavailable':
        return refusal(503, 'out of service');
      case 'unavailable-retry-after':
        return refusal(503, 'out of service', retryAfter(dateMs));
      case 'html': {
        const headers = { ...good.headers, 'content-type': HTML_TYPE };
        return respond({ status: 200, headers, body: htmlPage('Please accept our terms') });
      }
      case 'truncated':
        return respond({ ...good, body: good.body.slice(0, random.next() * good.body.length) });
      case 'oversized':
        return respond({ ...good, body: good.body + ' '.repeat(OVERSIZE_BYTES) });
      case 'empty':
        return respond({ ...good, body: withoutRows(good) });
      case 'shortened':
        return respond({ ...good, body: withoutLastRow(good) });
      case 'slow':
        return respond(good, Math.ceil(random.next() * MAX_SLOW_MS));
    }
  }

  return {
    /** Number of requests with each fault. */
    counts: counts as ReadonlyMap<FaultKind, number>,
    /** Plans faults for one customer, or for all without a plan of their own. */
    set(plan: FaultPlan, customer?: string): void {
      plans.set(customer, plan);
    },
    /** Deletes all plans. */
    clear(): void {
      plans.clear();
    },
    outcome(service: SimulatedService, request: SimulatedRequest): Outcome {
      const kind = draw(service.customerOf(request), request.path.startsWith('/v1/'));
      const good = service.handle(request);
      if (kind === undefined) {
        return respond(good);
      }
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return apply(kind, good);
    },
  };
}

function respond(response: SimulatedResponse, afterMs = 0): Outcome {
  return { kind: 'response', response, afterMs };
}

/** Returns the body without its last row, which the metadata still counts. */
function withoutLastRow({ status, body }: SimulatedResponse): string {
  if (status !== 200) {
    return body;
  }
  const { metadata, result } = JSON.parse(body) as { metadata: object; result: unknown[] };
  return JSON.stringify({ metadata, result: result.slice(0, -1) });
}

/** Returns the body of the response as if the window had no records. */
function withoutRows({ status, body }: SimulatedResponse): string {
  if (status !== 200) {
    return body;
  }
  const { metadata } = JSON.parse(body) as { metadata: Record<string, unknown> };
  const { startToken: _, ...rest } = metadata;
  return JSON.stringify({ metadata: { ...rest, count: 0 }, result: [] });
}
