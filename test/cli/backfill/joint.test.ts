/** The joint with a running exporter, as a Prometheus tells it; what it says is given here by hand. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { Calendar } from '../../../src/counting/calendar.ts';
import { Zone } from '../../../src/counting/zone.ts';
import { Terminal } from '../terminal.ts';
import { BackfillWorld, seriesOf } from './world.ts';

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

/** Knows just the queries that are asked. */
class FakePrometheus {
  readonly queries: string[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  series: Readonly<Record<string, readonly Series[]>> = {};
  answer: { readonly status: number; readonly body: string } | undefined;
  /** Told of each query before it is answered. */
  asked: () => void = () => {};
  readonly #server: Server;

  constructor() {
    this.#server = createServer((incoming, outgoing) => {
      let form = '';
      incoming.setEncoding('utf8').on('data', (text: string) => (form += text));
      incoming.on('end', () => {
        const asked = new URLSearchParams(form);
        this.queries.push(`${incoming.url ?? ''} ${asked.get('query') ?? ''}`);
        this.headers.push(incoming.headers);
        this.asked();
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
    const raw = /^(\w+)\{(.*)\}\[5m\]$/.exec(query);
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
        metric: raw ? { __name__: metric, ...labels } : labels,
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

let world: BackfillWorld;
let prometheus: FakePrometheus;
let host: string;

beforeEach(async () => {
  world = await BackfillWorld.started();
  prometheus = new FakePrometheus();
  host = await prometheus.start();
});
afterEach(async () => {
  await world.stop();
  await prometheus.stop();
});

function trueTotal(): number {
  return (
    world.service.served('lone', PERIOD_MS).entered - world.service.served('lone', FIRST_MS).entered
  );
}

test('ends a moment before the first live sample, and not above it', async () => {
  const value = trueTotal() - 4;
  prometheus.series = { [ENTERED]: [{ labels: LABELS, samples: scraped(value) }] };
  const { status } = await world.run([FROM, `--prometheus.url=http://${host}`]);
  expect(status).toBe(0);
  const samples = seriesOf(world.month('2026-11'), ENTERED);
  expect(samples.at(-1)).toEqual({ atMs: FIRST_MS - 456, value });
  expect(Math.max(...samples.map((sample) => sample.value))).toBe(value);
  const before = samples.findLast(({ atMs }) => atMs < FIRST_MS - 86_400_000);
  expect(before?.value).toBeGreaterThan(10);
});

test('takes the earliest of all counters, found with three queries of each', async () => {
  const late = FIRST_MS + 3 * 86_400_000;
  prometheus.series = {
    [ENTERED]: [{ labels: LABELS, samples: scraped(1e6, late) }],
    library_logins_total: [{ labels: LABELS, samples: scraped(1e6) }],
  };
  await world.run([FROM, `--prometheus.url=http://${host}`]);
  expect(seriesOf(world.month('2026-11'), ENTERED).at(-1)?.atMs).toBe(FIRST_MS - 456);
  // Of two counters three queries each, of the one that is not there only the first.
  expect(prometheus.queries).toHaveLength(7);
});

test('keeps what it was told first when it goes on', async () => {
  prometheus.series = { [ENTERED]: [{ labels: LABELS, samples: scraped(1e6) }] };
  const flags = [FROM, `--prometheus.url=http://${host}`];
  await world.run(flags);
  const asked = prometheus.queries.length;
  prometheus.series = { [ENTERED]: [{ labels: LABELS, samples: scraped(1, FIRST_MS - 9e7) }] };
  const before = world.month('2026-11');
  expect((await world.run(flags)).status).toBe(0);
  expect(prometheus.queries).toHaveLength(asked);
  expect(world.month('2026-11')).toBe(before);
});

test('is not moved past the first live sample by --to', async () => {
  prometheus.series = { [ENTERED]: [{ labels: LABELS, samples: scraped(1e6) }] };
  await world.run([FROM, '--to=2026-11-06', `--prometheus.url=http://${host}`]);
  expect(seriesOf(world.month('2026-11'), ENTERED).at(-1)?.atMs).toBe(FIRST_MS - 456);
});

test.each([
  ['nothing at all', [], 'has no library_people_entered_total in all that time'],
  [
    'another target',
    [{ labels: { ...LABELS, instance: 'x:1' }, samples: scraped(1) }],
    'it has those of --job=library --instance=x:1',
  ],
  [
    'another label',
    [{ labels: { ...LABELS, site: 'north' }, samples: scraped(1) }],
    'add --label=site=north',
  ],
  [
    'samples since --from',
    [{ labels: LABELS, samples: scraped(1, Date.UTC(2026, 10, 2, 3, 1)) }],
    'Prometheus has samples of lone from 2026-11-02T04:01:00+01:00 on',
  ],
])('says what is wrong where Prometheus has %s', async (_name, series, sentence) => {
  prometheus.series = { [ENTERED]: series };
  const { status, err, out } = await world.run([FROM, `--prometheus.url=http://${host}`]);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(sentence);
  expect(() => world.files()).toThrow('ENOENT');
});

test.each([
  [
    'an error',
    422,
    '{"status":"error","error":"too many samples"}',
    'answers 422: too many samples',
  ],
  ['a login page', 200, '<html>', 'answers 200, and not as Prometheus does'],
  ['no answer of a query', 200, '{"data":7}', 'answers 200, and not as Prometheus does'],
])(
  'says so where Prometheus gives %s, without its password',
  async (_name, status, body, words) => {
    prometheus.answer = { status, body };
    const ran = await world.run([FROM, `--prometheus.url=http://tom:sardines@${host}/prom/`]);
    expect(ran.status).toBe(1);
    expect(ran.err).toContain(`http://${host}/prom/api/v1/query_range ${words}`);
    expect(ran.err).not.toContain('sardines');
    expect(prometheus.headers[0]?.authorization).toBe(
      `Basic ${Buffer.from('tom:sardines').toString('base64')}`,
    );
  },
);

test("asks for a customer by the letters of its name, of which Prometheus's patterns escape only signs", async () => {
  await world.stop();
  world = new BackfillWorld({ libraries: { 'Ærø (øst) & 𝔏': {} } });
  await world.start();
  await world.run([FROM, `--prometheus.url=http://${host}`]);
  expect(prometheus.queries[0]).toContain('customer=~"Ærø \\\\(øst\\\\) & 𝔏"');
});

test('is stopped while Prometheus is asked as at any other time', async () => {
  const terminal = new Terminal();
  prometheus.asked = () => terminal.terminate();
  const ran = await world.run([FROM, `--prometheus.url=http://${host}`], terminal);
  expect(ran).toMatchObject({ status: 0, out: 'stopped before anything was written\n' });
  expect(ran.err).not.toContain('does not answer');
});

test('says so where nobody answers', async () => {
  await prometheus.stop();
  const ran = await world.run([FROM, `--prometheus.url=http://${host}`]);
  expect(ran.status).toBe(1);
  expect(ran.err).toContain('does not answer (ECONNREFUSED): is it the address of a Prometheus?');
  prometheus = new FakePrometheus();
  await prometheus.start();
});
