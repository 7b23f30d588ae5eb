/** `backfill --prometheus.url` against a fake Prometheus. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Terminal } from '../cli/terminal.ts';
import { CALENDAR } from '../support/owner.ts';
import { body, json, startScriptedServer } from '../support/scripted-server.ts';
import type { ScriptedServer } from '../support/scripted-server.ts';
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
function resultOf(series: readonly Series[], form: string): readonly object[] {
  const { query = '', time } = Object.fromEntries(new URLSearchParams(form));
  const untilMs = 1_000 * Number(time);
  const matching = series.filter(({ labels }) =>
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

/** A sample every quarter of a minute, for an hour. */
function scraped(value: number, fromMs = FIRST_MS): Series['samples'] {
  return Array.from({ length: 240 }, (_, i) => [fromMs + i * 15_000, value + i]);
}

vi.setConfig({ testTimeout: 120_000 });

let fixture: BackfillFixture;
let prometheus: ScriptedServer;

beforeEach(async () => {
  fixture = await BackfillFixture.start();
});
afterEach(() => fixture.stop());

/** Starts a Prometheus that has these series. Returns the flag that names it. */
async function startPrometheus(...series: readonly Series[]): Promise<string> {
  prometheus = await startScriptedServer();
  prometheus.data = (request, response) => {
    const data = { result: resultOf(series, request.body) };
    json(200, { status: 'success', data })(request, response);
  };
  return `--prometheus.url=${prometheus.url}`;
}

test('ends before the first live sample, and not above it', async () => {
  const value = fixture.entered(PERIOD_MS, FIRST_MS) - 4;
  const flag = await startPrometheus({ labels: LABELS, samples: scraped(value) });
  const { status } = await fixture.run([FROM, flag]);
  expect(status).toBe(0);
  const samples = seriesOf(fixture.month('2026-11'), ENTERED);
  expect(samples.at(-1)).toEqual({ atMs: FIRST_MS - 456, value });
  expect(Math.max(...samples.map((sample) => sample.value))).toBe(value);
  const before = samples.findLast(({ atMs }) => atMs < FIRST_MS - 86_400_000);
  expect(before?.value).toBeGreaterThan(10);
});

test('ends at the earliest sample of all counters, even if --to is later', async () => {
  const flag = await startPrometheus(
    { labels: LABELS, samples: scraped(1e6, FIRST_MS + 3 * 86_400_000) },
    { labels: { ...LABELS, __name__: 'library_logins_total' }, samples: scraped(1e6) },
  );
  await fixture.run([FROM, '--to=2026-11-06', flag]);
  expect(seriesOf(fixture.month('2026-11'), ENTERED).at(-1)?.atMs).toBe(FIRST_MS - 456);
  expect(prometheus.received).toHaveLength(2);
});

const SINCE_FROM = 'samples of lone since 2026-11-02T04:01:00+01:00: nothing to write';

test.each([
  ['another target', { instance: 'x:1' }, FIRST_MS, 'check --job, --instance and --label'],
  ['another label', { site: 'north' }, FIRST_MS, 'add --label=site=north'],
  ['samples since --from', {}, Date.UTC(2026, 10, 2, 3, 1), `Prometheus has ${SINCE_FROM}`],
])('explains the problem if Prometheus has %s', async (_name, changes, fromMs, sentence) => {
  const labels = { ...LABELS, ...changes };
  const flag = await startPrometheus({ labels, samples: scraped(1, fromMs) });
  const { status, err, out } = await fixture.run([FROM, flag]);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(sentence);
  expect(() => fixture.files()).toThrow('ENOENT');
});

test.each([
  [422, '{"status":"error","error":"too many samples"}', 'too many samples'],
  [200, '<html>', 'not a response of Prometheus'],
  [200, '{"data":7}', 'not a response of Prometheus'],
])('fails after status %i with %s, without showing its password', async (status, text, words) => {
  const flag = await startPrometheus();
  prometheus.data = body(text, {}, status);
  const ran = await fixture.run([FROM, `${flag.replace('//', '//tom:sardines@')}/prom/`]);
  expect(ran.status).toBe(1);
  expect(ran.err).toContain(`${prometheus.url}/prom/api/v1/query: status ${status}: ${words}`);
  expect(ran.err).not.toContain('sardines');
  const [{ headers } = { headers: {} }] = prometheus.received;
  expect(headers).toMatchObject({ authorization: `Basic ${btoa('tom:sardines')}` });
});

test('stops while it waits for Prometheus', async () => {
  const terminal = new Terminal();
  const flag = await startPrometheus();
  prometheus.data = () => terminal.terminate();
  const ran = await fixture.run([FROM, flag], terminal);
  expect(ran).toMatchObject({ status: 143, out: '' });
  expect(ran.err).not.toContain('no response');
});

test('fails if Prometheus does not respond', async () => {
  const ran = await fixture.run([FROM, '--prometheus.url=http://127.0.0.1:1']);
  expect(ran.status).toBe(1);
  expect(ran.err).toContain(': no response (ECONNREFUSED)');
});
