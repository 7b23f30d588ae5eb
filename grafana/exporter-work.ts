/** Panels about exporters: which answer, durations and resources. */
import * as units from '@grafana/grafana-foundation-sdk/units';
import { lines, narrowLegend, overTime } from './panels.ts';
import { CHOSEN_EXPORTERS as CHOSEN, ofExporters } from './queries.ts';
import { table, withColumns } from './tables.ts';
import { AGO, BAD, GOOD, inWords } from './theme.ts';

export function pollDuration() {
  return lines(11, 'Poll duration', '95th percentile. A poll is one or a few requests.')
    .withTarget(
      overTime(quantile('library_exporter_poll_duration_seconds', 'stream'), '{{stream}}'),
    )
    .unit(units.Seconds)
    .decimals(1);
}

export function requestDuration() {
  return lines(12, 'Request duration', '95th percentile of requests to the service.')
    .withTarget(
      overTime(
        quantile('library_exporter_service_request_duration_seconds', 'endpoint'),
        '{{endpoint}}',
      ),
    )
    .unit(units.Seconds)
    .decimals(1);
}

export function requestsByCode() {
  return lines(
    13,
    'Requests by status',
    'Requests per second by status: 200 is success, 401 and 403 refused credentials, 429 too many requests, 500 and above an error of the service, none no response.',
  )
    .withTarget(
      overTime(
        `sum by (endpoint, code) (rate(library_exporter_service_requests_total{${CHOSEN}}[$__rate_interval]))`,
        '{{endpoint}} {{code}}',
      ),
    )
    .unit(units.RequestsPerSecond)
    .decimals(2);
}

export function cpu() {
  return lines(17, 'CPU', '100 % is one core.')
    .span(6)
    .legend(narrowLegend())
    .withTarget(
      overTime(
        ofExporters('process_cpu_seconds_total', 'rate', '[$__rate_interval]'),
        '{{instance}}',
      ),
    )
    .unit(units.PercentUnit)
    .decimals(1);
}

export function memory() {
  return lines(18, 'Memory', 'Resident memory of each exporter.')
    .span(6)
    .legend(narrowLegend())
    .withTarget(overTime(ofExporters('process_resident_memory_bytes'), '{{instance}}'))
    .unit(units.BytesIEC);
}

export function eventLoop() {
  return lines(
    19,
    'Event loop delay',
    '99th percentile. Above one second the exporter is overloaded.',
  )
    .span(6)
    .legend(narrowLegend())
    .withTarget(overTime(ofExporters('nodejs_eventloop_lag_p99_seconds'), '{{instance}}'))
    .unit(units.Seconds)
    .decimals(1);
}

export function exporters() {
  const info = `library_exporter_build_info{${CHOSEN}}`;
  const empty = table(
    16,
    'Exporters',
    'Every exporter that answered within the last day: whether it answers now, its last answer, its start, how many libraries it polls, its version and shard.',
  )
    .span(24)
    .height(6);
  return withColumns(
    empty,
    { instance: 'Exporter' },
    [
      ['', `last_over_time(${info}[1d])`],
      ['', `library_exporter_shard_info{${CHOSEN}}`],
      ['Now', ofExporters('up'), inWords({ 0: ['does not answer', BAD], 1: ['answers', GOOD] })],
      [
        'Last answer',
        `1000 * max by (instance) (timestamp(${info}) or max_over_time(timestamp(${info})[1d:1m]))`,
        AGO,
      ],
      ['Started', `1000 * (${ofExporters('process_start_time_seconds')})`, AGO],
      ['Libraries', `library_exporter_customers{${CHOSEN}}`],
    ],
    { version: 'Version', nodeversion: 'Node.js', shard: 'Shard', shards: 'Of shards' },
  );
}

/** Returns a query of the 95th percentile in seconds. */
function quantile(histogram: string, label: string): string {
  return `histogram_quantile(0.95, sum by (le, ${label}) (rate(${histogram}_bucket{${CHOSEN}}[$__rate_interval])))`;
}
