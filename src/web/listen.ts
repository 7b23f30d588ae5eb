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

/** The host and port of a URL for a bound socket, one that works on this machine. */
export function urlHostOf({ address, port }: { address: string; port: number }): string {
  if (address === '::' || address === '0.0.0.0') {
    return `localhost:${port}`;
  }
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Resolves with the real host and port. Throws an Error with a message for the user. */
export async function listen(app: FastifyInstance, listenAddress: string): Promise<string> {
  const { host, port } = parseListenAddress(listenAddress);
  try {
    if (host === undefined) {
      await listenEverywhere(app, port);
    } else {
      // By address: for the name `localhost` the framework would open a second server.
      await app.listen({ host: (await lookup(host)).address, port });
    }
  } catch (error) {
    const reason = REASONS[codeOf(error) ?? ''] ?? messageOf(error);
    throw new Error(`cannot listen on ${listenAddress}: ${reason}`, { cause: error });
  }
  const bound = app.server.address();
  if (bound === null || typeof bound === 'string') {
    throw new Error(`cannot listen on ${listenAddress}: the socket has no port`);
  }
  return urlHostOf(bound);
}

/** IPv6 and IPv4 at once, or IPv4 alone on a machine without IPv6. */
async function listenEverywhere(app: FastifyInstance, port: number): Promise<void> {
  try {
    await app.listen({ host: '::', port });
  } catch (error) {
    if (codeOf(error) !== 'EAFNOSUPPORT' && codeOf(error) !== 'EADDRNOTAVAIL') {
      throw error;
    }
    await app.listen({ host: '0.0.0.0', port });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; stop the other program, or set --web.listen-address',
  EADDRNOTAVAIL: 'this machine does not have that address; set --web.listen-address',
  EACCES: 'permission denied; ports below 1024 need a privilege, set --web.listen-address',
  ENOTFOUND: 'unknown host name; set --web.listen-address',
};
