/** Listen addresses as Prometheus's programs write them: `:10096`, `127.0.0.1:0`, `[::1]:9000`. */
import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { UsageError, codeOf, messageOf } from '../base/errors.ts';

export interface ListenAddress {
  /** A name, or an address without brackets; undefined for all addresses of this machine. */
  readonly host: string | undefined;
  /** 0 picks a free one. */
  readonly port: number;
}

const PATTERN = /^(?:\[(?<v6>[^\]]*)\]|(?<host>[^:[\]/\s]*)):(?<port>\d{1,5})$/;

/** Throws a UsageError. */
export function parseListenAddress(text: string): ListenAddress {
  const { v6, host, port } = PATTERN.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535 || (v6 !== undefined && !isIPv6(v6))) {
    throw new UsageError(
      `expected a listen address such as 127.0.0.1:10096, [::1]:10096 or :10096, got ${JSON.stringify(text)}`,
    );
  }
  return { host: v6 ?? (host === '' ? undefined : host), port: Number(port) };
}

/** Resolves with a URL that works on this machine. Throws an Error with a message for the user. */
export async function listen(app: FastifyInstance, listenAddress: string): Promise<string> {
  const { host, port } = parseListenAddress(listenAddress);
  try {
    if (host !== undefined) {
      // By address: for the name `localhost` the framework would open a second server.
      return await app.listen({ host: (await lookup(host)).address, port });
    }
    try {
      // IPv6 and IPv4 at once.
      return (await app.listen({ host: '::', port })).replace('[::]', 'localhost');
    } catch (error) {
      if (codeOf(error) !== 'EAFNOSUPPORT' && codeOf(error) !== 'EADDRNOTAVAIL') {
        throw error;
      }
      return await app.listen({ host: '0.0.0.0', port });
    }
  } catch (error) {
    const message = `cannot listen on ${listenAddress}: ${messageOf(error)}`;
    throw new Error(`${message}; set --web.listen-address`, { cause: error });
  }
}
