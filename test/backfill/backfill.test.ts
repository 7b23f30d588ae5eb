/** `backfill` over HTTP: the files, interruption and continuation, rejected flags. */
import { execFile } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { SECRET } from '../cli/simulated-environment.ts';
import { Terminal } from '../cli/terminal.ts';
import { NOVEMBER, OCTOBER } from '../support/owner.ts';
import { readMonth, seriesOf, startBackfill } from './fixture.ts';

const ENTERED = 'library_people_entered_total';
const RANGE = ['--from=2026-10-29T04:00', '--to=2026-11-03T12:00'];

test('writes the totals of the service month by month, and prints them and the next command', async () => {
  await using fixture = await startBackfill();
  const umask = process.umask(0o000);
  onTestFinished(() => void process.umask(umask));
  const flags = ['--job=visits', '--instance=a"b:1', '--log.level=debug'];
  const { status, out, err } = await fixture.run([...RANGE, ...flags]);
  expect(status).toBe(0);
  const names = ['2026-10.om', '2026-11.om'];
  expect(fixture.files()).toEqual(names);
  const modes = ['.', ...names].map((name) => statSync(join(fixture.output, name)).mode & 0o777);
  expect(modes).toEqual([0o750, 0o640, 0o640]);
  const october = seriesOf(fixture.month('2026-10'), ENTERED);
  const total = fixture.entered(OCTOBER.startMs, NOVEMBER.startMs);
  expect(october[0]?.atMs).toBe(Date.UTC(2026, 9, 29, 3));
  expect(october.at(-1)).toEqual({ atMs: NOVEMBER.startMs - 1_000, value: total });
  const november = seriesOf(fixture.month('2026-11'), ENTERED);
  expect(november[0]).toEqual({ atMs: NOVEMBER.startMs, value: 0 });
  expect(november.at(-1)?.atMs).toBe(Date.UTC(2026, 10, 3, 11) - 1_000);
  expect(out).toMatch(new RegExp(`^2026-10 +lone +${total} +\\d+ +\\d+ +agrees$`, 'm'));
  expect(out).toContain(
    `for month in '${fixture.output}'/*.om; do promtool tsdb create-blocks-from`,
  );
  const text = fixture.month('2026-11');
  const labels = 'customer="lone",instance="a\\"b:1",job="visits"';
  expect(text).toContain(`${ENTERED}{${labels}} `);
  expect(`${out}${err}${text}`).not.toContain(SECRET);
  // Only what is known of the past.
  expect(text).not.toMatch(
    /library_(up|polls|poll_|credentials|count_excess|counts_trusted|problem)/,
  );
});

test('has the estimate, learned from the month before, and none with estimate: false', async () => {
  await using fixture = await startBackfill();
  const flags = ['--from=2026-11-03T04:00', '--to=2026-11-03T20:00'];
  await fixture.run(flags);
  const text = fixture.month('2026-11');
  const [ratio] = seriesOf(text, 'library_door_count_ratio');
  expect(ratio?.value).toBeCloseTo(1, 1);
  for (const name of ['occupancy_estimate_lower_people', 'people_entered_usual_hour']) {
    expect(seriesOf(text, `library_${name}`)).toHaveLength(193);
  }
  fixture.config({ customer: { estimate: false } });
  await fixture.run([...flags, `--output=${fixture.workspace.folder}/raw`]);
  const raw = fixture.month('2026-11', `${fixture.workspace.folder}/raw`);
  expect(raw).toContain('library_people_entered_usual_hour{');
  expect(raw).not.toMatch(/library_(occupancy_estim|door)/);
});

test('has the gauges of branches by quarter-hour, and their counters by day', async () => {
  const branches = [
    { id: 101, name: 'Main Library' },
    { id: 102, name: 'North', weight: 0.5 },
  ];
  await using fixture = await startBackfill({ lone: { library: { branches, visitsPerDay: 300 } } });
  const north = { name: 'North', capacity: 30 };
  fixture.config({ customer: { breakdowns: ['branch'], branches: { 102: north } } });
  const flags = ['--from=2026-11-03T04:00', '--to=2026-11-03T20:00'];
  expect((await fixture.run(flags)).status).toBe(0);
  const text = fixture.month('2026-11');
  const dayMs = Date.UTC(2026, 10, 3, 3);
  const noonMs = Date.UTC(2026, 10, 3, 11);
  const [sinceMonth, sinceDay, sinceNoon] = [NOVEMBER.startMs, dayMs, noonMs].map((ms) =>
    fixture.service.breakdownTotals('lone', 'branch', ms),
  );
  const series = readMonth(text);
  for (const { id } of branches) {
    const labels = `{customer="lone",branch="${id}",`;
    function at(metric: string, atMs: number): number {
      const [, samples = []] = [...series].find(([name]) => name.startsWith(metric + labels)) ?? [];
      return samples.find((sample) => sample.atMs === atMs)?.value ?? NaN;
    }
    const [month = NaN, day = NaN, noon = NaN] = [sinceMonth, sinceDay, sinceNoon].map(
      (totals) => totals?.get(id)?.entered,
    );
    expect(day - noon).toBeGreaterThan(5);
    // Until the next window is over.
    expect(at('library_people_entered_today', noonMs)).toBe(day - noon);
    expect(at('library_people_entered_today', noonMs + 10 * 60_000)).toBe(day - noon);
    expect(at('library_occupancy_estimate_people', noonMs)).toBeGreaterThan(0);
    expect(at('library_branch_people_entered_total', noonMs)).toBe(month - day);
  }
  expect(text).not.toContain('library_occupancy_people{customer="lone",instance');
  expect(text).toContain('library_capacity_people{customer="lone",branch="102"');
  // The branches have all counts at the end, so that the first live sample is no jump.
  const ofBranches = [...series]
    .filter(([id]) => id.startsWith('library_branch_people_entered_total{'))
    .map(([, samples]) => samples.at(-1)?.value ?? NaN);
  const total = fixture.entered(NOVEMBER.startMs, Date.UTC(2026, 10, 3, 19));
  expect(ofBranches.reduce((sum, value) => sum + value, 0)).toBe(total);
});

test('stopped by SIGTERM, it keeps finished months and continues after them', async () => {
  await using fixture = await startBackfill();
  await fixture.run([...RANGE, `--output=${fixture.workspace.folder}/whole`]);
  const terminal = new Terminal();
  fixture.onRequest = (request) => {
    if (request.startsWith('/v1/login 2026-11-01')) {
      terminal.terminate();
    }
  };
  const stopped = await fixture.run(RANGE, terminal);
  expect(stopped).toMatchObject({ status: 143, out: '' });
  expect(stopped.err).toContain('stopped; run the same command again to continue');
  expect(fixture.files()).toEqual(['2026-10.om']);
  fixture.onRequest = () => {};
  expect((await fixture.run(RANGE)).status).toBe(0);
  expect(fixture.requests.join()).not.toContain(' 2026-10-01');
  for (const month of ['2026-10', '2026-11']) {
    expect(fixture.month(month)).toBe(fixture.month(month, `${fixture.workspace.folder}/whole`));
  }
});

test('names the customers that failed; once they are repaired, all are in one file, each with its own period', async () => {
  const south = { library: { timezone: 'Pacific/Auckland' } };
  await using fixture = await startBackfill({ north: {}, south });
  fixture.service.revoke('south');
  const failed = await fixture.run(RANGE);
  expect(failed.status).toBe(1);
  expect(failed.err).toContain('2026-10 failed for 1 customer:\n  south: auth: ');
  expect(fixture.files()).toEqual([]);
  fixture.service.restore('south');
  expect((await fixture.run(RANGE)).status).toBe(0);
  const auckland = new Calendar(new Zone('Pacific/Auckland'), { hour: 4, minute: 0 });
  const text = fixture.month('2026-11');
  expect(seriesOf(text, ENTERED, 'north')[0]?.atMs).toBe(NOVEMBER.startMs);
  const { startMs } = auckland.periodAt(Date.UTC(2026, 10, 3));
  expect(seriesOf(text, ENTERED, 'south')[0]?.atMs).toBe(startMs);
});

test('uses the minutes if day lags, without a file for a month and a series of a stream without data', async () => {
  const lone = { conventions: { dayFreshness: 'nightly' }, library: { loginShare: 0 } } as const;
  await using fixture = await startBackfill({ lone }, 5);
  const { out } = await fixture.run(['--from=2026-10-29T04:00', '--to=2026-11-06T15:00']);
  expect(out).toMatch(/^2026-11 +lone .* -\d+,-\d+/m);
  expect(fixture.files()).toEqual(['2026-11.om']);
  const text = fixture.month('2026-11');
  const total = fixture.entered(NOVEMBER.startMs, Date.UTC(2026, 10, 6, 14));
  expect(seriesOf(text, ENTERED).at(-1)?.value).toBe(total);
  expect(seriesOf(text, 'library_logins_total')).toEqual([]);
});

test('a full disk is an error, not the end of a file', async () => {
  await using fixture = await startBackfill();
  const program = join(import.meta.dirname, 'testdata/backfill-on-full-disk.ts');
  const limited = ['-c', 'ulimit -f 200; exec "$0" "$@"', process.execPath, program];
  const flags = [fixture.configFlag, `--output=${fixture.output}`, ...RANGE];
  const { stdout } = await promisify(execFile)('/bin/sh', [...limited, ...flags]);
  expect(stdout).toContain('"status":1');
  expect(stdout).toContain('EFBIG');
  expect(fixture.files()).toEqual([]);
});

test('rejects a --to in the future or before --from and an --output that is a file, and does not touch what another backfill writes', async () => {
  await using fixture = await startBackfill();
  const file = join(fixture.workspace.folder, 'file');
  writeFileSync(file, 'mine');
  for (const [flags, message] of [
    [['--from=2026-11-03', '--to=2999-01-01'], '--to must not be in the future'],
    [['--from=2026-11-03', '--to=2026-11-01'], '--to: expected a time after --from'],
    [[...RANGE, `--output=${file}`], `--output: expected a folder, ${file} is a file`],
  ] as const) {
    const rejected = await fixture.run(flags);
    expect(rejected).toMatchObject({ status: 2, out: '' });
    expect(rejected.err).toContain(message);
    expect(() => fixture.files()).toThrow('ENOENT');
  }
  mkdirSync(join(fixture.output, '2026-10.unfinished'), { recursive: true });
  const { status, err } = await fixture.run(RANGE);
  expect({ status, requests: fixture.requests }).toEqual({ status: 1, requests: [] });
  expect(err).toContain('2026-10.unfinished; if it was killed, delete this folder');
  expect(fixture.files()).toEqual(['2026-10.unfinished']);
});
