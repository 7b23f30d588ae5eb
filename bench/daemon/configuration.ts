/** A configuration with many customers that show every family of the contract but the breakdowns. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ConfigurationSettings {
  readonly customers: number;
  readonly serviceUrl: string;
  readonly timezone: string;
  /** Local time at which days start, as in `04:00`. */
  readonly dayStartsAt?: string;
  /** By default that of the exporter. */
  readonly maxRequestsPerSecond?: number;
  /** By default all customers are in the main file. */
  readonly customersPerFile?: number;
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

/** A customer a line, as a script would write them. */
function customerLines({
  customers,
  smallestCapacity = 100,
  branches = 0,
}: ConfigurationSettings): string[] {
  return Array.from({ length: customers }, (_, i) => {
    const number = String(i).padStart(5, '0');
    return (
      `  - { name: library-${number}, client_id: client-${number}, client_secret: secret-${number}, ` +
      `${buildingsText(smallestCapacity + (i % 9) * 50, branches)}, opening_hours: "${HOURS[i % HOURS.length]}", holidays: dk, ` +
      `labels: { region: ${REGIONS[i % REGIONS.length]} } }\n`
    );
  });
}

function buildingsText(capacity: number, branches: number): string {
  if (branches === 0) {
    return `capacity: ${capacity}`;
  }
  const named = Array.from(
    { length: branches },
    (_, i) => `${i + 1}: { name: Branch ${i + 1}, capacity: ${capacity} }`,
  );
  return `breakdowns: [branch], branches: { ${named.join(', ')} }`;
}

/** The sections before the customers. */
function headOf({
  serviceUrl,
  timezone,
  dayStartsAt = '04:00',
  maxRequestsPerSecond,
}: ConfigurationSettings): string {
  const limit =
    maxRequestsPerSecond === undefined ? '' : `, max_requests_per_second: ${maxRequestsPerSecond}`;
  return (
    `service: { base_url: "${serviceUrl}", auth_url: "${serviceUrl}"${limit} }\n` +
    `defaults: { timezone: ${timezone}, day_starts_at: "${dayStartsAt}" }\n`
  );
}

/** A folder that is gone when it is disposed of. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'library-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Writes the configuration into a folder, and gives the file. */
export function writeConfiguration(folder: string, settings: ConfigurationSettings): string {
  const file = join(folder, 'config.yaml');
  const lines = customerLines(settings);
  const { customersPerFile = lines.length } = settings;
  if (customersPerFile === lines.length) {
    writeFileSync(file, `${headOf(settings)}customers:\n${lines.join('')}`);
    return file;
  }
  mkdirSync(join(folder, 'customers'), { recursive: true });
  for (let i = 0; i < lines.length; i += customersPerFile) {
    const text = lines.slice(i, i + customersPerFile).join('');
    writeFileSync(join(folder, 'customers', `${i}.yaml`), text);
  }
  writeFileSync(file, `${headOf(settings)}customer_files: ["customers/*.yaml"]\n`);
  return file;
}

/** Returns a zone where it is about two in the afternoon: the day has ten hours behind it, whenever the bench runs. */
export function afternoonZone(nowMs: number): string {
  const hours = 14 - new Date(nowMs).getUTCHours();
  // These names have the opposite sign.
  return `Etc/GMT${hours < 0 ? '+' : '-'}${Math.abs(hours)}`;
}
