/** Requests and responses of the simulated service, without sockets. */
import { STATUS_CODES } from 'node:http';
import type { ErrorBody } from './conventions.ts';

export interface SimulatedRequest {
  readonly method: string;
  /** Without the query. */
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

export function jsonResponse(status: number, body: string, dateMs: number): SimulatedResponse {
  return { status, headers: headers('application/json; charset=utf-8', dateMs), body };
}

export function errorResponse(
  status: number,
  message: string,
  form: ErrorBody,
  dateMs: number,
  retryAfter?: string,
): SimulatedResponse {
  const [type, body] = errorBody(status, message, form);
  const extra = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  return { status, headers: { ...headers(type, dateMs), ...extra }, body };
}

/** `name` is in lower case. */
export function withHeader(
  response: SimulatedResponse,
  name: string,
  value: string,
): SimulatedResponse {
  return { ...response, headers: { ...response.headers, [name]: value } };
}

/** A page that a proxy or a firewall sends instead of the answer. */
export function htmlPage(message: string): string {
  return `<!DOCTYPE html><html><head><title>${message}</title></head><body><h1>${message}</h1></body></html>`;
}

function errorBody(
  status: number,
  message: string,
  form: ErrorBody,
): readonly [type: string, body: string] {
  switch (form) {
    case 'error':
      return ['application/json; charset=utf-8', JSON.stringify({ error: message })];
    case 'message':
      return ['application/json; charset=utf-8', JSON.stringify({ message })];
    case 'problem':
      return [
        'application/problem+json',
        JSON.stringify({ title: STATUS_CODES[status] ?? 'Error', status, detail: message }),
      ];
    case 'text':
      return ['text/plain; charset=utf-8', message];
    case 'html':
      return ['text/html; charset=utf-8', htmlPage(message)];
    case 'empty':
      return ['text/plain; charset=utf-8', ''];
  }
}

function headers(type: string, dateMs: number): Record<string, string> {
  return { 'content-type': type, date: new Date(dateMs).toUTCString() };
}
