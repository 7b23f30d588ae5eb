/** Panels about durations, resources and running exporters. */
import * as units from '@grafana/grafana-foundation-sdk/units';
import { inUnit } from './theme.ts';
import { lines, narrowLegend, overTime } from './panels.ts';
import { CHOSEN_EXPORTERS as CHOSEN, ofExporters } from './queries.ts';
import { table, withColumns } from './tables.ts';

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
    .span(8)
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
    .span(8)
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
    .span(8)
    .legend(narrowLegend())
    .withTarget(overTime(ofExporters('nodejs_eventloop_lag_p99_seconds'), '{{instance}}'))
    .unit(units.Seconds)
    .decimals(1);
}

export function instances() {
  const empty = table(
    16,
    'Running exporters',
    'Libraries, time since start and last successful reload, version and shard of each exporter.',
  ).span(12);
  return withColumns(
    empty,
    ['instance', 'Instance'],
    [
      ['', `library_exporter_build_info{${CHOSEN}}`],
      ['', `library_exporter_shard_info{${CHOSEN}}`],
      ['Libraries', `library_exporter_customers{${CHOSEN}}`],
      ['Uptime', `time() - (${ofExporters('process_start_time_seconds')})`, inUnit(units.Seconds)],
      [
        'Reloaded',
        `time() - library_exporter_config_last_reload_success_timestamp_seconds{${CHOSEN}}`,
        inUnit(units.Seconds),
      ],
    ],
    { version: 'Version', nodeversion: 'Node.js', shard: 'Shard', shards: 'Of shards' },
  );
}

/** Returns a query of the 95th percentile in seconds. */
function quantile(histogram: string, label: string): string {
  return `histogram_quantile(0.95, sum by (le, ${label}) (rate(${histogram}_bucket{${CHOSEN}}[$__rate_interval])))`;
}
