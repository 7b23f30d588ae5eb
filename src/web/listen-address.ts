/** The address to listen on as Prometheus's programs write it: `:10096`, `127.0.0.1:0`, `[::1]:9000`. */
import { isIPv6 } from 'node:net';
import { UsageError } from '../base/errors.ts';

export interface ListenAddress {
  /** A name or an address without brackets; undefined for every address of this machine. */
  readonly host: string | undefined;
  /** 0 picks a free one. */
  readonly port: number;
}

const PATTERN = /^(?:\[(?<v6>[^\]]*)\]|(?<host>[^:[\]/\s]*)):(?<port>\d{1,5})$/;

/** Throws a UsageError that says what would be right. */
export function parseListenAddress(text: string): ListenAddress {
  const { v6, host, port } = PATTERN.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535 || (v6 !== undefined && !isIPv6(v6))) {
    throw new UsageError(
      `${JSON.stringify(text)} is not an address to listen on: write HOST:PORT, as in 127.0.0.1:10096 ` +
        'or [::1]:10096, or :10096 for every address of this machine; ports go from 0 to 65535, 0 picks a free one',
    );
  }
  return { host: v6 ?? (host === '' ? undefined : host), port: Number(port) };
}

/** The address that a browser on this machine can open. `bound` is what the socket says of itself. */
export function urlOf(
  scheme: 'http' | 'https',
  bound: { readonly address: string; readonly port: number },
): string {
  if (bound.address === '::' || bound.address === '0.0.0.0') {
    return `${scheme}://localhost:${bound.port}`;
  }
  const host = isIPv6(bound.address) ? `[${bound.address}]` : bound.address;
  return `${scheme}://${host}:${bound.port}`;
}
