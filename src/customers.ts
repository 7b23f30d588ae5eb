/** The customers of this process: which ones, and what a new configuration changes of them. */
import { hash } from 'node:crypto';
import type { LogFields } from './base/log.ts';
import type { ServiceSettings } from './base/service-settings.ts';
import type { BranchConfig, Config, CustomerConfig } from './config/types.ts';
import { Calendar } from './counting/calendar/calendar.ts';
import { Customer } from './counting/customer.ts';
import type { CustomerDescription, SiteDescription } from './counting/customer-metrics.ts';
import { counterOwner } from './counting/high-water-marks.ts';
import type { HighWaterMarks } from './counting/high-water-marks.ts';
import { createOpeningHoursParser } from './counting/calendar/opening-hours.ts';
import type { OpeningHoursParser } from './counting/calendar/opening-hours.ts';
import { Zone } from './counting/calendar/zone.ts';

export interface RegisteredCustomer {
  readonly customer: Customer;
  readonly config: CustomerConfig;
  /** Responses of another service, to other times or with other keys are not compared with earlier ones. */
  readonly service: Pick<ServiceSettings, 'baseUrl' | 'requestTimes' | 'keyTimes'>;
}

export class CustomerRegistry {
  readonly #marks: HighWaterMarks;
  #registered = new Map<string, RegisteredCustomer>();
  /** Calendars cache what they compute, so customers share them. */
  readonly #calendars = new Map<string, Calendar>();

  constructor(marks: HighWaterMarks) {
    this.#marks = marks;
  }

  /**
   * Returns the customers of `config`, in its order. A customer whose counters are the same keeps what it has
   * counted; one that did not change at all is the same object.
   */
  update(config: Config): readonly RegisteredCustomer[] {
    const { service } = config;
    // Shared by customers with the same hours. Not kept: it would keep the hours of old configurations.
    const parseOpeningHours = createOpeningHoursParser();
    const registered = config.customers.map((customerConfig): RegisteredCustomer => {
      const before = this.#registered.get(customerConfig.name);
      const description = descriptionOf(customerConfig, parseOpeningHours);
      const keepsCounters =
        before?.service.baseUrl === service.baseUrl &&
        before.service.requestTimes === service.requestTimes &&
        before.service.keyTimes === service.keyTimes &&
        haveSameCounters(before.config, customerConfig);
      const customer = keepsCounters
        ? before.customer
        : this.#create(customerConfig, service, description);
      customer.setDescription(description);
      customer.setIntervals(config.polling);
      customer.breakdowns.configure(customerConfig.breakdowns);
      return keepsCounters && areEqual(before.config, customerConfig)
        ? before
        : { config: customerConfig, service, customer };
    });
    this.#registered = new Map(registered.map((one) => [one.config.name, one]));
    return registered;
  }

  get(customer: string): Customer | undefined {
    return this.#registered.get(customer)?.customer;
  }

  #create(
    config: CustomerConfig,
    { baseUrl, keyTimes }: ServiceSettings,
    description: CustomerDescription,
  ): Customer {
    const { name, timezone, streams, clientId } = config;
    return new Customer({
      name,
      timezone,
      description,
      calendar: this.#calendarOf(config),
      keyTimes,
      streams,
      owner: counterOwner(baseUrl, clientId, name),
      marks: this.#marks,
    });
  }

  #calendarOf({ timezone, dayStartsAt }: CustomerConfig): Calendar {
    const key = `${timezone} ${dayStartsAt.hour}:${dayStartsAt.minute}`;
    const calendar = this.#calendars.get(key) ?? new Calendar(new Zone(timezone), dayStartsAt);
    this.#calendars.set(key, calendar);
    return calendar;
  }
}

const MAX_LISTED_NAMES = 20;

/** Returns the names of the customers that a reload added, removed and changed, as fields of the log. */
export function changedNames(
  before: readonly RegisteredCustomer[],
  after: readonly RegisteredCustomer[],
): LogFields {
  const byName = new Map(before.map((one) => [one.config.name, one]));
  const names = new Set(after.map(({ config }) => config.name));
  return {
    added: listed(after.filter(({ config }) => !byName.has(config.name))),
    removed: listed(before.filter(({ config }) => !names.has(config.name))),
    changed: listed(after.filter((one) => (byName.get(one.config.name) ?? one) !== one)),
  };
}

function listed(customers: readonly RegisteredCustomer[]): string | undefined {
  const shown = customers.slice(0, MAX_LISTED_NAMES).map(({ config }) => config.name);
  const more = customers.length - shown.length;
  const text = shown.join(', ') + (more === 0 ? '' : ` and ${more} more`);
  return text === '' ? undefined : text;
}

/** Returns the settings that do not change what is counted. */
export function descriptionOf(
  config: CustomerConfig,
  parse: OpeningHoursParser,
): CustomerDescription {
  const { labels, breakdowns, branches } = config;
  const site = siteOf({ ...config, name: undefined }, parse);
  const configured = Object.entries(branches).map(([id, branch]) => [id, siteOf(branch, parse)]);
  return {
    labels,
    ...site,
    branches: breakdowns.includes('branch')
      ? {
          configured: Object.fromEntries(configured) as Record<string, SiteDescription>,
          others: site,
        }
      : undefined,
  };
}

function siteOf(
  { name, capacity, estimate, openingHours, staffedHours, holidays }: BranchConfig,
  parse: OpeningHoursParser,
): SiteDescription {
  return {
    name,
    capacity,
    estimate,
    openingHours: openingHours === undefined ? undefined : parse(openingHours, holidays),
    staffedHours: staffedHours === undefined ? undefined : parse(staffedHours, holidays),
  };
}

/** Whether the customer keeps its counters: other settings only describe it. */
function haveSameCounters(a: CustomerConfig, b: CustomerConfig): boolean {
  return (
    a.clientId === b.clientId &&
    a.timezone === b.timezone &&
    a.dayStartsAt.hour === b.dayStartsAt.hour &&
    a.dayStartsAt.minute === b.dayStartsAt.minute &&
    a.streams.join() === b.streams.join()
  );
}

/** JSON redacts secrets, so they are compared separately. */
function areEqual(a: CustomerConfig, b: CustomerConfig): boolean {
  return (
    JSON.stringify(a) === JSON.stringify(b) && a.clientSecret.secret.equals(b.clientSecret.secret)
  );
}

const MULTIPLIER = 2_862_933_555_777_941_757n;

/**
 * Returns the shard of a customer, from 0: jump consistent hash (Lamping and Veach, A Fast, Minimal Memory,
 * Consistent Hash Algorithm, 2014). It depends on the name and the number of shards alone. From n to
 * n + 1 shards, one customer in n + 1 moves, to the new shard.
 */
export function shardOf(name: string, shards: number): number {
  if (shards === 1) {
    return 0;
  }
  let key = hash('sha256', name, 'buffer').readBigUInt64BE();
  let shard = 0;
  for (let next = 0; next < shards;) {
    shard = next;
    key = BigInt.asUintN(64, key * MULTIPLIER + 1n);
    next = Math.floor((shard + 1) * (2 ** 31 / (Number(key >> 33n) + 1)));
  }
  return shard;
}
