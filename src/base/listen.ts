/** Listen addresses as Prometheus's programs write them: `:10096`, `127.0.0.1:0`, `[::1]:9000`. */
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { UsageError } from './errors.ts';

export interface ListenAddress {
  /** A name, or an address without brackets; undefined for all addresses of this machine. */
  readonly host: string | undefined;
  /** 0 picks a free one. */
  readonly port: number;
}

const PATTERN = /^(?:\[(?<v6>[^\]]*)\]|(?<host>[^:[\]/\s]*)):(?<port>\d{1,5})$/;

/** Parses an address to listen on. Throws a UsageError if it is none. */
export function parseListenAddress(text: string): ListenAddress {
  const { v6, host, port } = PATTERN.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535 || (v6 !== undefined && !isIPv6(v6))) {
    throw new UsageError(
      `expected a listen address such as 127.0.0.1:10096, [::1]:10096 or :10096, got ${JSON.stringify(text)}`,
    );
  }
  return { host: v6 ?? (host === '' ? undefined : host), port: Number(port) };
}

/**
 * Listens. Returns the host and port of a URL that works on this machine; throws Node's error, as
 * EADDRINUSE.
 */
export async function listen(server: Server, { host, port }: ListenAddress): Promise<string> {
  server.listen({ host, port });
  await once(server, 'listening');
  const { address, family, port: bound } = server.address() as AddressInfo;
  const reachable = family === 'IPv6' ? `[${address}]` : address;
  return `${host === undefined ? 'localhost' : reachable}:${bound}`;
}
