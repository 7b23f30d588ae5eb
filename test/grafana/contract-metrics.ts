/**
 * The metrics that the exporter promises, with their labels beside job and instance: what a
 * dashboard, a rule or a check may ask for. Written from the contract, not from the code, so that a
 * name changed there is found here.
 */

const CUSTOMER = ['customer'] as const;
const STREAM = ['customer', 'stream'] as const;

/** The families with the label customer that have a series for every customer that is well. */
export const CUSTOMER_METRICS = {
  library_people_entered_total: CUSTOMER,
  library_people_exited_total: CUSTOMER,
  library_logins_total: CUSTOMER,
  library_people_entered_today: CUSTOMER,
  library_people_exited_today: CUSTOMER,
  library_logins_today: CUSTOMER,
  library_occupancy_people: CUSTOMER,
  library_up: STREAM,
  library_poll_last_success_timestamp_seconds: STREAM,
  library_polls_total: STREAM,
  library_poll_failures_total: STREAM,
  library_polls_skipped_total: STREAM,
  library_credentials_valid: CUSTOMER,
  library_counter_start_timestamp_seconds: CUSTOMER,
  library_counter_excess: ['customer', 'counter'],
  library_utc_offset_seconds: CUSTOMER,
  library_customer_info: ['customer', 'timezone'],
} as const;

/** The families that a customer has only if something is configured, or has happened. */
export const CONDITIONAL_METRICS = {
  library_capacity_people: CUSTOMER,
  library_occupancy_estimate_people: CUSTOMER,
  library_occupancy_estimate_lower_people: CUSTOMER,
  library_occupancy_estimate_upper_people: CUSTOMER,
  library_door_count_ratio: CUSTOMER,
  library_door_count_ratio_stddev: CUSTOMER,
  library_door_suspect: ['customer', 'kind'],
  library_occupancy_estimable: CUSTOMER,
  library_open: CUSTOMER,
  library_people_last_seen_timestamp_seconds: CUSTOMER,
  library_logins_last_seen_timestamp_seconds: CUSTOMER,
  library_branch_people_entered_total: ['customer', 'branch'],
  library_branch_people_exited_total: ['customer', 'branch'],
  library_branch_people_entered_today: ['customer', 'branch'],
  library_branch_people_exited_today: ['customer', 'branch'],
  library_branch_counter_excess: ['customer', 'branch', 'counter'],
  library_branch_occupancy_people: ['customer', 'branch'],
  library_branch_info: ['customer', 'branch', 'name'],
  library_client_people_entered_total: ['customer', 'client'],
  library_client_people_exited_total: ['customer', 'client'],
  library_client_people_entered_today: ['customer', 'client'],
  library_client_people_exited_today: ['customer', 'client'],
  library_client_counter_excess: ['customer', 'client', 'counter'],
  library_device_people_entered_total: ['customer', 'device'],
  library_device_people_exited_total: ['customer', 'device'],
  library_device_people_entered_today: ['customer', 'device'],
  library_device_people_exited_today: ['customer', 'device'],
  library_device_counter_excess: ['customer', 'device', 'counter'],
  library_breakdown_keys_dropped: STREAM,
} as const;

export const EXPORTER_METRICS = {
  library_exporter_build_info: ['version', 'revision', 'nodeversion'],
  library_exporter_customers: [],
  library_exporter_shard_info: ['shard', 'shards'],
  library_exporter_poll_failures_total: ['stream', 'reason'],
  library_exporter_poll_duration_seconds: ['stream'],
  library_exporter_service_requests_total: ['endpoint', 'code'],
  library_exporter_service_request_duration_seconds: ['endpoint'],
  library_exporter_config_last_reload_successful: [],
  library_exporter_config_last_reload_success_timestamp_seconds: [],
} as const;

/** What every process that Prometheus knows shows of itself, as far as it is looked at. */
const PROCESS_METRICS = {
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  process_start_time_seconds: [],
  nodejs_eventloop_lag_p99_seconds: [],
} as const;

const ALL: Readonly<Record<string, readonly string[]>> = {
  ...CUSTOMER_METRICS,
  ...CONDITIONAL_METRICS,
  ...EXPORTER_METRICS,
  ...PROCESS_METRICS,
  up: [],
};

/** The labels of a metric, job and instance among them; undefined where none has that name. */
export function labelsOf(metric: string): readonly string[] | undefined {
  const name = metric in ALL ? metric : metric.replace(/_(bucket|count|sum)$/, '');
  const labels = ALL[name];
  return labels === undefined ? undefined : [...labels, 'job', 'instance'];
}
