/** The flag `--shard`: which part of the customers this process polls. */
import { InvalidArgumentError } from 'commander';
import type { Shard } from '../daemon.ts';

/** `0/4`, or `auto/4` for the number at the end of the host name. Counted from 0. */
export function parseShard(text: string, hostname: string): Shard {
  const match = /^(\d+|auto)\/(\d+)$/.exec(text);
  if (match === null) {
    throw new InvalidArgumentError('It must be like 0/4, or auto/4.');
  }
  const number = match[1] === 'auto' ? numberAtEnd(hostname) : Number(match[1]);
  const shards = Number(match[2]);
  if (shards < 1 || number >= shards) {
    throw new InvalidArgumentError(
      `There is no shard ${number} of ${shards}: they are counted from 0.`,
    );
  }
  return { shard: number, shards };
}

function numberAtEnd(hostname: string): number {
  const match = /-(\d+)$/.exec(hostname.split('.')[0] ?? '');
  if (match === null) {
    throw new InvalidArgumentError(
      `auto needs a host name that ends in a number, such as exporter-0, and this is ${hostname}.`,
    );
  }
  return Number(match[1]);
}
