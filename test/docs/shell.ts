/**
 * As much of a shell, of curl and of jq as the documentation uses, so that a test can run its
 * commands wherever Node.js does. What it does not know, it refuses.
 */

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Runs commands one after the other, with variables between them; gives what each prints. */
export class Shell {
  readonly #variables = new Map<string, string>();
  readonly #fetch: Fetch;

  constructor(fetchIt: Fetch) {
    this.#fetch = fetchIt;
  }

  async run(command: string): Promise<string> {
    const [, name, captured] = /^(\w+)=(?:\$\((.*)\)$)?/.exec(command) ?? [];
    if (name === undefined) {
      return this.#pipeline(command);
    }
    const value =
      captured === undefined
        ? (this.#words(command.slice(name.length + 1))[0] ?? '')
        : (await this.#pipeline(captured)).trimEnd();
    this.#variables.set(name, value);
    return '';
  }

  async #pipeline(text: string): Promise<string> {
    const [curl = '', ...stages] = text.split(' | ');
    let output = await this.#curl(this.#words(curl));
    for (const stage of stages) {
      output = through(stage, output);
    }
    return output;
  }

  async #curl([program, ...words]: readonly string[]): Promise<string> {
    if (program !== 'curl') {
      throw new Error(`${program} is not a command of the documentation's shell`);
    }
    const headers = new Headers();
    const data: string[] = [];
    let method: string | undefined;
    let written = '';
    let url = '';
    const rest = words.values();
    for (const word of rest) {
      if (word === '-s') {
        continue;
      }
      if (!word.startsWith('-')) {
        url = word;
        continue;
      }
      const value = rest.next().value ?? '';
      switch (word) {
        case '-d':
          data.push(value);
          break;
        case '-H':
          headers.append(...headerOf(value));
          break;
        case '-X':
          method = value;
          break;
        case '-w':
          written = value;
          break;
        default:
          throw new Error(`${word} is not an option of the documentation's curl`);
      }
    }
    const hasBody = data.length > 0;
    if (hasBody) {
      headers.set('content-type', 'application/x-www-form-urlencoded');
    }
    const answer = await this.#fetch(url, {
      method: method ?? (hasBody ? 'POST' : 'GET'),
      headers,
      ...(hasBody ? { body: data.join('&') } : {}),
    });
    const after = written.replaceAll('\\n', '\n').replace('%{http_code}', String(answer.status));
    return (await answer.text()) + after;
  }

  /** Single quotes keep what is in them; elsewhere $NAME and ${NAME} are variables. */
  #words(text: string): readonly string[] {
    return Array.from(text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g), ([word]) =>
      Array.from(word.matchAll(/'([^']*)'|"([^"]*)"|[^"']+/g), ([part, single, double]) =>
        single === undefined ? this.#substituted(double ?? part) : single,
      ).join(''),
    );
  }

  #substituted(text: string): string {
    return text.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced?: string, bare?: string) => {
      const value = this.#variables.get(braced ?? bare ?? '');
      if (value === undefined) {
        throw new Error(`the documentation uses ${text} before it sets it`);
      }
      return value;
    });
  }
}

function headerOf(text: string): [name: string, value: string] {
  const colon = text.indexOf(':');
  return [text.slice(0, colon), text.slice(colon + 1).trim()];
}

function through(stage: string, input: string): string {
  const [, flag, filter] = /^jq (?:-(\w) )?'?(.*?)'?$/.exec(stage) ?? [];
  if (filter === undefined) {
    throw new Error(`${stage} is not a part of the documentation's shell`);
  }
  const document: unknown = JSON.parse(input);
  const values = filter.split(', ').flatMap((path) => valuesAt(document, path));
  return values
    .map((value) =>
      flag === 'r' && typeof value === 'string'
        ? `${value}\n`
        : `${JSON.stringify(value, undefined, flag === 'c' ? undefined : 2)}\n`,
    )
    .join('');
}

/** Of a path like `.metadata` or `.result[].key`; `.` is the whole. */
function valuesAt(document: unknown, path: string): readonly unknown[] {
  return path
    .split('.')
    .slice(1)
    .filter((step) => step !== '')
    .reduce<readonly unknown[]>(
      (values, step) => {
        const found = values.map((value) => Object(value)[step.replace('[]', '')] as unknown);
        return step.endsWith('[]') ? found.flat() : found;
      },
      [document],
    );
}
