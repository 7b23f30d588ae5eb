/**
 * From files and the environment to a whole, checked configuration, or to all that is wrong with
 * it. Must not know what is done with it.
 */
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { createOpeningHoursParser } from '../counting/opening-hours.ts';
import { readCustomer } from './customers.ts';
import type { CustomerReading } from './customers.ts';
import type { Environment } from './expand.ts';
import { allKeys, CONFIGURATION, CUSTOMERS } from './keys.ts';
import type { CustomerSection } from './keys.ts';
import type { SourceNode } from './nodes.ts';
import { parseFile } from './parse-file.ts';
import { isReadableByOthers, READABLE_BY_OTHERS } from './permissions.ts';
import { Problems } from './problems.ts';
import { exists } from './read-file.ts';
import { readPolling, readService } from './service.ts';
import { find } from './shapes.ts';
import type { Found, Reader } from './shapes.ts';
import type { SourceFile } from './source.ts';
import type { Config, CustomerConfig } from './types.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** Every file that was read, absolute: the configuration, customers, secrets, certificates. */
  readonly files: readonly string[];
  /** What works but should not be so, each in the form of a problem. */
  readonly warnings: readonly string[];
}

export interface LoadOptions {
  readonly path: string;
  readonly env: Environment;
}

const MOST_ENTRIES = 1_000_000;
/** Files of secrets that are open at once. */
const READ_AT_ONCE = 32;

/** The whole configuration. Throws a ConfigError with all problems, ready to print. */
export function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  return new Loading(options).load();
}

/** One reading of everything. */
class Loading {
  readonly #options: LoadOptions;
  readonly #problems = new Problems();
  readonly #reader: Reader;
  readonly #files = new Set<string>();
  readonly #warnings: string[] = [];
  readonly #knownKeys: ReadonlySet<string>;
  /** Permission bits of the files whose secrets were not looked at yet. */
  readonly #modes = new Map<SourceFile, number>();

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#reader = {
      problems: this.#problems,
      environment: options.env,
      budget: { entries: MOST_ENTRIES },
    };
    const paths = [...allKeys().keys()];
    this.#knownKeys = new Set(paths.map((path) => path.slice(path.lastIndexOf('.') + 1)));
  }

  async load(): Promise<LoadedConfig> {
    const { path } = this.#options;
    const node = await this.#parse(path, resolve(path));
    const main = node && find(CONFIGURATION, node, '', this.#reader)?.value;
    if (node === undefined || main === undefined) {
      return this.#giveUp();
    }
    const { fields, given } = main;
    const written = [
      ...(fields.customers?.value ?? []),
      ...(await this.#readCustomerFiles(fields.customer_files?.value ?? [])),
    ];
    if (written.length === 0 && !given.has('customers') && !given.has('customer_files')) {
      const message = 'is missing: give a list of customers, or customer_files';
      this.#problems.add({ place: node.place, path: 'customers', message });
    } else if (written.length === 0 && this.#problems.count === 0) {
      const message = 'is empty: give at least one customer, here or in customer_files';
      const { place } = fields[given.has('customers') ? 'customers' : 'customer_files'] ?? node;
      this.#problems.add({ place, path: 'customers', message });
    }
    checkNames(written, this.#problems);
    const customers = await this.#readCustomers(written, {
      problems: this.#problems,
      defaults: fields.defaults?.value,
      parseOpeningHours: createOpeningHoursParser(),
      fileRead: (file) => this.#files.add(file),
      warn: (found, message) => this.#warnings.push(this.#problems.describe({ ...found, message })),
    });
    const polling = readPolling(fields.polling?.value, this.#problems);
    const service = await readService(fields.service?.value, polling, customers, {
      problems: this.#problems,
      fileRead: (file) => this.#files.add(file),
    });
    this.#problems.throwIfAny();
    this.#warnOfSecrets([
      withPassword(fields.service?.value.fields.proxy_url),
      ...written.map(({ value }) => value.fields.client_secret),
    ]);
    return polling === undefined || service === undefined
      ? this.#giveUp()
      : {
          config: { service, polling, customers },
          files: [...this.#files],
          warnings: this.#warnings,
        };
  }

  /** Whatever is undefined was a problem. */
  #giveUp(): never {
    this.#problems.throwIfAny();
    throw new Error('a configuration was refused without a problem');
  }

  async #parse(name: string, path: string): Promise<SourceNode | undefined> {
    this.#files.add(path);
    const expected = { knownKeys: this.#knownKeys, example: 'config.example.yaml' };
    const parsed = await parseFile({ name, path, ...expected }, this.#problems);
    if (parsed !== undefined) {
      this.#modes.set(parsed.node.place.source, parsed.mode);
    }
    return parsed?.node;
  }

  /** One warning a file, at the first of its secrets. */
  #warnOfSecrets(secrets: readonly (Found<string> | undefined)[]): void {
    for (const secret of secrets) {
      const { source, start, end } = secret?.place ?? { source: undefined, start: 0, end: 0 };
      const mode = source && this.#modes.get(source);
      const isWrittenOut = source !== undefined && !source.text.slice(start, end).includes('${');
      if (secret !== undefined && source !== undefined && mode !== undefined && isWrittenOut) {
        this.#modes.delete(source);
        if (isReadableByOthers(mode)) {
          const message = `is a secret, and ${source.name} ${READABLE_BY_OTHERS}`;
          this.#warnings.push(this.#problems.describe({ ...secret, message }));
        }
      }
    }
  }

  async #readCustomerFiles(patterns: readonly Found<string>[]): Promise<Customer[]> {
    const customers: Customer[] = [];
    for (const { name, path } of await this.#customerFiles(patterns)) {
      const node = await this.#parse(name, path);
      const list = node && CUSTOMERS.read(node, '', this.#reader);
      customers.push(...(list ?? []));
    }
    return customers;
  }

  /** In the order of the patterns, and of the names for each; every file once. */
  async #customerFiles(
    patterns: readonly Found<string>[],
  ): Promise<{ readonly name: string; readonly path: string }[]> {
    const files = new Map<string, string>();
    const directory = dirname(resolve(this.#options.path));
    for (const pattern of patterns) {
      const matches = await filesMatching(pattern.value, directory);
      if (matches.length === 0) {
        this.#problems.add({ ...pattern, message: 'matches no file: create one, or name another' });
      }
      for (const match of matches) {
        const name = isAbsolute(match) ? match : join(dirname(this.#options.path), match);
        files.set(resolve(directory, match), name);
      }
      if (files.delete(resolve(this.#options.path))) {
        const message = 'matches this file itself: put the files of customers into a directory';
        this.#problems.add({ ...pattern, message });
      }
    }
    return Array.from(files, ([path, name]) => ({ name, path }));
  }

  async #readCustomers(
    written: readonly Customer[],
    reading: CustomerReading,
  ): Promise<CustomerConfig[]> {
    const customers: CustomerConfig[] = [];
    for (let i = 0; i < written.length; i += READ_AT_ONCE) {
      const some = written.slice(i, i + READ_AT_ONCE);
      const read = await Promise.all(some.map((customer) => readCustomer(customer, reading)));
      customers.push(...read.filter((customer) => customer !== undefined));
    }
    return customers;
  }
}

type Customer = Found<CustomerSection>;

function withPassword(url: Found<string> | undefined): Found<string> | undefined {
  return url !== undefined && new URL(url.value).password !== '' ? url : undefined;
}

async function filesMatching(pattern: string, directory: string): Promise<readonly string[]> {
  if (!pattern.includes('*')) {
    return (await exists(resolve(directory, pattern))) ? [pattern] : [];
  }
  const matches: string[] = [];
  for await (const match of glob(pattern, { cwd: directory })) {
    matches.push(match);
  }
  return matches.toSorted();
}

function checkNames(customers: readonly Customer[], problems: Problems): void {
  const first = new Map<string, Found<string>>();
  for (const { value, place } of customers) {
    const { name } = value.fields;
    const before = name && first.get(name.value);
    if (name === undefined || before === undefined) {
      if (name !== undefined) {
        first.set(name.value, name);
      }
      continue;
    }
    const { source, start } = before.place;
    const aliased = source === name.place.source && start === name.place.start;
    const where = `${source.name}:${source.lineAt(start)}`;
    const message = aliased
      ? 'is repeated by an alias of the whole customer: write this one out'
      : `is the name of another customer, in ${where}: give each a name of its own`;
    problems.add({ path: name.path, place: aliased ? place : name.place, message });
  }
}
