/**
 * The service that the bench polls, as a process of its own: tokens, minutes and days over plain HTTP,
 * as docs/service.md has them. Under /bench are the number of its requests, and its last responses once more.
 * It does not check who asks: it only has to be fast.
 *
 * `service.ts TIMEZONE RESPONSE-MS BRANCHES`
 */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '../../src/base/duration.ts';
import { listen } from '../../src/base/listen.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { createResponses } from './responses.ts';

/** One poll in so many has a response in another aggregation, so that a baseline is read again. */
const BASELINE_EVERY = 60;
/** Not while first polls are measured: one that gets another aggregation fails. */
const FIRST_POLLS_MS = 5 * MINUTE_MS;
const KEPT_RESPONSES = 10_000;
const TOKEN = Buffer.from('{"access_token":"token","expires_in":3600,"token_type":"Bearer"}');

const [timezone = 'UTC', responseMs = '0', branches = '1'] = process.argv.slice(2);
const respond = createResponses(new Zone(timezone), Number(branches));
const kept: Buffer[] = [];
/** Tokens included. */
let requests = 0;
let responses = 0;

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
  if (pathname === '/bench/requests') {
    return send(response, Buffer.from(String(requests)));
  }
  if (pathname === '/bench/replay') {
    const body = kept[Number(searchParams.get('number')) % kept.length];
    return send(response, body ?? Buffer.alloc(0));
  }
  requests += 1;
  if (pathname === '/connect/token') {
    return void sendLater(response, TOKEN);
  }
  const isPoll = searchParams.get('aggregation') === 'minute' && !searchParams.has('to');
  if (isPoll && performance.now() > FIRST_POLLS_MS && requests % BASELINE_EVERY === 0) {
    searchParams.set('aggregation', 'day');
  }
  const endpoint = pathname === '/v1/login' ? 'login' : 'peoplecount';
  const body = respond(endpoint, searchParams, Date.now());
  kept[responses % KEPT_RESPONSES] = body;
  responses += 1;
  void sendLater(response, body);
});
process.stdout.write(`http://${await listen(server, { host: '127.0.0.1', port: 0 })}\n`);
process.on('disconnect', () => process.exit(0));

async function sendLater(response: ServerResponse, body: Buffer): Promise<void> {
  if (responseMs !== '0') {
    await sleep(Number(responseMs));
  }
  send(response, body);
}

function send(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
}
