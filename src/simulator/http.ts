/**
 * The simulated service as an HTTP server on loopback. Paths under /simulator/, which the vendor does
 * not have, show the actual counts and inject faults (docs/commands.md).
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';
import { listen, parseListenAddress } from '../base/listen.ts';
import { FAULT_KINDS } from './faults.ts';
import type { FaultPlan, Faults } from './faults.ts';
import { errorResponse, jsonResponse } from './responses.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
import type { Doors, SimulatedService } from './simulated-service.ts';

export interface SimulatorOptions {
  readonly service: SimulatedService;
  readonly faults: Faults;
  readonly clock: Clock;
  /** `127.0.0.1:0` (any free port), `localhost:8080`, `[::1]:8080`. */
  readonly listenAddress: string;
}

export type Simulator = Awaited<ReturnType<typeof startSimulator>>;

/**
 * Listens and serves. Throws a UsageError if the address is not on loopback: anybody who can connect can set
 * faults.
 */
export async function startSimulator(options: SimulatorOptions) {
  const listenAddress = parseListenAddress(options.listenAddress);
  if (!/^(?:127(?:\.\d{1,3}){3}|localhost|::1)$/.test(listenAddress.host ?? '')) {
    throw new UsageError(
      `expected a loopback address like 127.0.0.1:0, got "${options.listenAddress}"`,
    );
  }
  const server = createServer((incoming, outgoing) => {
    exchange(options, incoming, outgoing).catch((error: unknown) => {
      outgoing.destroy(error instanceof Error ? error : undefined);
    });
  });
  return {
    /** Address for base_url and auth_url. */
    url: `http://${await listen(server, listenAddress)}`,
    /** Destroys all connections. */
    async close(): Promise<void> {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

async function exchange(
  options: SimulatorOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { service, faults, clock } = options;
  const [path = '/', query = ''] = (incoming.url ?? '/').split('?', 2);
  const request = {
    method: incoming.method ?? 'GET',
    path,
    query: new URLSearchParams(query),
    headers: { authorization: incoming.headers.authorization },
    body: await text(incoming),
  };
  if (path.startsWith('/simulator/')) {
    send(outgoing, handleControl(options, request));
    return;
  }
  const outcome = faults.outcome(service, request);
  switch (outcome.kind) {
    case 'silence':
      return;
    case 'reset':
      incoming.socket.resetAndDestroy();
      return;
    case 'response':
      if (outcome.afterMs > 0) {
        const gone = new AbortController();
        outgoing.once('close', () => gone.abort());
        await clock.sleep(outcome.afterMs, gone.signal).catch(() => undefined);
      }
      send(outgoing, outcome.response);
  }
}

function send(outgoing: ServerResponse, { status, headers, body }: SimulatedResponse): void {
  outgoing.sendDate = false;
  outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
}

/**
 * - GET counts?from=TIME[&at=TIME][&customer=NAME]: actual counts by customer, TIME in ISO 8601.
 * - POST faults {"rate": 0.1, "kinds": [...], "customer": NAME}: by default all kinds, all customers.
 * - DELETE faults: ends them.
 * - POST doors {"customer": NAME, "branch": ID, "device": ID, "alive": false}: doors die, or live again; by default
 *   all of the customer.
 */
function handleControl(
  { service, faults, clock }: SimulatorOptions,
  { method, path, query, body }: SimulatedRequest & { readonly query: URLSearchParams },
): SimulatedResponse {
  const nowMs = clock.nowMs();
  switch (`${method} ${path}`) {
    case 'GET /simulator/counts': {
      const fromMs = Date.parse(query.get('from') ?? '');
      const atMs = query.has('at') ? Date.parse(query.get('at') ?? '') : nowMs;
      if (Number.isNaN(fromMs + atMs)) {
        const message = 'from, at: expected a time like 2026-03-01T04:00:00Z';
        return errorResponse(400, message, 'error', nowMs);
      }
      const totals = service.customers
        .map(({ library: { name } }) => name)
        .filter((name) => name === (query.get('customer') ?? name))
        .map((name) => [name, service.groundTruth(name, fromMs, atMs)]);
      return jsonResponse(200, JSON.stringify({ customers: Object.fromEntries(totals) }), nowMs);
    }
    case 'POST /simulator/faults': {
      const plan = parsePlan(body ?? '');
      if (plan === undefined) {
        const message = `expected {"rate": 0 to 1, "kinds": [...]} with kinds of ${FAULT_KINDS.join(', ')}`;
        return errorResponse(400, message, 'error', nowMs);
      }
      faults.set(plan, plan.customer);
      return jsonResponse(200, JSON.stringify(plan), nowMs);
    }
    case 'DELETE /simulator/faults':
      faults.clear();
      return jsonResponse(200, '{}', nowMs);
    case 'POST /simulator/doors': {
      const given = parseDoors(body ?? '');
      const doors = given === undefined ? [] : service.setDoors(given);
      if (doors.length === 0) {
        const message =
          'expected {"customer": NAME, "alive": true or false}, and for some of its doors "branch": ID or "device": ID';
        return errorResponse(400, message, 'error', nowMs);
      }
      return jsonResponse(200, JSON.stringify({ ...given, doors }), nowMs);
    }
    default:
      return errorResponse(404, 'expected counts, faults or doors', 'error', nowMs);
  }
}

const DOORS: z.ZodType<Doors> = z.strictObject({
  customer: z.string(),
  branch: z.int().optional(),
  device: z.int().optional(),
  alive: z.boolean(),
});

function parseDoors(body: string): Doors | undefined {
  try {
    return DOORS.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}

function parsePlan(body: string): (FaultPlan & { readonly customer?: string }) | undefined {
  try {
    const given = JSON.parse(body) as Partial<FaultPlan>;
    const { rate = NaN, kinds = FAULT_KINDS } = given;
    const isValid = rate >= 0 && rate <= 1 && kinds.every((kind) => FAULT_KINDS.includes(kind));
    return isValid ? { ...given, rate, kinds } : undefined;
  } catch {
    return undefined;
  }
}
