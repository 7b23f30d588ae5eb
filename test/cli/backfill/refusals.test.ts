/** `backfill` over HTTP: what it refuses before anything is asked. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { lockFolder } from '../../../src/base/files.ts';
import { BackfillWorld } from './world.ts';

const RANGE = ['--from=2026-10-29T04:00', '--to=2026-11-03T12:00', '--step=5m'];

vi.setConfig({ testTimeout: 120_000 });

let world: BackfillWorld;

describe('one library', () => {
  beforeEach(async () => {
    world = await BackfillWorld.started();
  });
  afterEach(() => world.stop());

  test.each([
    ['--step', '--step=1m'],
    ['--job', '--job=other'],
    ['--label', '--label=a=b'],
  ])('refuses other flags over the same folder: %s', async (name, flag) => {
    await world.run(RANGE);
    world.questions();
    const { status, err, out } = await world.run([...RANGE.slice(0, 2), '--step=5m', flag]);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toContain(`has the files of another backfill (${name})`);
    expect(world.questions()).toBe(0);
  });

  test('refuses another configuration over the same folder', async () => {
    await world.run(RANGE);
    world.configure({ capacity: 80 });
    const { status, err } = await world.run(RANGE);
    expect(status).toBe(2);
    expect(err).toContain('another backfill (customers)');
  });

  test('refuses a label that the customers have already, as a sample has each but once', async () => {
    world.configure({ labels: { region: 'north' } });
    const { status, err } = await world.run([...RANGE, '--label=region=west']);
    expect(status).toBe(2);
    expect(err).toContain('error: --label=region=west: customers have a label of that name');
    expect(world.questions()).toBe(0);
  });

  test('refuses a folder with something else in it, and what it has not written', async () => {
    mkdirSync(world.output);
    writeFileSync(join(world.output, 'thesis.txt'), 'mine');
    const foreign = await world.run(RANGE);
    expect(foreign.status).toBe(2);
    expect(foreign.err).toContain('is not empty and not of a backfill');
    for (const manifest of [
      '{"format":7}',
      '{"format":1,"settings":null,"subjects":{},"months":{}}',
      'null',
      '',
    ]) {
      writeFileSync(join(world.output, 'backfill.json'), manifest);
      const unknown = await world.run(RANGE);
      expect(unknown.status).toBe(2);
      expect(unknown.err).toContain('is not what this version of backfill has written');
    }
    expect(world.questions()).toBe(0);
  });

  test('refuses a folder that another one writes to', async () => {
    mkdirSync(world.output);
    const lock = lockFolder(world.output);
    const { status, err } = await world.run(RANGE);
    lock.close();
    expect(status).toBe(2);
    expect(err).toContain('another backfill is writing to');
  });

  test.each([
    [['--from=soon'], 'It must be a time like'],
    [['--from=2026-11-03', '--to=2026-11-01'], '--from must be before --to'],
    [['--from=2026-11-03', '--to=2999-01-01'], '--to must not be in the future'],
    [['--from=2026-11-01', '--step=2m'], 'It must be 1m or 5m.'],
    [['--from=2026-11-01', '--customer=nobody'], 'there is no customer "nobody"'],
    [['--from=2026-11-01', '--customer=lone', '--customer=lone'], 'It was given twice.'],
    [['--from=2026-11-01', '--job='], 'It must not be empty.'],
    [['--from=2026-11-01', '--label=x'], 'It must be NAME=VALUE'],
    [['--from=2026-11-01', '--label=job=x'], 'There is a flag for it: --job=x.'],
    [['--from=2026-11-01', '--label=customer=x'], 'is a label of the exporter'],
    [['--from=2026-11-01', '--label=__x=y'], 'is a reserved label'],
    [['--from=2026-11-01', '--label=9=y'], 'is not a label name'],
    [['--from=2026-11-01', '--label=a=b', '--label=a=c'], 'was given twice'],
    [['--from=2026-11-01', '--prometheus.url=localhost'], 'It must be a URL'],
    [[], "required option '--from <time>' not specified"],
  ])('%j is refused before anything is asked or written', async (flags, sentence) => {
    const { status, out, err } = await world.run(flags);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toContain(sentence);
    expect(world.questions()).toBe(0);
    expect(() => world.files()).toThrow('ENOENT');
  });
});
