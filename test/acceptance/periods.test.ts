/** Counting period and day change at the moment of the scrape (docs/how-it-counts.md#guarantees, 3). */
import { expect, test } from 'vitest';
import { eventually, flagsFor, launch } from './daemon.ts';
import { addOld } from './expected.ts';
import type { Exposition } from './exposition.ts';
import { Harness } from './harness.ts';
import { dayMs, hourMs, minuteMs, periodStart } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
const ZONE = 'Europe/Copenhagen';

/** Shifts the clock of a process, again at each SIGUSR2. */
const PRELOAD = `
  import { readFileSync } from 'node:fs';
  let shiftMs;
  function shift() {
    shiftMs = Number(readFileSync(process.env.SHIFT_FILE, 'utf8'));
  }
  shift();
  process.on('SIGUSR2', shift);
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

function valuesOf(exposition: Exposition, ending: string): readonly (number | undefined)[] {
  return ['people_entered', 'people_exited', 'logins'].map((name) =>
    exposition.value(`library_${name}_${ending}`, { customer: 'riverside' }),
  );
}

test('a scrape after the change shows the values of the new period and day, or none', async () => {
  const riverside = service.addCustomer('riverside', ZONE);
  const { ledger } = riverside;
  const change = periodStart(periodStart(Date.now(), ZONE, '04:00') + 33 * dayMs, ZONE, '04:00');
  for (const hours of [20 * 24, 25, 20, 3, 1]) {
    addOld(ledger, change - hours * hourMs, 7, 3);
  }
  /** Shifts the clock of the service, and that of the exporter once it reads the file. */
  function shiftTo(ms: number): string {
    service.clockShiftMs = Math.round(ms - Date.now());
    return workspace.write('shift', String(service.clockShiftMs));
  }
  const daemon = await launch(workspace, flagsFor(workspace, harness.configure([riverside])), {
    NODE_OPTIONS: `--import=${workspace.write('preload.mjs', PRELOAD)}`,
    SHIFT_FILE: shiftTo(change - 5 * minuteMs),
  }).listening();
  const before = { total: [35, 15, 40], today: [21, 9, 24] };
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expect(valuesOf(exposition, 'total')).toEqual(before.total);
    expect(valuesOf(exposition, 'today')).toEqual(before.today);
  });

  shiftTo(change - 2_000);
  const { clockShiftMs } = service;
  daemon.signal('SIGUSR2');
  let requestedAtMs = 0;
  while (requestedAtMs < change) {
    requestedAtMs = Date.now() + clockShiftMs;
    const exposition = await daemon.scrape();
    const isOld = Date.now() + clockShiftMs < change;
    for (const ending of ['total', 'today'] as const) {
      for (const [index, value] of valuesOf(exposition, ending).entries()) {
        // A scrape over the moment of the change shows either.
        const old = isOld || requestedAtMs < change ? [before[ending][index]] : [];
        expect([undefined, ...old, ...(isOld ? [] : [0])]).toContain(value);
      }
    }
  }
  ledger.add('people', { in: 4, out: 1 }, Date.now() + clockShiftMs);
  ledger.add('logins', { in: 2 }, Date.now() + clockShiftMs);
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expect(valuesOf(exposition, 'total')).toEqual([4, 1, 2]);
    expect(valuesOf(exposition, 'today')).toEqual([4, 1, 2]);
    const labels = { customer: 'riverside' };
    const start = exposition.value('library_period_start_timestamp_seconds', labels);
    expect(start).toBe(change / 1_000);
  });
});
