/** Requests and responses without sockets. */
import { STATUS_CODES } from 'node:http';
import { SECOND_MS } from '../base/duration.ts';
import type { ErrorBody } from './conventions.ts';

export interface SimulatedRequest {
  readonly method: string;
  /** Path of the URL, without the query. */
  readonly path: string;
  readonly query?: URLSearchParams | Readonly<Record<string, string>>;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

export interface SimulatedResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
export const HTML_TYPE = 'text/html; charset=utf-8';

/** Returns a response with a JSON body. `dateMs` is the service's now. */
export function jsonResponse(status: number, body: string, dateMs: number): SimulatedResponse {
  return { status, headers: headers(JSON_TYPE, dateMs), body };
}

/** Returns an error in one of the forms a service may use. `more` are headers, with names in lower case. */
export function errorResponse(
  status: number,
  message: string,
  form: ErrorBody,
  dateMs: number,
  more: Readonly<Record<string, string>> = {},
): SimulatedResponse {
  const title = STATUS_CODES[status] ?? 'Error';
  const [type, body] = {
    error: [JSON_TYPE, JSON.stringify({ error: message })],
    message: [JSON_TYPE, JSON.stringify({ message })],
    problem: ['application/problem+json', JSON.stringify({ title, status, detail: message })],
    text: [TEXT_TYPE, message],
    html: [HTML_TYPE, htmlPage(message)],
    empty: [TEXT_TYPE, ''],
  }[form] as [string, string];
  return { status, headers: { ...headers(type, dateMs), ...more }, body };
}

/** Returns the header Retry-After, or no header. `dateMs` is the service's now. */
export function retryAfterHeader(
  form: 'seconds' | 'date' | 'none',
  seconds: number,
  dateMs: number,
): Record<string, string> {
  const date = new Date(dateMs + seconds * SECOND_MS).toUTCString();
  return form === 'none' ? {} : { 'retry-after': form === 'date' ? date : String(seconds) };
}

/** Returns a page that a proxy or a firewall sends in place of the response. */
export function htmlPage(message: string): string {
  return `<!DOCTYPE html><html><head><title>${message}</title></head><body><h1>${message}</h1></body></html>`;
}

function headers(type: string, dateMs: number): Record<string, string> {
  return { 'content-type': type, date: new Date(dateMs).toUTCString() };
}
