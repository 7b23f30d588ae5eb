/** The simulator over HTTP. */
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import type { Faults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import type { Simulator, SimulatorOptions } from '../../src/simulator/http.ts';
import { bearer, small } from './support.ts';

const { service } = small();
let faults: Faults;
let simulator: Simulator;

async function start(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const listenAddress = '127.0.0.1:0';
  return startSimulator({ service, faults, clock: systemClock, listenAddress, ...options });
}

async function days(): Promise<Response> {
  const headers = { authorization: bearer(service) };
  return fetch(`${simulator.url}/v1/peoplecount?aggregation=day`, { headers });
}

beforeEach(async () => {
  faults = createFaults({ random: seededRandom(1) });
  simulator = await start();
});

afterEach(async () => {
  await simulator.close();
});

test('the actual counts are shown and faults are set and cleared under /simulator/', async () => {
  const [from, at] = ['2026-03-18T00:00:00Z', '2026-03-18T15:00:00Z'];
  const shown = await fetch(`${simulator.url}/simulator/counts?from=${from}&at=${at}`);
  expect(await shown.json()).toEqual({
    customers: { lone: service.groundTruth('lone', Date.parse(from), Date.parse(at)) },
  });
  const url = `${simulator.url}/simulator/faults`;
  for (const [kind, status] of [
    ['unavailable', 503],
    ['reset', undefined],
  ] as const) {
    const body = JSON.stringify({ rate: 1, kinds: [kind] });
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200);
    expect((await days().catch(() => undefined))?.status).toBe(status);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(200);
    expect((await days()).headers.get('date')).toBe('Wed, 18 Mar 2026 15:00:00 GMT');
  }
});

test('a door, the doors of a branch, or all of them die and live again under /simulator/doors', async () => {
  const [NOON_MS, MINUTE_MS] = [Date.parse('2026-03-18T11:00:00Z'), 60_000];
  const branches = [
    { id: 7, name: 'Main Library' },
    { id: 8, name: 'West Branch' },
  ];
  const { service: alive, clock } = small({}, { branches, visitsPerDay: 5_000 });
  const started = await start({ service: alive, clock });
  onTestFinished(() => started.close());
  async function counted(doors: object): Promise<readonly number[]> {
    const before = alive.served('lone', NOON_MS);
    const body = JSON.stringify({ customer: 'lone', ...doors });
    const { status } = await fetch(`${started.url}/simulator/doors`, { method: 'POST', body });
    expect(status).toBe(200);
    expect(alive.served('lone', NOON_MS)).toEqual(before);
    // What was counted before arrives within a minute.
    clock.aheadMs += MINUTE_MS;
    const fromMs = clock.nowMs();
    clock.aheadMs += 30 * MINUTE_MS;
    return [...alive.breakdownTotals('lone', 'device', fromMs).keys()].toSorted((a, b) => a - b);
  }
  expect(await counted({ alive: true })).toEqual([701, 702, 801, 802]);
  expect(await counted({ alive: false, device: 802 })).toEqual([701, 702, 801]);
  expect(await counted({ alive: false, branch: 8 })).toEqual([701, 702]);
  expect(await counted({ alive: false })).toEqual([]);
  expect(await counted({ alive: true, branch: 8 })).toEqual([801, 802]);
});

test.each([
  ['GET', 'counts', undefined, 400],
  ['POST', 'faults', '{"rate":1,"kinds":["fire"]}', 400],
  ['POST', 'doors', '{"customer":"lone","alive":false,"device":1}', 400],
  ['GET', 'fire', undefined, 404],
])('%s /simulator/%s %s is refused', async (method, path, body, status) => {
  const init = body === undefined ? { method } : { method, body };
  expect((await fetch(`${simulator.url}/simulator/${path}`, init)).status).toBe(status);
});
