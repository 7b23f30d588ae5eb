/** Which process polls which customer, where several share the work. */
import { createHash } from 'node:crypto';

const MULTIPLIER = 2_862_933_555_777_941_757n;

/**
 * The shard of a customer, from 0. It hangs on nothing but the name and the number of shards, so that
 * all processes agree without talking, and a new customer moves no other. Where shards are added,
 * customers move to the new ones only: from n to n + 1, one in n + 1 (Lamping and Veach, A Fast,
 * Minimal Memory, Consistent Hash Algorithm, 2014).
 */
export function shardOf(name: string, shards: number): number {
  let key = createHash('sha256').update(name).digest().readBigUInt64BE();
  let shard = 0;
  for (let next = 0; next < shards;) {
    shard = next;
    key = BigInt.asUintN(64, key * MULTIPLIER + 1n);
    next = Math.floor((shard + 1) * (2 ** 31 / (Number(key >> 33n) + 1)));
  }
  return shard;
}
