/** `report` as a command: who fails, when it stops, and which days are without counts. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/base/duration.ts';
import { deadBetween, drawLibrary } from '../../src/simulator/libraries.ts';
import { startEnvironment } from '../cli/simulated-environment.ts';
import { ran, Terminal } from '../cli/terminal.ts';

const NOW_MS = Date.UTC(2026, 0, 20, 12);
const WORKDAYS = [{ weekdays: [0, 1, 2, 3, 4], fromMinute: 8 * 60, toMinute: 20 * 60 }];
const LIBRARY = { timezone: 'Europe/Copenhagen', visitsPerDay: 30, opening: WORKDAYS };
const JANUARY = ['--from=2026-01-05', '--to=2026-01-19', '--period=week'];
const PAST = { clock: { nowMs: () => NOW_MS }, historyMs: 60 * DAY_MS, library: LIBRARY };

async function rowsOf(...args: readonly string[]) {
  const { out } = await ran('report', ...args, '--format=json');
  return JSON.parse(out) as readonly Readonly<Record<string, unknown>>[];
}

test('names the customers that fail, writes the others, and has status 1', async () => {
  await using environment = await startEnvironment({ good: {}, bad: {} }, {}, PAST);
  environment.service.revoke('bad');
  const file = join(environment.workspace.folder, 'report.csv');
  const args = [environment.config(), ...JANUARY, '--format=csv', `--output=${file}`];
  const { status, out, err } = await ran('report', ...args);
  expect([status, out]).toEqual([1, '']);
  expect(err).toMatch(
    /error: 1 customer could not be read, so the report is incomplete:\n {2}bad: auth: /,
  );
  const text = readFileSync(file, 'utf8');
  expect([text[0], statSync(file).mode & 0o777]).toEqual(['\uFEFF', 0o640]);
  const lines = text.trim().split('\r\n');
  expect(lines.slice(1).map((line) => line.split(',').slice(0, 3).join())).toEqual([
    'good,2026-01-05,2026-01-12',
    'good,2026-01-12,2026-01-19',
  ]);
});

test('a customer with one branch and no name for it has no id, and its logins beside its visits', async () => {
  const lone = { library: { branches: [{ id: 7, name: 'Main Library' }] } };
  await using environment = await startEnvironment({ lone }, {}, PAST);
  const config = environment.config();
  const byCustomer = await rowsOf(config, ...JANUARY);
  expect(byCustomer).toMatchObject([{ logins: expect.any(Number) }, {}]);
  expect(await rowsOf(config, ...JANUARY, '--by=branch')).toEqual(
    byCustomer.map((row) => ({ ...row, branch: null, branch_name: null })),
  );
});

test('is stopped by a signal without a half file', async () => {
  await using environment = await startEnvironment({ lone: {} }, {}, PAST);
  const file = join(environment.workspace.folder, 'report.html');
  const terminal = new Terminal();
  environment.onRequest = () => terminal.terminate();
  const args = [environment.config(), ...JANUARY, '--format=html', `--output=${file}`];
  const { status, err } = await terminal.run('report', ...args);
  expect([status, err]).toEqual([143, 'error: stopped, nothing was written\n']);
  expect(existsSync(file)).toBe(false);
  expect(readdirSync(environment.workspace.folder).join()).not.toContain('report');
});

test.each([
  [['--from=2025-01-01', '--to=2025-01-01'], /^error: --to: expected a day after --from\n$/],
  [['--from=2025-02-30', '--to=2025-03-01'], /'2025-02-30' is invalid. Expected a date such as/],
  [['--from=1900-01-01', '--to=2026-01-01', '--period=hour'], /at most 10000 periods, got 1104504/],
  [['--from=2999-01-01', '--to=2999-02-01'], /^error: --from must not be in the future\n$/],
  [['--from=2025-01-01', '--to=2025-02-01', '--customer=nobody'], /no customer "nobody"/],
  [['--from=2025-01-01', '--to=2025-02-01', '--output=/no/such/file'], /^error: --output: ENOENT/],
])('%j is bad usage', async (args, message) => {
  await using environment = await startEnvironment({ lone: {} });
  const { status, out, err } = await ran('report', environment.config(), ...args);
  expect([status, out, ...environment.requests]).toEqual([2, '']);
  expect(err).toMatch(message);
});

/** They count nobody on Tuesday 13 and Wednesday 14 January. */
const FAILED = drawLibrary(1, 1, LIBRARY).devices.map((device) =>
  device.kind === 'door'
    ? deadBetween(device, Date.UTC(2026, 0, 12, 22), Date.UTC(2026, 0, 15, 2))
    : device,
);

test.each([
  ['by their hours', { opening_hours: 'Tu,Th-Sa 08:00-20:00' }, 4, ['2026-01-13', '2026-01-17']],
  ['without opening hours, on usual weekdays', {}, 5, ['2026-01-13', '2026-01-14']],
])('days without counts are days that are open %s', async (_, customer, open, dates) => {
  const lone = { library: { devices: FAILED } };
  await using environment = await startEnvironment({ lone }, {}, PAST);
  const range = ['--from=2025-12-15', '--to=2026-01-19', '--period=week'];
  const config = environment.config({ customer });
  const rows = await rowsOf(config, ...range);
  expect(rows.at(-1)).toMatchObject({ days_open: open, dates_without_counts: dates });
});

test('without people in streams, days count logins, and branches are refused', async () => {
  await using environment = await startEnvironment({ lone: {} }, {}, PAST);
  const [{ logins } = {}] = await rowsOf(environment.config(), ...JANUARY);
  const config = environment.config({ customer: { streams: ['logins'] } });
  const [row] = await rowsOf(config, ...JANUARY);
  expect(row).toMatchObject({ entered: null, visits: null, days_without_counts: 0, logins });
  const refused = await ran('report', config, ...JANUARY, '--by=branch');
  const err = 'error: --by=branch: "lone" has no people in streams\n';
  expect(refused).toEqual({ status: 2, out: '', err });
});
