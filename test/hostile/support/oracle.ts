/**
 * What an answer is worth, by the letter of service-interface.md and nothing of the exporter's own
 * code: the sums of a whole good one, or nothing.
 */
export type Sums = readonly number[];

const FIELDS = { peoplecount: ['in', 'out'], login: ['value'] } as const;

/** Sums of each count of the rows; undefined where any of it is not as it must be. */
export function sumsOf(endpoint: keyof typeof FIELDS, body: Uint8Array): Sums | undefined {
  try {
    const { metadata, result } = recordOf(JSON.parse(textOf(body)));
    const { aggregation, startToken } = recordOf(metadata);
    need(typeof aggregation === 'string' && aggregation !== '' && aggregation.length <= 64);
    need([undefined, null, ''].includes(startToken as undefined));
    need(Array.isArray(result));
    const rows = (result as unknown[]).map(recordOf);
    rows.forEach(({ key }) => need(isKey(key)));
    return FIELDS[endpoint].map((field) => {
      const counts = rows.map((row) => row[field]);
      counts.forEach((count) => need(Number.isSafeInteger(count) && Number(count) >= 0));
      const sum = counts.reduce<number>((total, count) => total + Number(count), 0);
      need(Number.isSafeInteger(sum));
      return sum;
    });
  } catch {
    return undefined;
  }
}

function textOf(body: Uint8Array): string {
  const text = Buffer.from(body).toString('utf8');
  // What is no UTF-8 does not come back as it was.
  need(Buffer.from(text, 'utf8').equals(body));
  return text.replace(/^\ufeff/, '');
}

/** Own fields only. */
function recordOf(value: unknown): Record<string, unknown> {
  need(typeof value === 'object' && value !== null && !Array.isArray(value));
  return Object.assign(Object.create(null) as Record<string, unknown>, ownFields(value as object));
}

function ownFields(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== '__proto__'));
}

function isKey(key: unknown): boolean {
  return typeof key === 'string' ? key.length <= 64 : Number.isSafeInteger(key);
}

function need(fact: boolean): void {
  if (!fact) {
    throw new Error('not a good answer');
  }
}
