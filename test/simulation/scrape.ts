const SAMPLE = /^([a-z_]+)\{customer="([^"]*)"(?:,([^}]*))?\} (\S+)$/gm;
const LABEL_VALUE = /"([^"]*)"/g;

/** The samples of one scrape of /metrics, by name, customer and the values of the other labels. */
export class Scrape {
  readonly #samples = new Map<string, Map<string, number>>();

  constructor(text: string) {
    for (const [, name = '', customer = '', labels = '', value] of text.matchAll(SAMPLE)) {
      const values = Array.from(labels.matchAll(LABEL_VALUE), ([, label]) => label);
      const family = this.#samples.get(`${name} ${customer}`) ?? new Map<string, number>();
      this.#samples.set(`${name} ${customer}`, family.set(values.join(' '), Number(value)));
    }
  }

  value(name: string, customer: string, ...labels: readonly string[]): number | undefined {
    return this.values(name, customer).get(labels.join(' '));
  }

  /** The samples of a customer by the values of the other labels. */
  values(name: string, customer: string): ReadonlyMap<string, number> {
    return this.#samples.get(`${name} ${customer}`) ?? new Map<string, number>();
  }
}
