/**
 * The peer of polling: got and JSON.parse in a loop, with the daemon's pace, its timeout and its number
 * of connections, over the responses that the service gave to the daemon. It counts and shows nothing.
 *
 * `bare-loop.ts URL ANSWERS SECONDS`: once as fast as it can to get warm, then a round at each message.
 */
import { Agent } from 'node:http';
import got from 'got';

const [url = '', count = '0', seconds = '0'] = process.argv.slice(2);
/** As the daemon's scheduler has it with 10,000 customers. */
const TICK_MS = 48;
const CONNECTIONS = 32;
const responses = Number(count);
const ticks = Math.round((Number(seconds) * 1_000) / TICK_MS);

const client = got.extend({
  agent: { http: new Agent({ keepAlive: true, maxSockets: CONNECTIONS }) },
  timeout: { request: 10_000 },
  retry: { limit: 0 },
  headers: { accept: 'application/json', authorization: 'Bearer token-0' },
});

async function poll(number: number): Promise<void> {
  const body = await client(`${url}/bench/replay?number=${number}`).text();
  JSON.parse(body);
}

async function pollAll(from: number, to: number): Promise<void> {
  await Promise.all(Array.from({ length: to - from }, (_, i) => poll(from + i)));
}

for (let from = 0; from < responses; from += 200) {
  await pollAll(from, Math.min(from + 200, responses));
}
process.on('message', (message) => {
  if (message === 'round') {
    void round();
  }
});
process.channel?.ref();
process.stdout.write('warm\n');

/** All responses, so many a tick that they last the round. */
async function round(): Promise<void> {
  const startMs = performance.now();
  const polls: Promise<void>[] = [];
  for (let tick = 0; tick < ticks; tick += 1) {
    const from = Math.floor((tick * responses) / ticks);
    polls.push(pollAll(from, Math.floor(((tick + 1) * responses) / ticks)));
    const untilMs = startMs + (tick + 1) * TICK_MS - performance.now();
    await new Promise((resolve) => setTimeout(resolve, untilMs));
  }
  await Promise.all(polls);
  process.send?.('done');
}
