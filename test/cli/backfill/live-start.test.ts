/** `backfill --prometheus.url` against a fake Prometheus. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { Calendar } from '../../../src/counting/calendar.ts';
import { Zone } from '../../../src/counting/zone.ts';
import { Terminal } from '../terminal.ts';
import { BackfillFixture, seriesOf } from './fixture.ts';

const ENTERED = 'library_people_entered_total';
const FROM = '--from=2026-11-02T04:00';
/** 11:03:21.456 in Copenhagen. */
const FIRST_MS = Date.UTC(2026, 10, 4, 10, 3, 21, 456);
const CALENDAR = new Calendar(new Zone('Europe/Copenhagen'), { hour: 4, minute: 0 });
const PERIOD_MS = CALENDAR.periodAt(FIRST_MS).startMs;
const ADDRESS = z.object({ port: z.number() });
const LABELS = { customer: 'lone', instance: 'localhost:10096', job: 'library' };

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds and values. */
  readonly samples: readonly (readonly [number, number])[];
}

/** Answers only the queries that `backfill` sends, as with --enable-feature=type-and-unit-labels. */
class FakePrometheus {
  readonly queries: string[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  series: Readonly<Record<string, readonly Series[]>> = {};
  answer: { readonly status: number; readonly body: string } | undefined;
  /** Called before each query is answered. */
  onQuery: () => void = () => {};
  readonly #server: Server;

  constructor() {
    this.#server = createServer((incoming, outgoing) => {
      let form = '';
      incoming.setEncoding('utf8').on('data', (text: string) => (form += text));
      incoming.on('end', () => {
        const asked = new URLSearchParams(form);
        this.queries.push(`${incoming.url ?? ''} ${asked.get('query') ?? ''}`);
        this.headers.push(incoming.headers);
        this.onQuery();
        const result = this.answer === undefined ? this.#result(asked) : [];
        const { status = 200, body = JSON.stringify({ status: 'success', data: { result } }) } =
          this.answer ?? {};
        outgoing.writeHead(status).end(body);
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${ADDRESS.parse(this.#server.address()).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #result(asked: URLSearchParams): readonly object[] {
    const query = asked.get('query') ?? '';
    if (query.startsWith('group by')) {
      return (this.series[ENTERED] ?? []).map(({ labels }) => ({
        metric: { job: labels['job'], instance: labels['instance'] },
        value: [0, '1'],
      }));
    }
    const counted = /^count_over_time\((\w+)\{(.*)\}\[(\d+)ms\]\)$/.exec(query);
    const raw = /^(\w+)\{(.*)\}\[300000ms\]$/.exec(query);
    const [, metric = '', matchers = '', length = '300000'] = counted ?? raw ?? [];
    const [start, end, step] = ['start', 'end', 'step'].map(
      (name) => 1000 * Number(asked.get(name)),
    );
    const times = raw ? [1000 * Number(asked.get('time'))] : [];
    for (let at = start ?? 0; !raw && at <= (end ?? 0); at += step ?? Infinity) {
      times.push(at);
    }
    return (this.series[metric] ?? [])
      .filter(({ labels }) => matchers.includes(`instance="${labels['instance']}"`))
      .map(({ labels, samples }) => ({
        metric: raw ? { __name__: metric, __type__: 'counter', __unit__: '', ...labels } : labels,
        values: times.flatMap((time) => {
          const within = samples.filter(([at]) => at > time - Number(length) && at <= time);
          return raw
            ? within.map(([at, value]) => [at / 1000, String(value)])
            : within.length === 0
              ? []
              : [[time / 1000, String(within.length)]];
        }),
      }))
      .filter(({ values }) => values.length > 0);
  }
}

/** A sample every quarter of a minute, for an hour. */
function scraped(value: number, fromMs = FIRST_MS): Series['samples'] {
  return Array.from({ length: 240 }, (_, i) => [fromMs + i * 15_000, value + i]);
}

vi.setConfig({ testTimeout: 120_000 });

let fixture: BackfillFixture;
let prometheus: FakePrometheus;
let host: string;

beforeEach(async () => {
  fixture = await BackfillFixture.start();
  prometheus = new FakePrometheus();
  host = await prometheus.start();
});
afterEach(async () => {
  await fixture.stop();
  await prometheus.stop();
});

function trueTotal(): number {
  return (
    fixture.service.served('lone', PERIOD_MS).entered -
    fixture.service.served('lone', FIRST_MS).entered
  );
}

test('ends before the first live sample, and not above it', async () => {
  const value = trueTotal() - 4;
  prometheus.series = { [ENTERED]: [{ labels: LABELS, samples: scraped(value) }] };
  const { status } = await fixture.run([FROM, `--prometheus.url=http://${host}`]);
  expect(status).toBe(0);
  const samples = seriesOf(fixture.month('2026-11'), ENTERED);
  expect(samples.at(-1)).toEqual({ atMs: FIRST_MS - 456, value });
  expect(Math.max(...samples.map((sample) => sample.value))).toBe(value);
  const before = samples.findLast(({ atMs }) => atMs < FIRST_MS - 86_400_000);
  expect(before?.value).toBeGreaterThan(10);
});

test('ends at the earliest sample of all counters, found with three queries each', async () => {
  const late = FIRST_MS + 3 * 86_400_000;
  prometheus.series = {
    [ENTERED]: [{ labels: LABELS, samples: scraped(1e6, late) }],
    library_logins_total: [{ labels: LABELS, samples: scraped(1e6) }],
  };
  await fixture.run([FROM, `--prometheus.url=http://${host}`]);
  expect(seriesOf(fixture.month('2026-11'), ENTERED).at(-1)?.atMs).toBe(FIRST_MS - 456);
  // Only one query for the counter that is absent.
  expect(prometheus.queries).toHaveLength(7);
});

test('ends at the first live sample even if --to is later', async () => {
  prometheus.series = { [ENTERED]: [{ labels: LABELS, samples: scraped(1e6) }] };
  await fixture.run([FROM, '--to=2026-11-06', `--prometheus.url=http://${host}`]);
  expect(seriesOf(fixture.month('2026-11'), ENTERED).at(-1)?.atMs).toBe(FIRST_MS - 456);
});

test.each([
  ['no sample', [], 'has no library_people_entered_total since --from'],
  [
    'another target',
    [{ labels: { ...LABELS, instance: 'x:1' }, samples: scraped(1) }],
    'it has series with --job=library --instance=x:1',
  ],
  [
    'another label',
    [{ labels: { ...LABELS, site: 'north' }, samples: scraped(1) }],
    'add --label=site=north',
  ],
  [
    'samples since --from',
    [{ labels: LABELS, samples: scraped(1, Date.UTC(2026, 10, 2, 3, 1)) }],
    'Prometheus has samples of lone since 2026-11-02T04:01:00+01:00: nothing to write',
  ],
])('explains the problem if Prometheus has %s', async (_name, series, sentence) => {
  prometheus.series = { [ENTERED]: series };
  const { status, err, out } = await fixture.run([FROM, `--prometheus.url=http://${host}`]);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(sentence);
  expect(() => fixture.files()).toThrow('ENOENT');
});

test.each([
  [
    'an error',
    422,
    '{"status":"error","error":"too many samples"}',
    'status 422: too many samples',
  ],
  ['a login page', 200, '<html>', 'status 200: not a response of Prometheus'],
  ['no answer of a query', 200, '{"data":7}', 'status 200: not a response of Prometheus'],
])(
  'fails if Prometheus returns %s, without showing its password',
  async (_name, status, body, words) => {
    prometheus.answer = { status, body };
    const ran = await fixture.run([FROM, `--prometheus.url=http://tom:sardines@${host}/prom/`]);
    expect(ran.status).toBe(1);
    expect(ran.err).toContain(`http://${host}/prom/api/v1/query_range: ${words}`);
    expect(ran.err).not.toContain('sardines');
    expect(prometheus.headers[0]?.authorization).toBe(
      `Basic ${Buffer.from('tom:sardines').toString('base64')}`,
    );
  },
);

test('escapes the name of a customer as regular expressions of Prometheus need it', async () => {
  await fixture.stop();
  fixture = await BackfillFixture.start({ libraries: { 'Ærø (øst) & 𝔏': {} } });
  await fixture.run([FROM, `--prometheus.url=http://${host}`]);
  expect(prometheus.queries[0]).toContain('customer=~"Ærø \\\\(øst\\\\) & 𝔏"');
});

test('stops while it waits for Prometheus', async () => {
  const terminal = new Terminal();
  prometheus.onQuery = () => terminal.terminate();
  const ran = await fixture.run([FROM, `--prometheus.url=http://${host}`], terminal);
  expect(ran).toMatchObject({ status: 143, out: '' });
  expect(ran.err).not.toContain('no response');
});

test('fails if Prometheus does not respond', async () => {
  await prometheus.stop();
  const ran = await fixture.run([FROM, `--prometheus.url=http://${host}`]);
  expect(ran.status).toBe(1);
  expect(ran.err).toContain(': no response (ECONNREFUSED)');
  prometheus = new FakePrometheus();
  await prometheus.start();
});
