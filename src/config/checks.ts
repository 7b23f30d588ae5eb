/** Checks of several keys together. After a problem, too, what is valid is checked. */
import { messageOf } from '../base/errors.ts';
import { createOpeningHoursParser } from '../counting/calendar/opening-hours.ts';
import type { OpeningHoursParser } from '../counting/calendar/opening-hours.ts';
import type { ProblemFormatter } from './problems.ts';
import type { DeepPartial, ValidatedFile } from './reader.ts';
import type { ConfigFile, CustomerEntry } from './schema.ts';
import type { PollingConfig } from './types.ts';
import type { Path, YamlFile } from './yaml-file.ts';

/** A customer as it is in a file, and where. */
export interface CustomerFileEntry {
  readonly file: YamlFile;
  readonly path: Path;
  readonly values: DeepPartial<CustomerEntry>;
}

/** Reports what is wrong with several keys of a customer together, and names that are used twice. */
export function checkCustomers(
  { file: main }: ValidatedFile<ConfigFile>,
  entries: readonly CustomerFileEntry[],
  formatter: ProblemFormatter,
): void {
  if (entries.length === 0 && main.has([])) {
    main.add(['customers'], 'expected at least one customer, here or in customer_files, got none');
  }
  const hasTimezone = main.has(['defaults', 'timezone']);
  const names = new Set<string | undefined>();
  const byClientId = new Map<string | undefined, CustomerFileEntry>();
  const parse = createOpeningHoursParser();
  for (const entry of entries) {
    const { file, path, values } = entry;
    const { name, branches = {}, breakdowns = [] } = values;
    if (names.has(name)) {
      // A missing name has a problem already, and a place only one.
      file.add([...path, 'name'], 'expected a unique name, got that of another customer');
    }
    names.add(name);
    warnOfSharedClient(entry, byClientId, formatter);
    const zonePath = [...path, 'timezone'];
    if (!hasTimezone && !file.has(zonePath)) {
      file.add(zonePath, 'expected an IANA time zone, here or in defaults, got nothing');
    }
    if (breakdowns.length > 0 && !mayHave(values.streams, 'people')) {
      file.add([...path, 'breakdowns'], 'expected people in streams, which breakdowns are of');
    }
    if (breakdowns.includes('branch') && values.capacity !== undefined) {
      const message = 'expected capacity under branches, because breakdowns has branch';
      file.add([...path, 'capacity'], message);
    }
    const own = { path, values };
    const valid = { path, values: checkHours(file, own, own, formatter, parse) };
    for (const [id, branch = {}] of Object.entries(branches)) {
      const branchPath = [...path, 'branches', id];
      checkHours(file, { path: branchPath, values: branch }, valid, formatter, parse);
      for (const key of Object.keys(branch).filter((one) => one !== 'name')) {
        if (!mayHave(values.breakdowns, 'branch')) {
          file.add([...branchPath, key], 'expected branch in breakdowns, which this key needs');
        }
      }
    }
  }
}

/** Returns true for a list with a word, or with something invalid that may stand for it. */
function mayHave<Word>(list: readonly (Word | undefined)[] | undefined, word: Word): boolean {
  return list === undefined || list.includes(undefined) || list.includes(word);
}

/**
 * Warns of two customers with one client id: both would count the same people. Each is named as far as its
 * name may be shown. `byClientId` has the customers before. One without a client id is a problem, after which
 * no warning is shown.
 */
function warnOfSharedClient(
  entry: CustomerFileEntry,
  byClientId: Map<string | undefined, CustomerFileEntry>,
  formatter: ProblemFormatter,
): void {
  const { file, path, values } = entry;
  const first = byClientId.get(values.client_id);
  if (first === undefined) {
    byClientId.set(values.client_id, entry);
    return;
  }
  const [own, other] = [entry, first].map((one) =>
    formatter.quote(one.file, [...one.path, 'name']),
  );
  const message = `${own ?? 'this customer'} has the client_id of ${other ?? 'another customer'}, so both count the same people`;
  file.warn([...path, 'client_id'], message);
}

/** A customer or one of its branches, and where it is. */
interface Building {
  readonly path: Path;
  readonly values: Pick<CustomerFileEntry['values'], 'holidays' | (typeof HOURS_KEYS)[number]>;
}

const HOURS_KEYS = ['opening_hours', 'staffed_hours'] as const;
const COMMENT = /"[^"]+"/;

/**
 * Reports hours that are invalid with the holidays of a building, which may be those of its customer. Returns
 * what is valid.
 */
function checkHours(
  file: YamlFile,
  { path, values }: Building,
  customer: Building,
  formatter: ProblemFormatter,
  parse: OpeningHoursParser,
): Building['values'] {
  const valid = { ...values };
  for (const key of HOURS_KEYS) {
    const hours = values[key];
    // Where only the holidays of a branch differ, they must fit the hours of its customer.
    const text = hours ?? customer.values[key];
    const keyPath = [...path, hours === undefined ? 'holidays' : key];
    const isInvalidRegion = [path, customer.path].some((one) => file.has([...one, 'holidays']));
    // With an invalid region, the hours are checked with another.
    const region =
      values.holidays ?? customer.values.holidays ?? (isInvalidRegion ? 'dk' : undefined);
    try {
      parse(text ?? '24/7', region);
    } catch (error) {
      delete valid[key];
      // The message may quote the value.
      const isShown = formatter.quote(file, keyPath) !== undefined;
      const expected =
        "expected OpenStreetMap's syntax, with ; between rules, as in Mo-Fr 08:00-20:00; Sa 10:00-16:00";
      file.add(keyPath, isShown ? messageOf(error) : expected);
    }
    if (key === 'opening_hours' && COMMENT.test(hours ?? '')) {
      file.warn(keyPath, 'the comment is ignored; write hours with staff as staffed_hours');
    }
  }
  return valid;
}

/** Reports what is wrong with several keys of `service` and `polling` together. */
export function checkService(
  { file, values }: ValidatedFile<ConfigFile>,
  intervals: PollingConfig,
  needPerSecond: number,
): void {
  const { service = {} } = values;
  for (const key of ['base_url', 'auth_url'] as const) {
    const url = service[key];
    if (url?.startsWith('http:') === true && service.allow_insecure !== true && !isLoopback(url)) {
      file.add(['service', key], 'must use https (or set allow_insecure: true)');
    }
  }
  const proxy = ['service', 'proxy_url'];
  if (file.has(proxy) && file.textAt(proxy).includes('@')) {
    file.warnOfSecrets(proxy, 'a secret');
  }
  if (intervals.reconcileIntervalMs < intervals.intervalMs) {
    file.add(['polling', 'reconcile_interval'], 'expected at least interval, got less');
  }
  if ((service.max_requests_per_second ?? Infinity) < needPerSecond) {
    const least = Math.ceil(needPerSecond * 100) / 100;
    const message = `expected at least ${least}, which the customers need, got less`;
    file.add(['service', 'max_requests_per_second'], message);
  }
}

/** Returns true for a URL of this machine, where nobody else can read what is sent. */
function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
