/**
 * The network between exporter and simulated service: bytes with delays and faults. It watches what
 * is sent, for some promises are about requests: a Retry-After is kept to, tokens are asked for one
 * at a time, and refused credentials are left alone.
 */
import { ServiceError } from '../../src/base/errors.ts';
import type { Random } from '../../src/base/random.ts';
import { abortError } from '../../src/service/abort.ts';
import type { Exchange } from '../../src/service/transport.ts';
import type { Faults } from '../../src/simulator/faults.ts';
import type { SimulatedRequest, SimulatedResponse } from '../../src/simulator/responses.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import { toAnswer, toSimulated } from '../support/exporter-process.ts';
import type { ProcessClock } from './clock.ts';
import type { DoubtAuditor } from './doubt-auditor.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;

export interface NetworkOptions {
  readonly service: SimulatedService;
  readonly faults: Faults;
  readonly random: Random;
  readonly timeoutMs: number;
  /** The slowest way there and back. */
  readonly slowestMs: number;
  readonly violated: (what: string) => void;
}

/** Credentials that were refused are asked again after a minute at the earliest. */
const REFUSED_PAUSE_MS = 60_000;

/** What one process may not do, by customer. */
interface Obligations {
  notBeforeMs: number;
  tokensUnderWay: number;
  refused: { readonly secret: string; readonly atMs: number } | undefined;
  /** The token that was refused last. */
  refusedToken: { readonly token: string | undefined; readonly atMs: number } | undefined;
}

export class Network {
  readonly #options: NetworkOptions;
  requests = 0;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** The network as one process has it. */
  exchangeOf(clock: ProcessClock, doubt: DoubtAuditor): Exchange {
    const obligations = new Map<string, Obligations>();
    return async (request, signal) => {
      if (clock.killed) {
        return new Promise(() => {});
      }
      this.requests += 1;
      const simulated = toSimulated(request);
      const customer = this.#options.service.customerOf(simulated) ?? '';
      const duties = obligations.get(customer) ?? {
        notBeforeMs: -Infinity,
        tokensUnderWay: 0,
        refused: undefined,
        refusedToken: undefined,
      };
      obligations.set(customer, duties);
      this.#checkBefore(duties, simulated, clock, customer);
      try {
        const response = await this.#travel(simulated, clock, signal);
        note(duties, simulated, response, clock);
        doubt.answered(simulated, response);
        return toAnswer(response);
      } finally {
        duties.tokensUnderWay -= isToken(simulated) ? 1 : 0;
      }
    };
  }

  #checkBefore(
    duties: Obligations,
    request: SimulatedRequest,
    clock: ProcessClock,
    customer: string,
  ): void {
    const nowMs = clock.monotonicMs();
    const { violated } = this.#options;
    if (nowMs < duties.notBeforeMs) {
      violated(
        `${customer} is asked ${duties.notBeforeMs - nowMs} ms before its Retry-After is over`,
      );
    }
    const token = request.headers?.['authorization'];
    const { refusedToken } = duties;
    const isRefused = token !== undefined && token === refusedToken?.token;
    // What waited for its turn meanwhile may still have it.
    if (isRefused && nowMs - refusedToken.atMs > REFUSED_PAUSE_MS) {
      violated(`a token of ${customer} is used on after it was refused`);
    }
    if (isToken(request)) {
      duties.tokensUnderWay += 1;
      if (duties.tokensUnderWay > 1) {
        violated(`two requests for a token of ${customer} are under way`);
      }
      const { refused } = duties;
      const same = refused !== undefined && refused.secret === secretOf(request);
      if (same && nowMs - refused.atMs < REFUSED_PAUSE_MS) {
        violated(
          `refused credentials of ${customer} are tried again after ${nowMs - refused.atMs} ms`,
        );
      }
    }
  }

  async #travel(
    request: SimulatedRequest,
    clock: ProcessClock,
    signal: AbortSignal | undefined,
  ): Promise<SimulatedResponse> {
    const { service, faults, random, timeoutMs, slowestMs } = this.#options;
    const wayMs = (random.next() * slowestMs) / 2;
    await pass(wayMs, clock, signal);
    const outcome = faults.outcome(service, request);
    if (outcome.kind === 'reset') {
      throw new ServiceError('unreachable', 'the connection was reset');
    }
    const afterMs = outcome.kind === 'silence' ? Infinity : outcome.afterMs;
    if (afterMs + 2 * wayMs > timeoutMs || outcome.kind === 'silence') {
      await pass(timeoutMs - wayMs, clock, signal);
      throw new ServiceError('timeout', 'no answer came in time');
    }
    await pass(afterMs + wayMs, clock, signal);
    const { status, body } = outcome.response;
    if (body.length > MAX_BODY_BYTES) {
      throw new ServiceError('malformed', 'the answer is too long', { status });
    }
    return outcome.response;
  }
}

async function pass(
  ms: number,
  clock: ProcessClock,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal) : error;
  }
}

function note(
  duties: Obligations,
  request: SimulatedRequest,
  response: SimulatedResponse,
  clock: ProcessClock,
): void {
  const nowMs = clock.monotonicMs();
  if (response.status === 401 && !isToken(request)) {
    duties.refusedToken = { token: request.headers?.['authorization'], atMs: nowMs };
  }
  const retryAfter = response.headers['retry-after'];
  if (retryAfter !== undefined && (response.status === 429 || response.status === 503)) {
    // A date has whole seconds, and is of the service's clock: seconds are judged alone.
    const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : 0;
    duties.notBeforeMs = nowMs + seconds * 1000;
  }
  if (isToken(request)) {
    const isRefusal = response.status === 401 || (response.status === 400 && isWhole(response));
    duties.refused = isRefusal ? { secret: secretOf(request), atMs: nowMs } : undefined;
  }
}

/** Half a body may be anybody's, a proxy's too: it refuses no credentials. */
function isWhole({ body }: SimulatedResponse): boolean {
  try {
    return typeof JSON.parse(body) === 'object';
  } catch {
    return false;
  }
}

function isToken({ path }: SimulatedRequest): boolean {
  return path === '/connect/token';
}

function secretOf(request: SimulatedRequest): string {
  return new URLSearchParams(request.body).get('client_secret') ?? '';
}
