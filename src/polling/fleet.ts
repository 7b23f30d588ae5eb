/** The customers of a configuration as things that count; those that a new one leaves alone stay. */
import type { Config, CustomerConfig } from '../config/types.ts';
import { Calendar } from '../counting/calendar.ts';
import { Customer } from '../counting/customer.ts';
import type { Marks } from '../counting/marks.ts';
import { createOpeningHoursParser } from '../counting/opening-hours.ts';
import { Zone } from '../counting/zone.ts';

export interface Member {
  readonly customer: Customer;
  readonly config: CustomerConfig;
  readonly service: string;
}

export class Fleet {
  readonly #marks: Marks;
  /** One for all: customers with the same hours share what it finds out. */
  readonly #parseOpeningHours = createOpeningHoursParser();
  #members = new Map<string, Member>();

  constructor(marks: Marks) {
    this.#marks = marks;
  }

  /** The customers of `config`, in its order. One whose settings are as before is the same object. */
  update(config: Config): readonly Member[] {
    const service = config.service.baseUrl;
    const members = config.customers.map((customerConfig): Member => {
      const known = this.#members.get(customerConfig.name);
      return known?.service === service && areSame(known.config, customerConfig)
        ? known
        : { config: customerConfig, service, customer: this.#create(customerConfig, service) };
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

  #create(config: CustomerConfig, service: string): Customer {
    const { name, timezone, labels, capacity, openingHours, holidays, streams, clientId } = config;
    return new Customer({
      name,
      timezone,
      labels,
      capacity,
      openingHours:
        openingHours === undefined ? undefined : this.#parseOpeningHours(openingHours, holidays),
      calendar: new Calendar(new Zone(timezone), config.dayStartsAt),
      streams,
      owner: { service, clientId, customer: name },
      marks: this.#marks,
    });
  }
}

/** Secrets print alike, so they are compared by themselves. */
function areSame(a: CustomerConfig, b: CustomerConfig): boolean {
  return (
    JSON.stringify(a) === JSON.stringify(b) && a.clientSecret.secret.equals(b.clientSecret.secret)
  );
}
