/** The customers of a configuration as things that count; those that a new one leaves alone stay. */
import type { Config, CustomerConfig } from '../config/types.ts';
import { Calendar } from '../counting/calendar.ts';
import { Customer } from '../counting/customer.ts';
import type { CustomerDescription } from '../counting/description.ts';
import type { HighWaterMarks } from '../counting/high-water-marks.ts';
import { createOpeningHoursParser } from '../counting/opening-hours.ts';
import type { OpeningHoursParser } from '../counting/opening-hours.ts';
import { Zone } from '../counting/zone.ts';

export interface RegisteredCustomer {
  readonly customer: Customer;
  readonly config: CustomerConfig;
  readonly service: string;
}

export class CustomerRegistry {
  readonly #marks: HighWaterMarks;
  #members = new Map<string, RegisteredCustomer>();
  /** By name: what is found out of a time zone serves all who live in it. */
  readonly #zones = new Map<string, Zone>();
  /** By zone and start of the day, for the same reason. */
  readonly #calendars = new Map<string, Calendar>();

  constructor(marks: HighWaterMarks) {
    this.#marks = marks;
  }

  /**
   * The customers of `config`, in its order. One that counts as before goes on with what it has
   * counted; a member whose settings are all as before is the same object.
   */
  update(config: Config): readonly RegisteredCustomer[] {
    const service = config.service.baseUrl;
    // One for all: customers with the same hours share what it finds out. Not kept, for it forgets nothing.
    const parseOpeningHours = createOpeningHoursParser();
    const members = config.customers.map((customerConfig): RegisteredCustomer => {
      const known = this.#members.get(customerConfig.name);
      const description = descriptionOf(customerConfig, parseOpeningHours);
      const isKnown = known?.service === service && countsAlike(known.config, customerConfig);
      const customer = isKnown
        ? known.customer
        : this.#create(customerConfig, service, description);
      customer.describe(description);
      customer.breakDown({
        breakdowns: customerConfig.breakdowns,
        branchNames: customerConfig.branches,
        intervalMs: config.polling.breakdownIntervalMs,
      });
      return isKnown && areSame(known.config, customerConfig)
        ? known
        : { config: customerConfig, service, customer };
    });
    this.#members = new Map(members.map((member) => [member.config.name, member]));
    return members;
  }

  get(customer: string): Customer | undefined {
    return this.#members.get(customer)?.customer;
  }

  get customers(): readonly Customer[] {
    return [...this.#members.values()].map(({ customer }) => customer);
  }

  #create(config: CustomerConfig, service: string, description: CustomerDescription): Customer {
    const { name, timezone, streams, clientId } = config;
    return new Customer({
      name,
      timezone,
      description,
      calendar: this.#calendarOf(config),
      streams,
      owner: { service, clientId, customer: name },
      marks: this.#marks,
    });
  }

  #calendarOf({ timezone, dayStartsAt }: CustomerConfig): Calendar {
    const key = `${timezone} ${dayStartsAt.hour}:${dayStartsAt.minute}`;
    const calendar = this.#calendars.get(key) ?? new Calendar(this.#zoneOf(timezone), dayStartsAt);
    this.#calendars.set(key, calendar);
    return calendar;
  }

  #zoneOf(timezone: string): Zone {
    const zone = this.#zones.get(timezone) ?? new Zone(timezone);
    this.#zones.set(timezone, zone);
    return zone;
  }
}

/** What the settings tell of a customer. */
export function descriptionOf(
  config: CustomerConfig,
  parse: OpeningHoursParser,
): CustomerDescription {
  const { labels, capacity, openingHours, holidays } = config;
  return {
    labels,
    capacity,
    openingHours: openingHours === undefined ? undefined : parse(openingHours, holidays),
  };
}

/** Whether what was counted goes on: the rest of the settings describes the customer only. */
function countsAlike(a: CustomerConfig, b: CustomerConfig): boolean {
  function counted({ clientId, timezone, dayStartsAt, streams }: CustomerConfig): string {
    return JSON.stringify([clientId, timezone, dayStartsAt, streams]);
  }
  return counted(a) === counted(b);
}

/** Secrets print alike, so they are compared by themselves. */
function areSame(a: CustomerConfig, b: CustomerConfig): boolean {
  return (
    JSON.stringify(a) === JSON.stringify(b) && a.clientSecret.secret.equals(b.clientSecret.secret)
  );
}
