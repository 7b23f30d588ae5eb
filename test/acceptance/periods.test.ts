/** Counting period and day change at the moment of the scrape (docs/how-it-counts.md#guarantees, 3). */
import { expect, test } from 'vitest';
import { eventually, flagsFor, launch } from './daemon.ts';
import { addOld } from './expected.ts';
import type { Exposition } from './exposition.ts';
import { Harness } from './harness.ts';
import { dayMs, hourMs, periodStart } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
const ZONE = 'Europe/Copenhagen';

/** Shifts the clock of a process. */
const PRELOAD = `
  const shiftMs = Number(process.env.SHIFT_MS);
  const now = Date.now;
  globalThis.Date = class extends Date {
    constructor(...args) {
      super(...(args.length === 0 ? [now() + shiftMs] : args));
    }
    static now() {
      return now() + shiftMs;
    }
  };
`;

const names = ['people_entered', 'people_exited', 'logins'];

function valuesOf(exposition: Exposition, ending: string): readonly (number | undefined)[] {
  return names.map((name) =>
    exposition.value(`library_${name}_${ending}`, { customer: 'riverside' }),
  );
}

test('a scrape after the change shows the values of the new period and day, or none', async () => {
  const riverside = service.addCustomer('riverside', ZONE);
  const { ledger } = riverside;
  const change = periodStart(periodStart(Date.now(), ZONE, '04:00') + 33 * dayMs, ZONE, '04:00');
  const shiftMs = change - 20_000 - Date.now();
  service.clockShiftMs = shiftMs;
  for (const hours of [20 * 24, 25, 20, 3, 1]) {
    addOld(ledger, change - hours * hourMs, 7, 3);
  }
  const flags = flagsFor(workspace, harness.configure([riverside]));
  const daemon = await launch(workspace, flags, {
    NODE_OPTIONS: `--import=${workspace.write('preload.mjs', PRELOAD)}`,
    SHIFT_MS: String(shiftMs),
  }).listening();

  const before = { total: [35, 15, 40], today: [21, 9, 24] };
  let complete = false;
  let requestedAtMs = 0;
  while (requestedAtMs < change) {
    requestedAtMs = Date.now() + shiftMs;
    const exposition = await daemon.scrape();
    const isOld = Date.now() + shiftMs < change;
    for (const ending of ['total', 'today'] as const) {
      for (const [index, value] of valuesOf(exposition, ending).entries()) {
        // A scrape over the moment of the change shows either.
        const old = isOld || requestedAtMs < change ? [before[ending][index]] : [];
        expect([undefined, ...old, ...(isOld ? [] : [0])]).toContain(value);
        complete ||= isOld && value !== undefined;
      }
    }
  }
  expect(complete).toBe(true);
  ledger.add('people', { in: 4, out: 1 }, Date.now() + shiftMs);
  ledger.add('logins', { in: 2 }, Date.now() + shiftMs);
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expect(valuesOf(exposition, 'total')).toEqual([4, 1, 2]);
    expect(valuesOf(exposition, 'today')).toEqual([4, 1, 2]);
    const labels = { customer: 'riverside' };
    const start = exposition.value('library_period_start_timestamp_seconds', labels);
    expect(start).toBe(change / 1_000);
  });
});
