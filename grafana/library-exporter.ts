/** Dashboard for operators: which exporters work, since when one does not, and which libraries fail. */
import { ANY_EXPORTERS, dashboard } from './frame.ts';
import { columns, lines, stat, table } from './panels.ts';
import type { Query } from './panels.ts';
import { EXPORTERS as OF, notAnswering, problems } from './queries.ts';
import * as theme from './theme.ts';

const INFO = `library_exporter_build_info{${OF}}`;
/** An exporter that is down has no series of its own, so the last day counts. */
const OF_LAST_DAY = `last_over_time(${INFO}[1d])`;
/** `up`, `process_*` and `nodejs_*` exist for every other job, too. */
const OF_EXPORTERS = `and on (job, instance) ${INFO}`;
const OF_POLLS = `${OF},problem=~"credentials_.+|polls_.+|values_.+"`;
const LIBRARIES = `count(max by (customer) (library_site_info{${OF}}))`;
const RATE = '[$__rate_interval]';
const PER_BAR = 'Per bar of ten minutes, or longer if the time range is long.';
/** The whole dashboard, as its file has it. */
export function libraryExporter() {
  return dashboard({
    uid: 'library-exporter',
    description: 'Which exporters work, and why libraries fail.',
    from: 'now-24h',
    variables: [ANY_EXPORTERS],
    rows: [
      [5, headlines()],
      [6, [exporters()]],
      [9, [pollsFailing(), failuresByReason()]],
      [9, [dataAge(), ...polls()]],
      [9, requests()],
      [9, resources()],
    ],
  });
}

function resources() {
  const cpu = `rate(process_cpu_seconds_total{${OF}}${RATE}) ${OF_EXPORTERS}`;
  const memory = `process_resident_memory_bytes{${OF}} ${OF_EXPORTERS}`;
  const delay = `nodejs_eventloop_lag_p99_seconds{${OF}} ${OF_EXPORTERS}`;
  return [
    chart('CPU', '100 % is one core.', 'percentunit', ['{{instance}}', cpu]),
    chart('Memory', 'Resident memory of each exporter.', 'bytes', ['{{instance}}', memory]),
    chart('Event loop delay', '99th percentile; 1 s is too much.', 's', ['{{instance}}', delay]),
  ];
}

function chart(title: string, description: string, unit: string, query: Query) {
  const defaults = { unit, decimals: unit === 'bytes' ? 0 : 1 };
  return lines({ title, description, queries: [query], defaults });
}

function headlines() {
  const failing = `count(max by (customer) (library_problem_start_timestamp_seconds{${OF_POLLS}}))`;
  const failed = `sum(increase(library_poll_failures_total{${OF}}[1h]))`;
  const defaults = { thresholds: theme.NONE_IS_GOOD };
  const shares = theme.steps(theme.GOOD, [0.1, theme.BAD]);
  return [
    stat({
      title: 'Exporters that do not answer',
      description: 'Of those that answered within the last day. Which, and since when, is below.',
      queries: [
        ['do not answer', notAnswering(OF)],
        ['of', `count(${OF_LAST_DAY})`, theme.TEXT],
      ],
      defaults,
    }),
    stat({
      title: 'Libraries whose polls fail',
      description: 'Credentials refused, polls fail, or values not confirmed. Which is below.',
      queries: [
        ['fail', `${failing} or 0 * ${LIBRARIES}`],
        ['of', LIBRARIES, theme.TEXT],
      ],
      defaults,
    }),
    stat({
      title: 'Failed polls',
      description: 'Share of all polls of the last hour.',
      queries: [['failed', `${failed} / sum(increase(library_polls_total{${OF}}[1h]))`]],
      defaults: { unit: 'percentunit', decimals: 1, thresholds: shares },
    }),
    stat({
      title: 'Reload and state',
      description: 'If a reload fails, the log says why, and the configuration is the old one.',
      queries: [
        ['last reload', `min(library_exporter_config_last_reload_successful{${OF}})`],
        ['state saved', `min(library_exporter_state_last_save_successful{${OF}})`],
      ],
      defaults: { mappings: theme.FAILED_OR_OK, thresholds: theme.COLOURLESS },
    }),
  ];
}

function exporters() {
  const answers = { 0: ['down', theme.BAD], 1: ['answers', theme.GOOD] } as const;
  const last = `1000 * max by (instance) (max_over_time(timestamp(${INFO})[1d:1m]))`;
  return table({
    title: 'Exporters',
    description:
      'Every exporter that answered within the last day, and how many libraries it polls.',
    labels: { instance: 'Exporter' },
    moreLabels: { version: 'Version', nodeversion: 'Node.js', shard: 'Shard', shards: 'Of shards' },
    queries: [
      ['', OF_LAST_DAY],
      ['', `library_exporter_shard_info{${OF}}`],
      ['Now', `up{${OF}} and on (job, instance) ${OF_LAST_DAY}`, theme.inWords(answers)],
      ['Last answer', last, theme.AGO],
      ['Libraries', `library_exporter_customers{${OF}}`],
    ],
    sortBy: ['Exporter'],
  });
}

function pollsFailing() {
  const failures = `max by (customer, stream) (increase(library_poll_failures_total{${OF}}[1h]))`;
  return table({
    title: 'Libraries with failed polls',
    description:
      'And the twenty with the most failed polls of an hour. Errors: see the status page.',
    noValue: 'no failed poll is known',
    labels: { customer: 'Library', problem: 'Problem' },
    queries: [
      ['Since', problems(OF_POLLS, 'customer, problem'), theme.AGO],
      ['Failed polls', `topk(20, round(sum by (customer) (${failures})) > 0)`],
    ],
    sortBy: ['Failed polls desc'],
  });
}

function failuresByReason() {
  const increase = `increase(library_exporter_poll_failures_total{${OF}}[$__interval])`;
  return columns({
    title: 'Failed polls by reason',
    description: `${PER_BAR} auth: credentials refused; rate_limited: too many requests; timeout, unreachable: no response; server: error of the service; rejected: request not accepted; malformed: invalid response.`,
    interval: '10m',
    queries: [['{{reason}}', `round(sum by (reason) (${increase}))`]],
    // Failures are never green.
    defaults: { color: { mode: 'shades', fixedColor: 'red' } },
  });
}

function dataAge() {
  const last = `max by (customer, stream) (library_poll_last_success_timestamp_seconds{${OF}})`;
  return lines({
    title: 'Data age',
    description: 'Since the last good poll, of the library where it is longest. Dashed: alerts.',
    interval: '5m',
    queries: [['{{stream}}', `(time() - min by (stream) (${last})) / 60`]],
    custom: { axisSoftMax: 5, thresholdsStyle: { mode: 'dashed' } },
    defaults: { unit: 'm', decimals: 1, thresholds: theme.steps('transparent', [15, 'red']) },
  });
}

function polls() {
  const polled = `60 * sum by (stream) (rate(library_polls_total{${OF}}${RATE}))`;
  const skipped = `increase(library_polls_skipped_total{${OF}}[$__interval])`;
  return [
    chart('Polls per minute', 'Completed, successful or not.', 'none', ['{{stream}}', polled]),
    columns({
      title: 'Skipped polls',
      description: `${PER_BAR} The previous poll had not ended: the service is slow, or the interval too short.`,
      interval: '10m',
      queries: [['{{stream}}', `round(sum by (stream) (${skipped}))`]],
    }),
  ];
}

function requests() {
  const name = 'library_exporter_service_request';
  const buckets = `sum by (le, endpoint) (rate(${name}_duration_seconds_bucket{${OF}}${RATE}))`;
  const durations = `histogram_quantile(0.95, ${buckets})`;
  const byCode = `60 * sum by (endpoint, code) (rate(${name}s_total{${OF}}${RATE}))`;
  const excess = `max by (customer, counter) (library_count_excess{${OF}}) > 0`;
  return [
    chart('Request duration', '95th percentile.', 's', ['{{endpoint}}', durations]),
    chart(
      'Requests by status',
      'Per minute. 200 is success, 401 and 403 refused credentials, 429 too many requests, 500 and above an error of the service, none no response.',
      'none',
      ['{{endpoint}} {{code}}', byCode],
    ),
    lines({
      title: 'Counter excess',
      description:
        'Counts that the service withdrew but the counters keep, because a counter must not fall within a month. Small values are harmless.',
      noValue: 'none is known',
      queries: [['{{customer}} {{counter}}', excess]],
    }),
  ];
}
