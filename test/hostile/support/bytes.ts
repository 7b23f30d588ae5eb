/** Answers of HTTP as bytes, good and bad, and what a hostile service does with a socket. */
import type { Exchange, Misbehaviour } from './hostile-service.ts';

/** Is in everything that a hostile service sends, and in nothing that the exporter shows. */
export const MARKER = 'Kropsdel';

export interface ResponseParts {
  readonly reason?: string;
  /** An undefined one is left out, though it would be there by default. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array;
}

/** A whole answer; content type and length are right unless `headers` says otherwise. */
export function response(status: number | string, parts: ResponseParts = {}): Buffer {
  const body = Buffer.from(parts.body ?? '');
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(body.length),
    ...parts.headers,
  };
  const lines = Object.entries(headers)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${parts.reason ?? 'Fine'}\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

/** Sends an answer that throws every secret of the request back, in each place where one fits. */
export function reply(
  status: number | string,
  parts: Omit<ResponseParts, 'reason' | 'body'> & {
    readonly body?: string | Uint8Array | ((exchange: Exchange) => string | Uint8Array);
  } = {},
): Misbehaviour {
  return (exchange) => {
    const { socket, echo } = exchange;
    const { body = JSON.stringify({ error: echo, [echo]: MARKER }) } = parts;
    const answer = response(status, {
      reason: `${MARKER} ${echo}`,
      headers: { 'x-echo': echo, 'www-authenticate': `Bearer ${echo}`, ...parts.headers },
      body: typeof body === 'function' ? body(exchange) : body,
    });
    socket.write(answer);
  };
}

/** Status 200, a good head, and this in place of a good body. */
export function body(
  content: string | Uint8Array | ((good: string) => string | Uint8Array),
): Misbehaviour {
  return reply(200, {
    body: ({ good }) => (typeof content === 'function' ? content(good) : content),
  });
}

/** Status 200 and the good body with one change; what is to be changed must be there. */
export function replaced(pattern: RegExp, by: string): Misbehaviour {
  return body((good) => {
    const changed = good.replace(pattern, by);
    if (changed === good && good.includes('"result":[{')) {
      throw new Error(`there is no ${pattern} in ${good}`);
    }
    return changed;
  });
}

/** Exactly these bytes, and the connection stays open. */
export function bytes(content: string | Uint8Array): Misbehaviour {
  return ({ socket }) => void socket.write(content);
}

/** These bytes, and then the end of the connection. */
export function bytesAndEnd(content: string | Uint8Array): Misbehaviour {
  return ({ socket }) => void socket.end(content);
}

/** These bytes, and then a reset. */
export function bytesAndReset(content: string): Misbehaviour {
  return ({ socket }) => {
    if (content === '') {
      socket.resetAndDestroy();
    } else {
      socket.write(content, () => socket.resetAndDestroy());
    }
  };
}

/** Writes chunk after chunk, as fast as they are taken, until there are no more or nobody listens. */
export function stream(
  chunks: (exchange: Exchange) => Iterable<string | Uint8Array>,
): Misbehaviour {
  return (exchange) => {
    const { socket } = exchange;
    const iterator = chunks(exchange)[Symbol.iterator]();
    function more(): void {
      while (!socket.destroyed) {
        const next = iterator.next();
        if (next.done === true || !socket.write(next.value)) {
          return;
        }
      }
    }
    socket.on('drain', more);
    more();
  };
}

/** Writes a piece, again and again, ever so slowly. */
export function drip(first: string, piece: string, everyMs: number): Misbehaviour {
  return ({ socket }) => {
    socket.write(first);
    const timer = setInterval(() => socket.write(piece), everyMs);
    socket.on('close', () => clearInterval(timer));
  };
}
