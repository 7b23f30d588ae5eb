/**
 * The network between an exporter and the simulated service, with delays and faults. It audits what
 * is sent: Retry-After is respected, a customer has one token request at a time, and refused
 * credentials and tokens are not used again.
 */
import { ServiceError } from '../../src/base/errors.ts';
import { abortError } from '../../src/service/limits.ts';
import type { Exchange, ExchangeRequest, ExchangeResponse } from '../../src/service/transport.ts';
import type { SimulatedRequest, SimulatedResponse } from '../../src/simulator/responses.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import type { Run } from './run.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Refused credentials are not tried again before this. */
const REFUSED_PAUSE_MS = 60_000;

/** What was sent for a customer by one process. */
interface RequestState {
  notBeforeMs: number;
  tokensUnderWay: number;
  refused: { readonly secret: string; readonly atMs: number } | undefined;
  refusedToken: { readonly token: string | undefined; readonly atMs: number } | undefined;
}

/** Returns the transport of one process. */
export function createExchange(run: Run, clock: VirtualClock): Exchange {
  const states = new Map<string, RequestState>();
  return async (request, signal) => {
    if (clock.killed) {
      return new Promise(() => {});
    }
    const simulated = toSimulated(request);
    const customer = run.service.customerOf(simulated) ?? '';
    const state = states.get(customer) ?? {
      notBeforeMs: -Infinity,
      tokensUnderWay: 0,
      refused: undefined,
      refusedToken: undefined,
    };
    states.set(customer, state);
    for (const broken of rulesBroken(state, simulated, clock.monotonicMs())) {
      run.auditor.report(`${customer}: ${broken}`);
    }
    state.tokensUnderWay += isToken(simulated) ? 1 : 0;
    try {
      const response = await travel(run, simulated, clock, signal);
      note(state, simulated, response, clock);
      return toResponse(response);
    } finally {
      state.tokensUnderWay -= isToken(simulated) ? 1 : 0;
    }
  };
}

/** What is wrong with sending this request now. */
function rulesBroken(
  { notBeforeMs, refusedToken, refused, tokensUnderWay }: RequestState,
  request: SimulatedRequest,
  nowMs: number,
): readonly string[] {
  const token = request.headers?.['authorization'];
  const isRefusedToken = token !== undefined && token === refusedToken?.token;
  const isRefusedSecret = isToken(request) && refused?.secret === secretOf(request);
  const rules: Readonly<Record<string, boolean>> = {
    'a request before Retry-After is over': nowMs < notBeforeMs,
    // Requests that were waiting may still have it.
    'a token is used on after it was refused':
      isRefusedToken && nowMs - refusedToken.atMs > REFUSED_PAUSE_MS,
    'two requests for a token are under way': isToken(request) && tokensUnderWay > 0,
    'refused credentials are tried again at once':
      isRefusedSecret && nowMs - refused.atMs < REFUSED_PAUSE_MS,
  };
  return Object.keys(rules).filter((rule) => rules[rule] === true);
}

async function travel(
  { service, faults, random, environment, config }: Run,
  request: SimulatedRequest,
  clock: VirtualClock,
  signal: AbortSignal | undefined,
): Promise<SimulatedResponse> {
  const { timeoutMs } = config.service;
  const wayMs = (random.next() * environment.maxDelayMs) / 2;
  await pass(wayMs, clock, signal);
  const outcome = faults.outcome(service, request);
  if (outcome.kind === 'reset') {
    throw new ServiceError('unreachable', 'the connection was reset');
  }
  const afterMs = outcome.kind === 'silence' ? Infinity : outcome.afterMs;
  if (afterMs + 2 * wayMs > timeoutMs || outcome.kind === 'silence') {
    await pass(timeoutMs - wayMs, clock, signal);
    throw new ServiceError('timeout', 'no response came in time');
  }
  await pass(afterMs + wayMs, clock, signal);
  const { status, body } = outcome.response;
  if (body.length > MAX_BODY_BYTES) {
    throw new ServiceError('malformed', 'the response is too long', { status });
  }
  return outcome.response;
}

async function pass(
  ms: number,
  clock: VirtualClock,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal, 'no response came') : error;
  }
}

function note(
  state: RequestState,
  request: SimulatedRequest,
  response: SimulatedResponse,
  clock: VirtualClock,
): void {
  const nowMs = clock.monotonicMs();
  if (response.status === 401 && !isToken(request)) {
    state.refusedToken = { token: request.headers?.['authorization'], atMs: nowMs };
  }
  const retryAfter = response.headers['retry-after'];
  if (retryAfter !== undefined && (response.status === 429 || response.status === 503)) {
    // Only seconds are audited: a date depends on the service's clock.
    const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : 0;
    state.notBeforeMs = nowMs + seconds * 1000;
  }
  if (isToken(request)) {
    const isRefusal = response.status === 401 || (response.status === 400 && isWhole(response));
    state.refused = isRefusal ? { secret: secretOf(request), atMs: nowMs } : undefined;
  }
}

/** A truncated body may come from a proxy, and does not count as a refusal. */
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

function toSimulated({ url, bearer, form }: ExchangeRequest): SimulatedRequest {
  // As `new URL` does, in a fraction of the time.
  const [, path = '', search] = /^https?:\/\/[^/?#]+([^?#]*)(?:\?([^#]*))?$/.exec(url) ?? [];
  if (form === undefined) {
    const headers = { authorization: `Bearer ${bearer?.reveal() ?? ''}` };
    return { method: 'GET', path, query: new URLSearchParams(search), headers };
  }
  return { method: 'POST', path, body: form.reveal() };
}

function toResponse({ status, headers, body }: SimulatedResponse): ExchangeResponse {
  return {
    status,
    contentType: headers['content-type'],
    retryAfter: headers['retry-after'],
    date: headers['date'],
    body: Buffer.from(body),
  };
}
