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
  const samples = [...readMonth(fixture.month('2026-10')), ...readMonth(fixture.month('2026-11'))]
    .map(([, series]) => series.length)
    .reduce((sum, length) => sum + length, 0);
  expect(out).toMatch(new RegExp(`^2026-10 +lone +${total} +\\d+ +\\d+ +agrees$`, 'm'));
  expect(out).toContain(`\n${samples} samples in 2 files in ${fixture.output}\n`);
  expect(out).toContain(
    `for month in '${fixture.output}'/*.om; do promtool tsdb create-blocks-from`,
  );
  const text = fixture.month('2026-11');
  const labels = 'customer="lone",instance="a\\"b:1",job="visits"';
  expect(text).toContain(`${ENTERED}{${labels}} `);
  expect(`${out}${err}${text}`).not.toContain(SECRET);
  for (const [id, series] of readMonth(text)) {
    // Only what is known of the past.
    expect(id).not.toMatch(
      /library_(up|polls|poll_|credentials|count_excess|counts_trusted|problem)/,
    );
    const gaps = series.map(({ atMs }, i) => atMs - (series[i - 1]?.atMs ?? atMs));
    // Two days without visitors have no last seen.
    const maxGap = id.includes('last_seen') ? Infinity : 300_000;
    expect(Math.max(...gaps)).toBeLessThanOrEqual(maxGap);
  }
});

test('has the estimate, learned from the month before, and none with estimate: false', async () => {
  await using fixture = await startBackfill();
  const flags = ['--from=2026-11-03T04:00', '--to=2026-11-03T20:00'];
  await fixture.run(flags);
  const text = fixture.month('2026-11');
  const [ratio] = seriesOf(text, 'library_door_count_ratio');
  expect(ratio?.value).toBeCloseTo(1, 1);
  for (const bound of ['', 'lower_', 'upper_']) {
    expect(seriesOf(text, `library_occupancy_estimate_${bound}people`)).toHaveLength(193);
  }
  expect(seriesOf(text, 'library_people_entered_usual_hour')).toHaveLength(193);
  fixture.configure({ estimate: false });
  await fixture.run([...flags, `--output=${fixture.folder}/raw`]);
  const raw = fixture.month('2026-11', `${fixture.folder}/raw`);
  expect(raw).not.toMatch(/library_(occupancy_estim|door)/);
  expect(seriesOf(raw, 'library_people_entered_usual_hour')).toHaveLength(193);
});

test('has the gauges of branches by quarter-hour, and their counters by day', async () => {
  const branches = [
    { id: 101, name: 'Main Library' },
    { id: 102, name: 'North', weight: 0.5 },
  ];
  await using fixture = await startBackfill({
    libraries: { lone: { branches, visitsPerDay: 300 } },
  });
  fixture.configure({ breakdowns: ['branch'], branches: { 102: { name: 'North', capacity: 30 } } });
  const flags = ['--from=2026-11-03T04:00', '--to=2026-11-03T20:00'];
  expect((await fixture.run(flags)).status).toBe(0);
  const text = fixture.month('2026-11');
  function entered(branch: number, fromMs: number, toMs: number): number {
    const [since = 0, after = 0] = [fromMs, toMs].map(
      (ms) => fixture.service.breakdownTotals('lone', 'branch', ms).get(branch)?.entered,
    );
    return since - after;
  }
  const dayMs = Date.UTC(2026, 10, 3, 3);
  const noonMs = Date.UTC(2026, 10, 3, 11);
  for (const { id } of branches) {
    function at(metric: string, atMs: number): number {
      return valueAt(text, `${metric}{customer="lone",branch="${id}"`, atMs);
    }
    const today = entered(id, dayMs, noonMs);
    expect(today).toBeGreaterThan(5);
    // Until the next window is over.
    expect(at('library_people_entered_today', noonMs)).toBe(today);
    expect(at('library_people_entered_today', noonMs + 10 * 60_000)).toBe(today);
    expect(at('library_occupancy_estimate_people', noonMs)).toBeGreaterThan(0);
    // Counters rise at the end of the day, and an hour before the end of the range.
    expect(at('library_branch_people_entered_total', noonMs)).toBe(
      entered(id, NOVEMBER.startMs, dayMs),
    );
  }
  expect(text).not.toContain('library_occupancy_people{customer="lone",instance');
  expect(text).toContain('library_capacity_people{customer="lone",branch="102"');
  // The branches have all counts at the end, so that the first live sample is no jump.
  const ofBranches = [...readMonth(text)]
    .filter(([id]) => id.startsWith('library_branch_people_entered_total{'))
    .map(([, samples]) => samples.at(-1)?.value ?? NaN);
  const total = fixture.entered(NOVEMBER.startMs, Date.UTC(2026, 10, 3, 19));
  expect(ofBranches.reduce((sum, value) => sum + value, 0)).toBe(total);
});

test('stopped by SIGTERM, it keeps finished months and continues after them', async () => {
  await using fixture = await startBackfill();
  await fixture.run([...RANGE, `--output=${fixture.folder}/whole`]);
  const terminal = new Terminal();
  terminal.errorIsTerminal = true;
  fixture.onRequest = (request) => {
    if (request.startsWith('/v1/login 2026-11-01')) {
      terminal.terminate();
    }
  };
  const stopped = await fixture.run(RANGE, terminal);
  expect(stopped).toMatchObject({ status: 143, out: '' });
  const [first, ...others] = stopped.err.match(/2026-1[01]: .* of .*/g) ?? [];
  expect(first).toBe('2026-10: 0 of 1 customer; 0 of 6 days, 0 requests');
  expect(others.join()).toMatch(/2026-11: 0 of 1 customer; 3 of 6 days, \d+ requests, \d+s left/);
  expect(stopped.err).toContain('stopped; run the same command again to continue');
  expect(fixture.files()).toEqual(['2026-10.om']);
  fixture.onRequest = () => {};
  const { status, err } = await fixture.run(RANGE);
  expect(status).toBe(0);
  expect(err).toMatch(/"month":"2026-10".*"msg":"month skipped, its file exists"/);
  expect(fixture.requests.join()).not.toContain(' 2026-10-01');
  for (const month of ['2026-10', '2026-11']) {
    expect(fixture.month(month)).toBe(fixture.month(month, `${fixture.folder}/whole`));
  }
});

test('names the customers that failed; once they are repaired, all are in one file, each with its own period', async () => {
  await using fixture = await startBackfill({
    libraries: { north: {}, south: { timezone: 'Pacific/Auckland' } },
  });
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

test('has no file for a month without data, and no series of a stream without data', async () => {
  await using fixture = await startBackfill({
    libraries: { lone: { loginShare: 0 } },
    pastDays: 5,
  });
  const { status, out } = await fixture.run(RANGE);
  expect(status).toBe(0);
  expect(out).toContain(' in 1 file in ');
  expect(fixture.files()).toEqual(['2026-11.om']);
  expect(seriesOf(fixture.month('2026-11'), ENTERED).length).toBeGreaterThan(100);
  expect(seriesOf(fixture.month('2026-11'), 'library_logins_total')).toEqual([]);
});

test('uses the minutes if day lags, and prints the difference', async () => {
  await using fixture = await startBackfill({ conventions: { dayFreshness: 'nightly' } });
  const { out } = await fixture.run(['--from=2026-11-05', '--to=2026-11-06T15:00']);
  const total = fixture.entered(NOVEMBER.startMs, Date.UTC(2026, 10, 6, 14));
  expect(seriesOf(fixture.month('2026-11'), ENTERED).at(-1)?.value).toBe(total);
  expect(out).toMatch(/^2026-11 +lone .* -\d+,-\d+,-\d+$/m);
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

test('rejects an --output that is a file, and does not touch what another backfill writes', async () => {
  await using fixture = await startBackfill();
  const file = join(fixture.folder, 'file');
  writeFileSync(file, 'mine');
  const rejected = await fixture.run([...RANGE, `--output=${file}`]);
  expect(rejected).toMatchObject({ status: 2, out: '' });
  expect(rejected.err).toContain(`--output: expected a folder, ${file} is a file`);
  mkdirSync(join(fixture.output, '2026-10.unfinished'), { recursive: true });
  const { status, err } = await fixture.run(RANGE);
  expect({ status, requests: fixture.requests }).toEqual({ status: 1, requests: [] });
  expect(err).toContain('2026-10.unfinished; if it was killed, delete this folder');
  expect(fixture.files()).toEqual(['2026-10.unfinished']);
});

test.each([
  [['--from=soon', '--to=-1h'], '--from'],
  [['--from=2026-11-03', '--to=2026-11-01'], '--to'],
  [['--from=2026-11-03', '--to=2999-01-01'], '--to'],
  [['--from=2026-11-01', '--to=-1h', '--customer=nobody'], '"nobody"'],
])('rejects %j before anything is read or written', async (flags, message) => {
  await using fixture = await startBackfill();
  const { status, out, err } = await fixture.run(flags);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(message);
  expect(fixture.requests).toEqual([]);
  expect(() => fixture.files()).toThrow('ENOENT');
});

function valueAt(text: string, id: string, atMs: number): number {
  const [, samples = []] = [...readMonth(text)].find(([name]) => name.startsWith(id)) ?? [];
  return samples.find((sample) => sample.atMs === atMs)?.value ?? NaN;
}
