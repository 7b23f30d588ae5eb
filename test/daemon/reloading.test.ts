import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createReloading } from '../../src/reloading.ts';
import type { ReloadResult } from '../../src/web/server.ts';

/** Readings that end when the test says so, and what was told of them. */
function rig() {
  const ended: (readonly [boolean, number])[] = [];
  const logged: unknown[] = [];
  const begun: string[] = [];
  let nowMs = 0;
  const reloading = createReloading({
    clock: { nowMs: () => (nowMs += 1_000) },
    log: { ...silentLogger, error: (...line) => void logged.push(line) },
    ended: (successful, atMs) => ended.push([successful, atMs]),
  });
  function good(name: string): () => Promise<ReloadResult> {
    return () => {
      begun.push(name);
      return Promise.resolve({ ok: true });
    };
  }
  function bad(name: string): () => Promise<ReloadResult> {
    return () => {
      begun.push(name);
      return Promise.reject(new ConfigError(`problems of ${name}`));
    };
  }
  return { reloading, ended, logged, begun, good, bad };
}

test('readings are one after the other, in the order in which they were asked for', async () => {
  const { reloading, begun, good } = rig();
  const held = Promise.withResolvers<ReloadResult>();
  const first = reloading.reload('all', () => {
    begun.push('first');
    return held.promise;
  });
  const second = reloading.reload('web', good('second'));
  await new Promise(setImmediate);
  expect(begun).toEqual(['first']);
  held.resolve({ ok: true });
  expect(await Promise.all([first, second])).toEqual([{ ok: true }, { ok: true }]);
  expect(begun).toEqual(['first', 'second']);
});

test('one reading is for all who asked before it began, and not for those after', async () => {
  const { reloading, begun, good } = rig();
  const held = Promise.withResolvers<ReloadResult>();
  const first = reloading.reload('all', () => {
    begun.push('first');
    return held.promise;
  });
  await new Promise(setImmediate);
  const others = [good('second'), good('third')].map((read) => reloading.reload('all', read));
  held.resolve({ ok: true });
  await Promise.all([first, ...others]);
  expect(begun).toEqual(['first', 'second']);
});

describe('a bad reading', () => {
  test('is told in words, and the next one comes all the same', async () => {
    const { reloading, ended, logged, good, bad } = rig();
    const problems = 'problems of all';
    expect(await reloading.reload('all', bad('all'))).toEqual({ ok: false, problems });
    expect(await reloading.reload('all', good('all'))).toEqual({ ok: true });
    expect(ended).toEqual([
      [false, 1_000],
      [true, 2_000],
    ]);
    expect(logged).toEqual([['the configuration is bad, the old one stays', { problems }]]);
  });

  test('of the whole is not made good by a good one of the web configuration', async () => {
    const { reloading, ended, good, bad } = rig();
    await reloading.reload('all', bad('all'));
    await reloading.reload('web', good('web'));
    await reloading.reload('web', bad('web'));
    await reloading.reload('web', good('web'));
    await reloading.reload('all', good('all'));
    expect(ended.map(([successful]) => successful)).toEqual([false, false, false, false, true]);
  });

  test('of the web configuration is made good by the next of either', async () => {
    for (const extent of ['web', 'all'] as const) {
      const { reloading, ended, good, bad } = rig();
      await reloading.reload('web', bad('web'));
      await reloading.reload(extent, good(extent));
      expect(ended.map(([successful]) => successful)).toEqual([false, true]);
    }
  });

  test('for a reason that is none of the configuration is an error, and blocks nobody', async () => {
    const { reloading, good } = rig();
    const failing = reloading.reload('all', () => Promise.reject(new Error('out of memory')));
    await expect(failing).rejects.toThrow('out of memory');
    expect(await reloading.reload('all', good('all'))).toEqual({ ok: true });
  });
});
