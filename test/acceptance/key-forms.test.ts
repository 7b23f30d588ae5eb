/** How the service writes its keys never changes a counter (CONTRACT, section 4, promise 5). */
import { beforeAll, describe, expect, test } from 'vitest';
import { Daemon, eventually, eventuallyBy, writeConfig } from './daemon.ts';
import { keyForms } from './key-forms.ts';
import type { KeyForm } from './key-forms.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { afternoonZone, hourMs } from './local-time.ts';
import { stage } from './stage.ts';
import { expectCountersExact, expectMinutesExact, expectTodayExact, fillHistory } from './world.ts';

const { service, workspace, monitor } = stage();
const zone = afternoonZone(Date.now());
let daemon: Daemon;
let deadlineMs = Infinity;

const forms = Object.keys(keyForms) as KeyForm[];
const worlds = [
  ...forms.map((keyForm) => ({ keyForm, zeros: false })),
  { keyForm: 'iso Z', zeros: true },
  { keyForm: 'HH:mm local', zeros: true },
] as const satisfies readonly { keyForm: KeyForm; zeros: boolean }[];

const cases = worlds.map((conventions, index) => ({
  ...conventions,
  customer: service.addCustomer(`form-${index}`, zone, conventions),
}));

beforeAll(async () => {
  await service.start();
  for (const { customer } of cases) {
    fillHistory(customer.ledger);
  }
  const customers = cases.map(({ customer }) => customer);
  const polling = { reconcile_interval: '3s' };
  daemon = await Daemon.start(workspace, writeConfig(workspace, service, customers, { polling }));
  monitor.watch(daemon);
  deadlineMs = Date.now() + 20_000;
});

async function figuresExact({ name, ledger }: ServiceCustomer): Promise<void> {
  await eventuallyBy(deadlineMs, async () => {
    const exposition = await daemon.scrape();
    expectCountersExact(exposition, name, ledger);
    expectTodayExact(exposition, name, ledger);
  });
  const isOpaque = ledger.conventions.keyForm === 'opaque';
  await eventuallyBy(deadlineMs, async () => {
    const exposition = await daemon.scrape();
    if (isOpaque) {
      expectNoMinutes(exposition, name);
    } else {
      expectMinutesExact(exposition, name, ledger);
    }
  });
}

function expectNoMinutes(
  exposition: Awaited<ReturnType<Daemon['scrape']>>,
  customer: string,
): void {
  const names = ['occupancy_people', 'people_last_seen_timestamp_seconds'];
  const shown = names.map((name) => exposition.value(`library_${name}`, { customer }));
  expect(shown, `occupancy and last seen of ${customer}`).toEqual([undefined, undefined]);
}

describe.each(cases)('keys as $keyForm, zeros listed: $zeros', ({ customer }) => {
  test('leave every figure right', async () => {
    await expect(figuresExact(customer)).resolves.toBeUndefined();
  });
});

describe('when more is counted, new and late', () => {
  beforeAll(() => {
    for (const { ledger } of cases.map(({ customer }) => customer)) {
      ledger.add('people', { in: 5, out: 2 });
      ledger.add('logins', { in: 3 });
      ledger.add('people', { in: 1, out: 6 }, Date.now() - 2 * hourMs);
    }
    deadlineMs = Date.now() + 20_000;
  });

  test.each(cases)('keys as $keyForm, zeros listed: $zeros, follow', async ({ customer }) => {
    await expect(figuresExact(customer)).resolves.toBeUndefined();
  });
});

test('a warning says whose keys cannot be read', async () => {
  for (const { customer } of cases.filter(({ keyForm }) => keyForm === 'opaque')) {
    await eventually(() => {
      const warnings = daemon.logLines().filter(({ level }) => level === 'warn' || level === 40);
      expect(warnings.map((line) => JSON.stringify(line)).join('\n')).toContain(
        `"${customer.name}"`,
      );
    });
  }
});

test('no counter fell or began with 0', () => {
  expect(monitor.violations).toEqual([]);
  expect(service.violations).toEqual([]);
});
