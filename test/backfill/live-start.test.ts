/** `backfill --prometheus.url` against a fake Prometheus. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Terminal } from '../cli/terminal.ts';
import { CALENDAR } from '../support/owner.ts';
import { BackfillFixture, seriesOf } from './fixture.ts';

const ENTERED = 'library_people_entered_total';
const FROM = '--from=2026-11-02T04:00';
/** 11:03:21.456 in Copenhagen. */
const FIRST_MS = Date.UTC(2026, 10, 4, 10, 3, 21, 456);
const PERIOD_MS = CALENDAR.periodAt(FIRST_MS).startMs;
const LABELS = { __name__: ENTERED, customer: 'lone', instance: 'localhost:10096', job: 'library' };

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds and values. */
  readonly samples: readonly (readonly [number, number])[];
}

/** The response to a query of `backfill`, as with --enable-feature=type-and-unit-labels. */
function resultOf(query: string, untilMs: number): readonly object[] {
  const matching = prometheus.series.filter(({ labels }) =>
    ['customer', 'instance', 'job'].every((name) => query.includes(`${name}="${labels[name]}"`)),
  );
  if (query.startsWith('min_over_time(timestamp(count(last_over_time(')) {
    const first = Math.min(...matching.flatMap(({ samples }) => samples.map(([at]) => at)));
    const step = Math.ceil(first / 300_000) * 300;
    return matching.length === 0 ? [] : [{ metric: {}, value: [0, String(step)] }];
  }
  const [, length] = /\[(\d+)ms\]$/.exec(query) ?? [];
  return matching
    .map(({ labels, samples }) => ({
      metric: { __type__: 'counter', __unit__: '', ...labels },
      values: samples
        .filter(([at]) => at > untilMs - Number(length) && at <= untilMs)
        .map(([at, value]) => [at / 1_000, String(value)]),
    }))
    .filter(({ values }) => values.length > 0);
}

async function answerQuery(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const form = new URLSearchParams(await text(incoming));
  const query = form.get('query') ?? '';
  prometheus.queries.push(query);
  prometheus.authorization = incoming.headers.authorization;
  prometheus.onQuery();
  const result = resultOf(query, 1_000 * Number(form.get('time')));
  const { status, body } = prometheus.response ?? {
    status: 200,
    body: JSON.stringify({ status: 'success', data: { result } }),
  };
  outgoing.writeHead(status).end(body);
}

/** A sample every quarter of a minute, for an hour. */
function scraped(value: number, fromMs = FIRST_MS): Series['samples'] {
  return Array.from({ length: 240 }, (_, i) => [fromMs + i * 15_000, value + i]);
}

vi.setConfig({ testTimeout: 120_000 });

let fixture: BackfillFixture;
let host: string;
/** What Prometheus has, and the queries that it got. */
let prometheus: {
  series: readonly Series[];
  response?: { readonly status: number; readonly body: string };
  authorization?: string | undefined;
  /** Called before the response to each query. */
  onQuery: () => void;
  readonly queries: string[];
};
const server = createServer((incoming, outgoing) => void answerQuery(incoming, outgoing));

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(async () => {
  prometheus = { series: [], onQuery() {}, queries: [] };
  fixture = await BackfillFixture.start();
});
afterEach(() => fixture.stop());
afterAll(() => server.close());

test('ends before the first live sample, and not above it', async () => {
  const value = fixture.entered(PERIOD_MS, FIRST_MS) - 4;
  prometheus.series = [{ labels: LABELS, samples: scraped(value) }];
  const { status } = await fixture.run([FROM, `--prometheus.url=http://${host}`]);
  expect(status).toBe(0);
  const samples = seriesOf(fixture.month('2026-11'), ENTERED);
  expect(samples.at(-1)).toEqual({ atMs: FIRST_MS - 456, value });
  expect(Math.max(...samples.map((sample) => sample.value))).toBe(value);
  const before = samples.findLast(({ atMs }) => atMs < FIRST_MS - 86_400_000);
  expect(before?.value).toBeGreaterThan(10);
});

test('ends at the earliest sample of all counters, even if --to is later', async () => {
  prometheus.series = [
    { labels: LABELS, samples: scraped(1e6, FIRST_MS + 3 * 86_400_000) },
    { labels: { ...LABELS, __name__: 'library_logins_total' }, samples: scraped(1e6) },
  ];
  await fixture.run([FROM, '--to=2026-11-06', `--prometheus.url=http://${host}`]);
  expect(seriesOf(fixture.month('2026-11'), ENTERED).at(-1)?.atMs).toBe(FIRST_MS - 456);
  expect(prometheus.queries).toHaveLength(2);
});

test.each([
  [
    'another target',
    { ...LABELS, instance: 'x:1' },
    FIRST_MS,
    'check --job, --instance and --label',
  ],
  ['another label', { ...LABELS, site: 'north' }, FIRST_MS, 'add --label=site=north'],
  [
    'samples since --from',
    LABELS,
    Date.UTC(2026, 10, 2, 3, 1),
    'Prometheus has samples of lone since 2026-11-02T04:01:00+01:00: nothing to write',
  ],
])('explains the problem if Prometheus has %s', async (_name, labels, fromMs, sentence) => {
  prometheus.series = [{ labels, samples: scraped(1, fromMs) }];
  const { status, err, out } = await fixture.run([FROM, `--prometheus.url=http://${host}`]);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(sentence);
  expect(() => fixture.files()).toThrow('ENOENT');
});

test.each([
  [422, '{"status":"error","error":"too many samples"}', 'too many samples'],
  [200, '<html>', 'not a response of Prometheus'],
  [200, '{"data":7}', 'not a response of Prometheus'],
])('fails after status %i with %s, without showing its password', async (status, body, words) => {
  prometheus.response = { status, body };
  const ran = await fixture.run([FROM, `--prometheus.url=http://tom:sardines@${host}/prom/`]);
  expect(ran.status).toBe(1);
  expect(ran.err).toContain(`http://${host}/prom/api/v1/query: status ${status}: ${words}`);
  expect(ran.err).not.toContain('sardines');
  expect(prometheus.authorization).toBe(`Basic ${btoa('tom:sardines')}`);
});

test('stops while it waits for Prometheus', async () => {
  const terminal = new Terminal();
  prometheus.onQuery = () => terminal.terminate();
  const ran = await fixture.run([FROM, `--prometheus.url=http://${host}`], terminal);
  expect(ran).toMatchObject({ status: 143, out: '' });
  expect(ran.err).not.toContain('no response');
});

test('fails if Prometheus does not respond', async () => {
  const ran = await fixture.run([FROM, '--prometheus.url=http://127.0.0.1:1']);
  expect(ran.status).toBe(1);
  expect(ran.err).toContain(': no response (ECONNREFUSED)');
});
