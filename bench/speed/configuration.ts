/** A configuration with many customers that show every family of the contract but the breakdowns. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ConfigurationSettings {
  readonly customers: number;
  readonly serviceUrl: string;
  readonly timezone: string;
  /** By default that of the exporter. */
  readonly maxRequestsPerSecond?: number;
  readonly smallestCapacity?: number;
  /** Buildings of each customer, which then is polled by branch. */
  readonly branches?: number;
}

const REGIONS = ['north', 'south', 'east', 'west'];
const HOURS = [
  'Mo-Fr 08:00-20:00; Sa 10:00-16:00; PH off',
  'Mo-Su 06:00-22:00',
  'Mo-Th 09:30-19:00; Fr 09:30-17:00; Sa 10:00-15:00; PH off',
  'Tu-Fr 09:00-12:00,14:00-18:00; Sa 10:00-13:00',
];

/** A folder that is gone when it is disposed of. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'library-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Writes the configuration into a folder, and returns the file. */
export function writeConfiguration(folder: string, settings: ConfigurationSettings): string {
  const { customers, serviceUrl, timezone, maxRequestsPerSecond } = settings;
  const service = {
    base_url: serviceUrl,
    auth_url: serviceUrl,
    max_requests_per_second: maxRequestsPerSecond,
  };
  // JSON is YAML. A customer a line, as a script would write them.
  const lines = [
    `service: ${JSON.stringify(service)}`,
    `defaults: ${JSON.stringify({ timezone, day_starts_at: '04:00' })}`,
    'customers:',
    ...Array.from({ length: customers }, (_, i) => `- ${JSON.stringify(customer(i, settings))}`),
  ];
  const file = join(folder, 'config.yaml');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

function customer(i: number, { smallestCapacity = 100, branches = 0 }: ConfigurationSettings) {
  const number = String(i).padStart(5, '0');
  const capacity = smallestCapacity + (i % 9) * 50;
  const named = Array.from({ length: branches }, (_, at) => [
    at + 1,
    { name: `Branch ${at + 1}`, capacity },
  ]);
  return {
    name: `library-${number}`,
    client_id: `client-${number}`,
    client_secret: `secret-${number}`,
    ...(branches === 0
      ? { capacity }
      : { breakdowns: ['branch'], branches: Object.fromEntries(named) }),
    opening_hours: HOURS[i % HOURS.length],
    holidays: 'dk',
    labels: { region: REGIONS[i % REGIONS.length] },
  };
}

/** Returns a zone where it is about two in the afternoon: the day has ten hours behind it, whenever the bench runs. */
export function afternoonZone(): string {
  const hours = 14 - new Date().getUTCHours();
  // These names have the opposite sign.
  return `Etc/GMT${hours < 0 ? '+' : '-'}${Math.abs(hours)}`;
}
