/**
 * The metrics that the exporter promises, with their labels beside job and instance. Written by hand, not from the
 * code, so that a name changed there is found here.
 */
import { readRecordings } from '../prometheus/rules.ts';
import { selectorsOf } from './promql.ts';

type Metrics = Readonly<Record<string, readonly string[]>>;

export const CONTRACT_METRICS: Metrics = {
  ...metrics(
    ['customer'],
    `library_people_entered_total library_people_exited_total library_logins_total
    library_logins_today library_credentials_valid library_logins_last_seen_timestamp_seconds
    library_period_start_timestamp_seconds library_utc_offset_seconds`,
  ),
  // Of a building: `branch` is there where a customer is polled by branch.
  ...metrics(
    ['customer', 'branch'],
    `library_people_entered_today library_people_exited_today library_occupancy_people
    library_capacity_people library_open library_staffed library_people_last_seen_timestamp_seconds
    library_occupancy_estimate_people library_occupancy_estimate_lower_people
    library_occupancy_estimate_upper_people library_door_count_ratio
    library_people_entered_usual_hour library_people_entered_usual_today
    library_occupancy_usual_people library_inside_people library_people_entered_hour
    library_people_missed library_counts_trusted`,
  ),
  ...metrics(
    ['customer', 'stream'],
    `library_up library_poll_last_success_timestamp_seconds
    library_values_accepted_timestamp_seconds library_polls_total
    library_poll_failures_total library_polls_skipped_total library_breakdown_keys_dropped`,
  ),
  library_count_excess: ['customer', 'counter'],
  library_site_info: ['customer', 'branch', 'name', 'timezone'],
  library_period_info: ['customer', 'month'],
  library_branch_people_entered_total: ['customer', 'branch'],
  library_branch_people_exited_total: ['customer', 'branch'],
  library_branch_count_excess: ['customer', 'branch', 'counter'],
  library_problem_start_timestamp_seconds: ['customer', 'branch', 'name', 'problem'],
  library_device_last_seen_timestamp_seconds: ['customer', 'device'],
  library_device_people_missed: ['customer', 'device'],
  library_device_info: ['customer', 'device', 'branch', 'client'],
  ...breakdown('client'),
  ...breakdown('device'),
  library_exporter_build_info: ['version', 'revision', 'nodeversion'],
  library_exporter_customers: [],
  library_exporter_shard_info: ['shard', 'shards'],
  library_exporter_poll_failures_total: ['stream', 'reason'],
  library_exporter_poll_duration_seconds: ['stream'],
  library_exporter_service_requests_total: ['endpoint', 'code'],
  library_exporter_service_request_duration_seconds: ['endpoint'],
  library_exporter_config_last_reload_successful: [],
  library_exporter_config_last_reload_success_timestamp_seconds: [],
  library_exporter_state_last_save_successful: [],
  library_exporter_state_last_save_timestamp_seconds: [],
};

/** What every process that Prometheus knows shows of itself, as far as it is looked at. */
const PROCESS_METRICS = metrics(
  [],
  `up process_cpu_seconds_total process_resident_memory_bytes process_start_time_seconds
  nodejs_eventloop_lag_p99_seconds`,
);

const ALERTS: Metrics = { ALERTS: ['alertname', 'alertstate', 'severity', 'service'] };

const RECORDINGS = new Set(readRecordings().map(({ record }) => record));

/**
 * The labels of a metric, job and instance among them, of a recording, which its name begins with, or of ALERTS.
 * Undefined where none has that name.
 */
export function labelsOf(metric: string): readonly string[] | undefined {
  if (RECORDINGS.has(metric)) {
    return (metric.split(':')[0] ?? '').split('_');
  }
  const known = { ...CONTRACT_METRICS, ...PROCESS_METRICS, ...ALERTS };
  const labels = known[metric] ?? known[metric.replace(/_(bucket|count|sum)$/, '')];
  return labels === undefined ? undefined : [...labels, 'job', 'instance'];
}

/** The labels of the series of an expression. Throws for a metric, or a label in a matcher, that does not exist. */
export function seriesLabels(expression: string): readonly string[] {
  return selectorsOf(expression).flatMap((selector) => {
    const labels = labelsOf(selector.metric) ?? [];
    const matched = selector.matchers.map((matcher) => matcher.replace(/\W.*/s, ''));
    const unknown = matched.filter((label) => !labels.includes(label));
    if (labels.length === 0 || unknown.length > 0) {
      throw new Error(`${selector.metric} does not exist, or has no label ${unknown.join()}`);
    }
    return labels;
  });
}

function breakdown(key: string): Metrics {
  const people = `library_${key}_people`;
  return {
    ...metrics(
      ['customer', key],
      `${people}_entered_total ${people}_exited_total ${people}_entered_today ${people}_exited_today`,
    ),
    ...metrics(['customer', key, 'counter'], `library_${key}_count_excess`),
  };
}

function metrics(labels: readonly string[], names: string): Metrics {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, labels]));
}
