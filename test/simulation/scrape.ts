/** By customer, and by the values of the other labels. */
type Family = Map<string, Map<string, number>>;

/** The samples of one scrape of /metrics, by name, customer and the values of the other labels. */
export class Scrape {
  readonly #text: string;
  readonly #families = new Map<string, Family>();

  constructor(text: string) {
    this.#text = `\n${text}`;
  }

  value(name: string, customer: string, ...labels: readonly string[]): number | undefined {
    return this.values(name, customer).get(labels.join(' '));
  }

  /** The samples of a customer by the values of the other labels. */
  values(name: string, customer: string): ReadonlyMap<string, number> {
    const family = this.#families.get(name) ?? this.#parse(name);
    this.#families.set(name, family);
    return family.get(customer) ?? new Map<string, number>();
  }

  /** The lines of a name follow one another. */
  #parse(name: string): Family {
    const family: Family = new Map();
    const prefix = `\n${name}{customer="`;
    let start = this.#text.indexOf(prefix);
    while (this.#text.startsWith(prefix, start)) {
      const end = this.#text.indexOf('\n', start + 1);
      const line = this.#text.slice(start, end);
      const [, customer = '', ...others] = line.slice(0, line.lastIndexOf('}')).split('"');
      const values = others.filter((_, i) => i % 2 === 1).join(' ');
      const samples = family.get(customer) ?? new Map<string, number>();
      const value = Number(line.slice(line.lastIndexOf(' ') + 1));
      family.set(customer, samples.set(values, value));
      start = end;
    }
    return family;
  }
}
