const CUSTOMER = 'customer="';
const NEW_LINE = '\n';

type Family = Map<string, Map<string, number>>;

/** The samples of one scrape of /metrics, by name, customer and the values of the other labels. */
export class Scrape {
  /** The lines of a name; they are parsed when they are first asked for. */
  readonly #lines = new Map<string, string>();
  readonly #families = new Map<string, Family>();

  constructor(text: string) {
    for (let start = 0; start < text.length;) {
      const isComment = text[start] === '#';
      const prefix = isComment ? '#' : text.slice(start, text.indexOf('{', start) + 1);
      let end = start;
      do {
        end = text.indexOf(NEW_LINE, end) + 1;
      } while (end > 0 && text.startsWith(prefix, end));
      if (end === 0) {
        throw new Error('the scrape does not end with a new line');
      }
      if (!isComment) {
        const name = prefix.slice(0, -1);
        this.#lines.set(name, (this.#lines.get(name) ?? '') + text.slice(start, end));
      }
      start = end;
    }
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

  #parse(name: string): Family {
    const family: Family = new Map();
    for (const line of (this.#lines.get(name) ?? '').split(NEW_LINE)) {
      const labels = line.slice(name.length + 1, line.lastIndexOf('}'));
      if (labels.startsWith(CUSTOMER)) {
        const [, customer = '', ...others] = labels.split('"');
        const values = others.filter((_, i) => i % 2 === 1).join(' ');
        const samples = family.get(customer) ?? new Map<string, number>();
        const value = Number(line.slice(line.lastIndexOf(' ') + 1));
        family.set(customer, samples.set(values, value));
      }
    }
    return family;
  }
}
