/**
 * Does the same thing again and again, `requests` or `polls`, and prints how many bytes of each were
 * kept by the part of the heap that is seldom collected, though all of it was over.
 *
 * To be run with --expose-gc, and with room enough that the whole heap is not collected meanwhile.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getHeapSpaceStatistics } from 'node:v8';
import { nextTurn, systemClock } from '../../../src/base/clock.ts';
import { settleHeap } from '../../../src/base/heap.ts';
import type { Question, Reading } from '../../../src/base/nouns.ts';
import { drive, planPoll } from '../../../src/polling/round.ts';
import { createTransport } from '../../../src/service/transport.ts';
import { customerNamed } from '../../support/polled.ts';

const AT_ONCE = 8;
const ROUNDS = 100;
const MINUTE_MS = 60_000;

type One = () => Promise<void>;

const THINGS: Readonly<Record<string, () => One | Promise<One>>> = { requests, polls };

settleHeap();
const doOne = await THINGS[process.argv[2] ?? '']?.();
if (doOne === undefined) {
  throw new Error(`one of ${Object.keys(THINGS).join(', ')} is expected`);
}
await rounds(doOne, ROUNDS);
global.gc?.();
const before = oldBytes();
await rounds(doOne, ROUNDS);
process.stdout.write(String((oldBytes() - before) / (ROUNDS * AT_ONCE)));
process.exit();

async function rounds(one: One, count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    await nextTurn();
    // What survives two of these gets there.
    global.gc?.({ type: 'minor' });
    global.gc?.({ type: 'minor' });
  }
}

function oldBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return old?.space_used_size ?? NaN;
}

async function requests(): Promise<One> {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const transport = createTransport({
    baseUrl: url,
    authUrl: url,
    proxyUrl: undefined,
    environment: {},
    ca: undefined,
    timeoutMs: 10_000,
    maxConcurrency: AT_ONCE,
  });
  return async () => {
    await transport.exchange({ url, title: 'GET /' }, new AbortController().signal);
  };
}

function polls(): One {
  const customer = customerNamed('riverside');
  const startMs = Date.UTC(2026, 2, 10, 13);
  const rows = Array.from({ length: 120 }, (_, i) => startMs - i * MINUTE_MS);
  let nowMs = startMs + MINUTE_MS;
  const options = {
    clock: { ...systemClock, nowMs: () => nowMs, monotonicMs: () => nowMs },
    renewalMs: -Infinity,
    serviceNowMs: () => nowMs,
  };
  async function answer({ aggregation }: Question): Promise<Reading> {
    await nextTurn();
    return {
      aggregation,
      rows: rows.map((ms) => ({ key: new Date(ms).toISOString(), counts: [1, 0] })),
    };
  }
  return async () => {
    nowMs += 1;
    const plan = planPoll(customer, 'people', options);
    const end = await drive(plan.run(true, MINUTE_MS), answer);
    end.keep(nowMs);
  };
}
