/**
 * What a client is told when something goes wrong: a line of plain text, and nothing of what is
 * inside. The log gets the rest.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../base/log.ts';

/** One line of plain text with a status. */
export function answerWith(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type('text/plain; charset=utf-8').send(`${text}\n`);
}

/** For errors of handlers, and of the framework before there is a handler. */
export function createErrorHandler(log: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const status = statusOf(error);
    if (status >= 500) {
      log.error('request failed', {
        method: request.method,
        path: request.routeOptions.url,
        error: error instanceof Error ? error.message : 'not an Error',
      });
    }
    void answerWith(reply, status, reasonPhrase(status));
  };
}

/** For what is not HTTP, or not in time: there is a socket, and nobody to answer on it but us. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = CLIENT_ERRORS[error.code ?? ''] ?? 400;
  const body = `${reasonPhrase(status)}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${reasonPhrase(status)}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** The framework's own errors say what the client did wrong; of all others it is our fault. */
function statusOf(error: unknown): number {
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') {
    return error.statusCode >= 400 && error.statusCode < 500 ? error.statusCode : 500;
  }
  return 500;
}

function reasonPhrase(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}
