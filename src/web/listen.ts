/** Binding to the address that was asked for, and saying in words why that did not work. */
import { lookup } from 'node:dns/promises';
import type { FastifyInstance } from 'fastify';
import { codeOf, messageOf } from '../base/errors.ts';
import { parseListenAddress } from './listen-address.ts';

export interface Bound {
  readonly address: string;
  readonly port: number;
}

/** Resolves once connections are taken. Throws an Error that is fit to be shown. */
export async function listen(app: FastifyInstance, listenAddress: string): Promise<Bound> {
  const { host, port } = parseListenAddress(listenAddress);
  try {
    await (host === undefined ? listenEverywhere(app, port) : listenOn(app, host, port));
  } catch (error) {
    throw new Error(`cannot listen on ${listenAddress}: ${reasonOf(error)}`, { cause: error });
  }
  const bound = app.server.address();
  if (bound === null || typeof bound === 'string') {
    throw new Error(`cannot listen on ${listenAddress}: it has no address and port`);
  }
  return bound;
}

/** By the address, for the framework would open a second server for the name `localhost`. */
async function listenOn(app: FastifyInstance, host: string, port: number): Promise<void> {
  const { address } = await lookup(host);
  await app.listen({ host: address, port });
}

/** Both families of addresses at once, or only the old one on a machine without the new one. */
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
  EADDRINUSE: 'another program listens there; stop it, or choose another port',
  EADDRNOTAVAIL:
    'this machine does not have that address; give one of its own, or :PORT for all of them',
  EACCES:
    'not permitted; choose a port from 1024 on, or give the process the privilege for lower ones',
  ENOTFOUND: 'no such host name; give an address of this machine, or :PORT for all of them',
};

function reasonOf(error: unknown): string {
  return REASONS[codeOf(error) ?? ''] ?? messageOf(error);
}
