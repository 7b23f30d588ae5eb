/** A Prometheus that scrapes one exporter: what it saw last of each counter, and its increases. */

export const LEDGER_COUNTERS = [
  'library_people_entered_total',
  'library_people_exited_total',
  'library_logins_total',
] as const;

const SAMPLE = /^([a-z_]+)\{customer="([^"]*)"(?:,(?:kind|stream)="([^"]*)")?[^}]*\} (\S+)$/gm;

/** The samples of one scrape, by name, customer and the label `kind` or `stream`. */
export class Scrape {
  readonly #values = new Map<string, number>();

  constructor(text: string) {
    for (const [, name, customer, label, value] of text.matchAll(SAMPLE)) {
      this.#values.set(`${name} ${customer} ${label ?? ''}`, Number(value));
    }
  }

  value(name: string, customer: string, label = ''): number | undefined {
    return this.#values.get(`${name} ${customer} ${label}`);
  }
}

export class PrometheusModel {
  readonly #last = new Map<string, number>();
  readonly #increases = new Map<string, number>();

  /** As rate() and increase() do: any decrease is a reset, after which the value counts from 0. */
  ingest(series: string, value: number): void {
    const last = this.#last.get(series);
    if (last !== undefined) {
      const rise = value < last ? value : value - last;
      this.#increases.set(series, (this.#increases.get(series) ?? 0) + rise);
    }
    this.#last.set(series, value);
  }

  /** Since the first scrape that had the series. */
  increase(series: string): number {
    return this.#increases.get(series) ?? 0;
  }
}
