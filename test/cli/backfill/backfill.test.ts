/** `backfill` over HTTP: what it writes, and what it goes on with. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Calendar } from '../../../src/counting/calendar.ts';
import { Zone } from '../../../src/counting/zone.ts';
import { Terminal } from '../terminal.ts';
import { BackfillWorld, NOW_MS, readMonth, seriesOf } from './world.ts';

const CALENDAR = new Calendar(new Zone('Europe/Copenhagen'), { hour: 4, minute: 0 });
const OCTOBER = CALENDAR.periodAt(Date.UTC(2026, 9, 15));
const NOVEMBER = CALENDAR.periodAt(Date.UTC(2026, 10, 3));
const ENTERED = 'library_people_entered_total';
const RANGE = ['--from=2026-10-29T04:00', '--to=2026-11-03T12:00', '--step=5m'];

vi.setConfig({ testTimeout: 120_000 });

let world: BackfillWorld;

describe('one library', () => {
  beforeEach(async () => {
    world = await BackfillWorld.started();
  });
  afterEach(() => world.stop());

  test('is written month by month, with the totals of the service', async () => {
    const { status, out } = await world.run(RANGE);
    expect(status).toBe(0);
    expect(world.files()).toEqual(['2026-10.om', '2026-11.om', 'backfill.json', 'lock']);
    const october = seriesOf(world.month('2026-10'), ENTERED);
    const truth =
      world.service.served('lone', OCTOBER.startMs).entered -
      world.service.served('lone', NOVEMBER.startMs).entered;
    expect(october.at(-1)).toEqual({ atMs: NOVEMBER.startMs - 1_000, value: truth });
    expect(october[0]?.atMs).toBe(Date.UTC(2026, 9, 29, 3));
    const november = seriesOf(world.month('2026-11'), ENTERED);
    expect(november[0]).toEqual({ atMs: NOVEMBER.startMs, value: 0 });
    expect(november.at(-1)?.atMs).toBe(Date.UTC(2026, 10, 3, 11) - 1_000);
    expect(out).toMatch(new RegExp(`^lone +2026-10 +${truth} +\\d+ +\\d+ +agrees +\\d+$`, 'm'));
  });

  test('has samples so close that none is ever older than five minutes', async () => {
    await world.run(RANGE);
    for (const month of ['2026-10', '2026-11']) {
      for (const [id, samples] of readMonth(world.month(month))) {
        const gaps = samples.map(({ atMs }, i) => atMs - (samples[i - 1]?.atMs ?? atMs));
        // Who was last seen is not known of a library where nobody was for two days.
        const most = id.includes('last_seen') ? Infinity : 300_000;
        expect(Math.max(...gaps)).toBeLessThanOrEqual(most);
      }
    }
  });

  test('says in the end how many samples there are', async () => {
    const { out } = await world.run(RANGE);
    const lines = ['2026-10', '2026-11'].flatMap((month) => world.month(month).split('\n'));
    const samples = lines.filter((line) => line !== '' && !line.startsWith('#')).length;
    expect(out).toContain(`${samples} samples in 2 files in ${world.output}`);
  });

  test('has the labels of a scrape', async () => {
    await world.run([...RANGE, '--job=visits', '--instance=here:1', '--label=site=a"b']);
    expect(world.month('2026-11')).toContain(
      `${ENTERED}{customer="lone",instance="here:1",job="visits",site="a\\"b"} `,
    );
  });

  test('tells nothing that only a running exporter knows', async () => {
    await world.run(RANGE);
    expect(world.month('2026-11')).not.toMatch(/library_(up|polls|poll_|credentials|held)/);
  });

  test('is not asked for again', async () => {
    const first = await world.run(RANGE);
    expect(world.questions()).toBeGreaterThan(8);
    const before = world.month('2026-11');
    const second = await world.run(RANGE);
    expect(world.questions()).toBe(0);
    expect(second.out).toBe(first.out);
    expect(world.month('2026-11')).toBe(before);
  });

  test('is asked again for a month whose file is not whole any more', async () => {
    await world.run(RANGE);
    const before = world.month('2026-10');
    writeFileSync(join(world.output, '2026-10.om'), before.slice(0, 1_000));
    world.questions();
    expect((await world.run(RANGE)).status).toBe(0);
    expect(world.questions()).toBeGreaterThan(3);
    expect(world.month('2026-10')).toBe(before);
  });

  test('goes on where it was stopped', async () => {
    const whole = await world.run(RANGE);
    const files = ['2026-10', '2026-11'].map((month) => world.month(month));
    await world.stop();
    world = await BackfillWorld.started();
    const terminal = new Terminal();
    world.asked = ({ path, from }) => {
      if (path === '/v1/login' && from.startsWith('2026-11-01')) {
        terminal.terminate();
      }
    };
    const stopped = await world.run(RANGE, terminal);
    expect(stopped.status).toBe(0);
    expect(stopped.out).toContain('run it again with the same flags');
    expect(world.files()).toContain('2026-10.om');
    expect(world.files()).not.toContain('2026-11.om');
    world.asked = () => {};
    world.requests.length = 0;
    const second = await world.run(RANGE);
    expect(second.status).toBe(0);
    const months = world.requests.map(({ to }) => to.slice(0, 7));
    expect(months).not.toContain('2026-10');
    expect(['2026-10', '2026-11'].map((month) => world.month(month))).toEqual(files);
    expect(second.out.split('\n')[1]).toBe(whole.out.split('\n')[1]);
    expect(world.files()).toEqual(['2026-10.om', '2026-11.om', 'backfill.json', 'lock']);
  });

  test('is asked again for the month that was not over', async () => {
    const agoSeconds = Math.round((Date.now() - NOW_MS) / 1_000);
    const open = ['--from=2026-10-29', `--to=-${agoSeconds}s`, '--step=5m'];
    await world.run(open);
    const ends = seriesOf(world.month('2026-11'), 'library_counter_start_timestamp_seconds').length;
    world.requests.length = 0;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await world.run(open);
    const asked = world.requests.map(({ from }) => from.slice(0, 10));
    expect(asked).toContain('2026-11-01');
    expect(asked).not.toContain('2026-10-01');
    expect(ends).toBeGreaterThan(0);
  });

  test('keeps secrets out of everything', async () => {
    const { out, err } = await world.run([...RANGE, '--log.level=debug']);
    const manifest = readFileSync(join(world.output, 'backfill.json'), 'utf8');
    expect(`${out}${err}${manifest}${world.month('2026-11')}`).not.toContain('quartz');
  });
});

describe('several libraries', () => {
  afterEach(() => world.stop());

  test('are one file a month, family by family, each with epochs of its own', async () => {
    world = await BackfillWorld.started({
      libraries: { north: {}, south: { timezone: 'Pacific/Auckland' } },
      config: { breakdowns: ['branch', 'device'], labels: { region: 'x' }, capacity: 9 },
    });
    expect((await world.run(RANGE)).status).toBe(0);
    const auckland = new Calendar(new Zone('Pacific/Auckland'), { hour: 4, minute: 0 });
    const text = world.month('2026-11');
    expect(seriesOf(text, ENTERED, 'north')[0]?.atMs).toBe(NOVEMBER.startMs);
    expect(seriesOf(text, ENTERED, 'south')[0]?.atMs).toBe(
      auckland.periodAt(Date.UTC(2026, 10, 3)).startMs,
    );
    const branches = [...readMonth(text)].filter(([id]) =>
      id.startsWith('library_branch_people_entered_total{customer="south"'),
    );
    const sum = branches.reduce((total, [, samples]) => total + (samples.at(-1)?.value ?? NaN), 0);
    const { startMs } = auckland.dayAt(Date.parse('2026-11-03T11:59:00+13:00'));
    const atDayStart = seriesOf(text, ENTERED, 'south').findLast(({ atMs }) => atMs <= startMs);
    expect(sum).toBe(atDayStart?.value);
  });

  test('that cannot be read are named, and the others are not asked for again', async () => {
    world = await BackfillWorld.started({ libraries: { good: {}, bad: {} } });
    world.service.revoke('bad');
    const failed = await world.run(RANGE);
    expect(failed.status).toBe(1);
    expect(failed.err).toContain('2026-10 could not be written for a customer:\n  bad: auth: ');
    expect(world.files()).not.toContain('2026-10.om');
    world.service.restore('bad');
    world.requests.length = 0;
    const second = await world.run(RANGE);
    expect(second.status).toBe(0);
    expect([...readMonth(world.month('2026-10')).keys()].length).toBeGreaterThan(20);
  });

  test('have no history of what was never counted', async () => {
    world = await BackfillWorld.started({ libraries: { lone: { loginShare: 0 } }, historyDays: 5 });
    await world.run(RANGE);
    expect(seriesOf(world.month('2026-11'), ENTERED).length).toBeGreaterThan(100);
    expect(seriesOf(world.month('2026-11'), 'library_logins_total')).toEqual([]);
    // The service has nothing of that month at all.
    expect(world.month('2026-10')).toBe('# EOF\n');
  });

  test('where day lags behind have their minutes, and the difference is told', async () => {
    world = await BackfillWorld.started({ conventions: { dayFreshness: 'nightly' } });
    const { out } = await world.run(['--from=2026-11-05', '--to=2026-11-06T15:00', '--step=5m']);
    const samples = seriesOf(world.month('2026-11'), ENTERED);
    const truth = world.service.served('lone', NOVEMBER.startMs).entered;
    const after = world.service.served('lone', Date.UTC(2026, 10, 6, 14)).entered;
    expect(samples.at(-1)?.value).toBe(truth - after);
    expect(out).toMatch(/^lone .* -\d+,-\d+,-\d+ /m);
    expect(out).toContain('Where day is not "agrees"');
  });
});
