/** What the fake service does instead of answering as it ought to. */
import type { ServerResponse } from 'node:http';

/** What the data endpoints may do instead of answering; a number is a bare status. */
export type Fault =
  | number
  | 'busy, retry after a second'
  | 'html'
  | 'truncated'
  | 'one bad row'
  | 'empty'
  | 'reset'
  | 'hang';

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers as the fault says; `body` is what a well service would have answered. */
export function misbehave(fault: Fault, body: object, response: ServerResponse): void {
  const text = JSON.stringify(body);
  const json = { 'content-type': 'application/json' };
  switch (fault) {
    case 'busy, retry after a second':
      response.writeHead(503, { ...json, 'retry-after': '1' }).end('{}');
      return;
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Signed out</html>');
      return;
    case 'truncated':
      response.writeHead(200, json).end(text.slice(0, -5));
      return;
    case 'one bad row':
      response.writeHead(200, json).end(text.replace(/("in"|"value"):\d+/, '$1:"many"'));
      return;
    case 'empty':
      response.writeHead(200, json).end(text.replace(/"result":.*$/, '"result":[]}'));
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'hang':
      return;
    default:
      response.writeHead(fault, json).end('{"error":"as asked for"}');
  }
}
