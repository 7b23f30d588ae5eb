/** The panels about the exporter's work itself: how long it takes, what it costs, what runs. */
import * as units from '@grafana/grafana-foundation-sdk/units';
import { hidden, inUnit } from './looks.ts';
import { lines, overTime } from './panels.ts';
import { CHOSEN_EXPORTERS as CHOSEN } from './queries.ts';
import { table, withColumns } from './tables.ts';

export function pollDuration() {
  return lines(
    11,
    'Length of a poll',
    '95 of 100 polls were shorter. A poll is one to a few requests.',
  )
    .withTarget(
      overTime(quantile('library_exporter_poll_duration_seconds', 'stream'), '{{stream}}'),
    )
    .unit(units.Seconds)
    .decimals(1);
}

export function requestDuration() {
  return lines(12, 'Length of a request', '95 of 100 requests to the service were shorter.')
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
    'Requests to the service a second, by the status of its answer: 200 is good, 401 and 403 are credentials, 429 is too many, 5 hundred and more is the service; none is no answer.',
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
  return lines(17, 'Processor', 'Processor time of each exporter: 100 % is one core.')
    .span(8)
    .withTarget(
      overTime(`rate(process_cpu_seconds_total{${CHOSEN}}[$__rate_interval])`, '{{instance}}'),
    )
    .unit(units.PercentUnit)
    .decimals(1);
}

export function memory() {
  return lines(18, 'Memory', 'Resident memory of each exporter.')
    .span(8)
    .withTarget(overTime(`process_resident_memory_bytes{${CHOSEN}}`, '{{instance}}'))
    .unit(units.BytesIEC);
}

export function eventLoop() {
  return lines(
    19,
    'Event loop lag',
    'By how much each exporter was late to answer, 99 of 100 times less: over a second it has too much to do.',
  )
    .span(8)
    .withTarget(overTime(`nodejs_eventloop_lag_p99_seconds{${CHOSEN}}`, '{{instance}}'))
    .unit(units.Seconds)
    .decimals(1);
}

export function instances() {
  const empty = table(
    16,
    'What runs',
    'Each exporter with its version, its Node.js, its part of the customers where they are shared out, and when it started.',
  ).span(12);
  return withColumns(
    empty,
    ['instance', 'Instance'],
    [
      ['Build', `library_exporter_build_info{${CHOSEN}}`, hidden()],
      ['Part', `library_exporter_shard_info{${CHOSEN}}`, hidden()],
      ['Customers', `library_exporter_customers{${CHOSEN}}`],
      ['Started', `process_start_time_seconds{${CHOSEN}} * 1000`, inUnit(units.DateTimeFromNow)],
      [
        'Configuration read',
        `library_exporter_config_last_reload_success_timestamp_seconds{${CHOSEN}} * 1000`,
        inUnit(units.DateTimeFromNow),
      ],
    ],
    { version: 'Version', nodeversion: 'Node.js', shard: 'Shard', shards: 'Of shards' },
  );
}

/** In seconds, of a histogram. */
function quantile(histogram: string, label: string): string {
  return `histogram_quantile(0.95, sum by (le, ${label}) (rate(${histogram}_bucket{${CHOSEN}}[$__rate_interval])))`;
}
