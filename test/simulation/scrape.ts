const SAMPLE = /^([a-z_]+)\{customer="([^"]*)"(?:,(?:counter|stream)="([^"]*)")?[^}]*\} (\S+)$/gm;

/** The samples of one scrape of /metrics, by name, customer and the label `counter` or `stream`. */
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
