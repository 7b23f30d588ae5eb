/**
 * The service that the bench polls, as a process of its own: tokens, minutes and days over plain HTTP,
 * as docs/service.md has them, and what the bench wants to know of itself under /bench. It does
 * not check who asks, and forgets nothing: it only has to be fast.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import type { Endpoint } from '../../src/base/model.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { Responses, HISTORIES } from './responses.ts';
import { RequestCounter } from './request-counter.ts';

const { values } = parseArgs({
  options: {
    timezone: { type: 'string', default: 'Europe/Copenhagen' },
    /** One poll in so many has a response in another aggregation, so that it takes a baseline. */
    'baseline-every': { type: 'string', default: '60' },
    /** Milliseconds that each response takes. */
    'response-ms': { type: 'string', default: '0' },
    /** Buildings of each customer. */
    branches: { type: 'string', default: '1' },
  },
});

const responses = new Responses(new Zone(values.timezone), Number(values.branches));
const counter = new RequestCounter();
const baselineEvery = Number(values['baseline-every']);
const responseMs = Number(values['response-ms']);

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  switch (url.pathname) {
    case '/v1/peoplecount':
      return data(request, response, 'peoplecount', url.searchParams);
    case '/v1/login':
      return data(request, response, 'login', url.searchParams);
    case '/connect/token':
      return void token(request, response);
    case '/bench/record':
      counter.record();
      break;
    case '/bench/stop-recording':
      counter.stopRecording();
      break;
    case '/bench/replay':
      return send(response, counter.recorded(Number(url.searchParams.get('number'))));
  }
  send(response, Buffer.from(JSON.stringify(counter.state)));
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();

function data(
  { headers }: IncomingMessage,
  response: ServerResponse,
  endpoint: Endpoint,
  query: URLSearchParams,
): void {
  const nowMs = Date.now();
  const customer = Number((headers.authorization ?? '').replace('Bearer token-', ''));
  const from = query.get('from') ?? '';
  const isByBranch = query.get('aggregation') === 'branch';
  const isFirst = counter.requested(customer, isByBranch ? 'branch' : endpoint, from, nowMs);
  const minute = Math.floor(nowMs / 60_000);
  const isForced = isFirst && !isByBranch && (customer + minute) % baselineEvery === 0;
  if (isForced) {
    query.set('aggregation', 'day');
  }
  const body = responses.body(customer % HISTORIES, endpoint, query, nowMs);
  counter.responded(body);
  sendLater(response, body);
}

/** The token names the customer, whose client id ends with its number. */
async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
  counter.tokens += 1;
  let form = '';
  for await (const chunk of request) {
    form += String(chunk);
  }
  const number = /\d+$/.exec(new URLSearchParams(form).get('client_id') ?? '')?.[0] ?? '0';
  const granted = { access_token: `token-${number}`, expires_in: 3_600, token_type: 'Bearer' };
  sendLater(response, Buffer.from(JSON.stringify({ ...granted, scope: 'ServiceAPI' })));
}

function sendLater(response: ServerResponse, body: Buffer): void {
  if (responseMs === 0) {
    send(response, body);
  } else {
    setTimeout(() => send(response, body), responseMs);
  }
}

function send(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
}
