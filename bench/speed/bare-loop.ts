/**
 * The peer of polling: got and JSON.parse in a loop, with the daemon's pace, its timeout and its number
 * of connections, over the last responses that the service gave to the daemon. It counts and shows nothing.
 *
 * `bare-loop.ts URL REQUESTS SECONDS`: once as fast as it can to get warm, then a round at each message.
 */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import got from 'got';

const [url = '', count = '0', seconds = '0'] = process.argv.slice(2);
/** As the daemon's scheduler has it with 10,000 customers. */
const TICK_MS = 48;
const CONNECTIONS = 32;
const requests = Number(count);
const ticks = Math.round((Number(seconds) * 1_000) / TICK_MS);

const client = got.extend({
  agent: { http: new Agent({ keepAlive: true, maxSockets: CONNECTIONS }) },
  timeout: { request: 10_000 },
  retry: { limit: 0 },
  headers: { accept: 'application/json', authorization: 'Bearer token-0' },
});

async function pollAll(from: number, to: number): Promise<void> {
  const numbers = Array.from({ length: to - from }, (_, i) => from + i);
  const bodies = numbers.map((number) => client(`${url}/bench/replay?number=${number}`).text());
  (await Promise.all(bodies)).forEach((body) => JSON.parse(body) as unknown);
}

for (let from = 0; from < requests; from += 200) {
  await pollAll(from, Math.min(from + 200, requests));
}
// The only other message is for the probe.
process.on('message', (message) => void (message === 'round' && round()));
process.channel?.ref();
process.stdout.write('warm\n');

/** All requests, so many a tick that they last the round. */
async function round(): Promise<void> {
  const startMs = performance.now();
  const polls: Promise<void>[] = [];
  for (let tick = 0; tick < ticks; tick += 1) {
    const from = Math.floor((tick * requests) / ticks);
    polls.push(pollAll(from, Math.floor(((tick + 1) * requests) / ticks)));
    await sleep(startMs + (tick + 1) * TICK_MS - performance.now());
  }
  await Promise.all(polls);
  process.send?.('done');
}
