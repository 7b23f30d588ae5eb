/** Faults of the service and of the way to it, drawn at random. No sockets, so simulations can use them. */
import type { Random } from '../base/random.ts';
import { pick } from './chance.ts';
import { SECOND_MS } from '../base/duration.ts';
import { HTML_TYPE, errorResponse, htmlPage, retryAfterHeader } from './responses.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
import type { SimulatedService } from './simulated-service.ts';

/** White space added to a response, so that it exceeds the limit of any client. */
const OVERSIZE_BYTES = 9 * 2 ** 20;
const MAX_RETRY_AFTER_SECONDS = 5;
const MAX_SLOW_MS = 20 * SECOND_MS;

/** What becomes of a good response. */
const FAULTS = {
  timeout: () => ({ kind: 'silence' }),
  reset: () => ({ kind: 'reset' }),
  unauthorized: (good) => refuse(good, 401, 'unknown token'),
  'rate-limited': (good) => refuse(good, 429, 'too many requests'),
  'rate-limited-retry-after': (good, random) =>
    refuse(good, 429, 'too many requests', retryAfter(good, random)),
  unavailable: (good) => refuse(good, 503, 'out of service'),
  'unavailable-retry-after': (good, random) =>
    refuse(good, 503, 'out of service', retryAfter(good, random)),
  html(good) {
    const headers = { ...good.headers, 'content-type': HTML_TYPE };
    return respond({ status: 200, headers, body: htmlPage('Please accept our terms') });
  },
  // Without its first byte, it would be a response without rows.
  truncated: (good, random) =>
    respond({ ...good, body: good.body.slice(0, 1 + random.next() * (good.body.length - 1)) }),
  oversized: (good) => respond({ ...good, body: good.body + ' '.repeat(OVERSIZE_BYTES) }),
  empty: (good) => respond({ ...good, body: withoutRows(good) }),
  slow: (good, random) => respond(good, Math.ceil(random.next() * MAX_SLOW_MS)),
} satisfies Record<string, (good: SimulatedResponse, random: Random) => Outcome>;

export type FaultKind = keyof typeof FAULTS;
export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

/** These have another meaning, or none, at the token endpoint. */
const DATA_ONLY: readonly FaultKind[] = ['unauthorized', 'empty'];

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
      return FAULTS[kind](good, random);
    },
  };
}

function respond(response: SimulatedResponse, afterMs = 0): Outcome {
  return { kind: 'response', response, afterMs };
}

function refuse(
  { headers }: SimulatedResponse,
  status: number,
  message: string,
  more: Readonly<Record<string, string>> = {},
): Outcome {
  const form = status === 503 ? 'html' : 'error';
  return respond(errorResponse(status, message, form, Date.parse(headers['date'] ?? ''), more));
}

/** Seconds or a date, equally often. */
function retryAfter({ headers }: SimulatedResponse, random: Random): Record<string, string> {
  const seconds = 1 + Math.floor(random.next() * MAX_RETRY_AFTER_SECONDS);
  const form = random.next() < 0.5 ? 'seconds' : 'date';
  return retryAfterHeader(form, seconds, Date.parse(headers['date'] ?? ''));
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
