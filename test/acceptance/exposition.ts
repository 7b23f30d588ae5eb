/** Reads Prometheus's text format and OpenMetrics strictly: an odd line is an error. */
export type Labels = Readonly<Record<string, string>>;

const COMMENT = /^# (HELP|TYPE) (\S+) (.+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\.)*)"/;
const SAMPLE = new RegExp(
  String.raw`^([a-zA-Z_:][\w:]*)(?:\{(${LABEL.source}(?:,${LABEL.source})*)\})? (\S+)$`,
);

/** One name for a series, whatever the order of its labels. */
export function seriesName(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${name}${JSON.stringify(pairs)}`;
}

export class Exposition {
  readonly samples: ReturnType<typeof readSample>[] = [];
  readonly help = new Map<string, string>();
  readonly type = new Map<string, string>();
  readonly #values = new Map<string, number>();

  /** Throws with the line that does not belong into an exposition, or that is there twice. */
  constructor(text: string) {
    for (const line of text.split('\n').filter((one) => one !== '' && one !== '# EOF')) {
      const [, keyword, family = '', about = ''] = COMMENT.exec(line) ?? [];
      if (keyword !== undefined) {
        setOnce(keyword === 'TYPE' ? this.type : this.help, family, about);
      } else {
        const sample = readSample(line);
        setOnce(this.#values, seriesName(sample.name, sample.labels), sample.value);
        this.samples.push(sample);
      }
    }
  }

  /** The sample with exactly these labels. */
  value(name: string, labels: Labels = {}): number | undefined {
    return this.#values.get(seriesName(name, labels));
  }

  all(name: string) {
    return this.samples.filter((sample) => sample.name === name);
  }
}

function setOnce<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.has(key)) {
    throw new Error(`there twice: ${key}`);
  }
  map.set(key, value);
}

function readSample(line: string) {
  const match = SAMPLE.exec(line);
  const [name, pairs = '', text = ''] = [match?.[1], match?.[2], match?.at(-1)];
  const value = Number(text.replace('Inf', 'Infinity'));
  if (name === undefined || (Number.isNaN(value) && text !== 'NaN')) {
    throw new Error(`no sample: ${line}`);
  }
  const labels = Array.from(
    pairs.matchAll(new RegExp(LABEL, 'g')),
    // The escapes are JSON's.
    ([, label = '', quoted]) => [label, JSON.parse(`"${quoted}"`) as string],
  );
  return { name, labels: Object.fromEntries(labels) as Labels, value };
}
