/**
 * A reader of Prometheus's text format and of OpenMetrics, just large enough for the checks and
 * strict about what it reads: an odd line is an error.
 */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

const samplePattern = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const labelPattern = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\.)*)"(?:,|$)/gy;

/** One name for a series, whatever the order of its labels. */
export function seriesName(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${name}{${pairs.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(',')}}`;
}

export class Exposition {
  readonly samples: readonly Sample[];
  readonly help = new Map<string, string>();
  readonly type = new Map<string, string>();
  readonly #values = new Map<string, number>();

  /** Throws with the line that does not belong into an exposition, or that is there twice. */
  constructor(text: string) {
    const samples: Sample[] = [];
    for (const line of text.split('\n')) {
      if (line === '' || line === '# EOF') {
        continue;
      }
      if (line.startsWith('#')) {
        this.#readComment(line);
        continue;
      }
      const sample = readSample(line);
      const series = seriesName(sample.name, sample.labels);
      if (this.#values.has(series)) {
        throw new Error(`there twice: ${line}`);
      }
      this.#values.set(series, sample.value);
      samples.push(sample);
    }
    this.samples = samples;
  }

  /** The sample with exactly these labels. */
  value(name: string, labels: Labels = {}): number | undefined {
    return this.#values.get(seriesName(name, labels));
  }

  all(name: string): readonly Sample[] {
    return this.samples.filter((sample) => sample.name === name);
  }

  #readComment(line: string): void {
    const [, keyword, name = '', rest = ''] = line.match(/^# (HELP|TYPE|UNIT) (\S+) (.+)$/) ?? [];
    const known = keyword === 'HELP' ? this.help : keyword === 'TYPE' ? this.type : undefined;
    if (keyword === undefined || known?.has(name)) {
      throw new Error(`no comment of the format, or there twice: ${line}`);
    }
    known?.set(name, rest);
  }
}

function readSample(line: string): Sample {
  const [, name, labelText = '', number = ''] = line.match(samplePattern) ?? [];
  const value = Number(number.replace('+Inf', 'Infinity').replace('-Inf', '-Infinity'));
  if (name === undefined || (Number.isNaN(value) && !/^nan$/i.test(number))) {
    throw new Error(`no sample: ${line}`);
  }
  const labels: Record<string, string> = {};
  let readTo = 0;
  for (const match of labelText.matchAll(labelPattern)) {
    const [whole, label = '', text = ''] = match;
    labels[label] = text.replaceAll(/\\(.)/g, (_, escaped: string) =>
      escaped === 'n' ? '\n' : escaped,
    );
    readTo += whole.length;
  }
  if (readTo !== labelText.length) {
    throw new Error(`no labels: ${line}`);
  }
  return { name, labels, value };
}
