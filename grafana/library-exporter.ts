/** Dashboard for operators: which exporters work, since when one does not, and which libraries fail. */
import {
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
} from '@grafana/grafana-foundation-sdk/common';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import {
  cpu,
  eventLoop,
  exporters,
  memory,
  pollDuration,
  requestDuration,
  requestsByCode,
} from './exporter-work.ts';
import { all, frame, instanceChoice } from './frame.ts';
import { hourlyBars, lines, namedStat, narrowLegend, now, overTime, stat } from './panels.ts';
import { CHOSEN_EXPORTERS as CHOSEN, ofExporters } from './queries.ts';
import { table, withColumns } from './tables.ts';
import {
  AGO,
  BAD,
  FAILED_OR_OK,
  GOOD,
  NONE_IS_GOOD,
  REFUSED_OR_ACCEPTED,
  base,
  inColour,
  inWords,
  mappings,
  step,
  thresholds,
} from './theme.ts';

const LAST_SUCCESS = lastSuccess('');
/** Breakdowns are polled less often. */
const OF_MINUTES = 'stream=~"people|logins"';
const LIBRARIES = `max by (customer) (library_site_info{${CHOSEN}})`;
const EXCESS = `max by (customer, counter) (library_count_excess{${CHOSEN}})`;
const EXCESS_AT_END = `max by (customer, counter) (library_count_excess{${CHOSEN}} @ end())`;
/** Share of polls. */
const FAILURE_STEPS = [base(GOOD), step(0.1, BAD)];
/** Failures are never green. */
const REASONS: Readonly<Record<string, string>> = {
  auth: 'red',
  rate_limited: 'yellow',
  timeout: 'orange',
  unreachable: 'purple',
  server: 'blue',
  rejected: 'light-purple',
  malformed: 'light-blue',
};

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryExporter(): Dashboard {
  return frame('library-exporter', 'Which exporters work, and why libraries fail.')
    .withVariable(all(instanceChoice()))
    .withPanel(exportersDown())
    .withPanel(withoutNewData())
    .withPanel(failedShare())
    .withPanel(refusedCredentials())
    .withPanel(configuration())
    .withPanel(exporters())
    .withPanel(customersInTrouble())
    .withPanel(failuresByReason())
    .withPanel(dataAge())
    .withPanel(polls())
    .withPanel(skippedPolls())
    .withPanel(pollDuration())
    .withPanel(requestDuration())
    .withPanel(requestsByCode())
    .withPanel(countExcess())
    .withPanel(cpu())
    .withPanel(memory())
    .withPanel(eventLoop())
    .build();
}

function exportersDown() {
  const up = ofExporters('up');
  return namedStat(
    1,
    'Exporters that do not answer',
    'Of the exporters that answered within the last day. The table below says which, and since when.',
  )
    .span(5)
    .withTarget(
      now(
        `(count(${up}) - sum(${up})) * on () group_left (m) count_values("m", count(${up}))`,
        'of {{m}} exporters',
      ),
    )
    .thresholds(thresholds(NONE_IS_GOOD));
}

function withoutNewData() {
  const recent = `time() - ${lastSuccess(`,${OF_MINUTES}`)} <= 900`;
  const failing = `max by (customer, stream) (library_polls_total{${CHOSEN},${OF_MINUTES}}) unless on (customer, stream) ${recent}`;
  const fine = `(${LIBRARIES} unless on (customer) (${failing}))`;
  const ofLastDay = `(${LIBRARIES} or max by (customer) (library_site_info{${CHOSEN}} offset 1d))`;
  return namedStat(
    2,
    'Libraries without new data',
    'Without a good poll of people or logins for 15 minutes, or ever; also those of an exporter that has stopped answering within a day. One that two exporters poll counts once.',
  )
    .span(5)
    .withTarget(
      now(
        `(count(${ofLastDay} unless on (customer) ${fine}) or 0 * count(${ofLastDay})) * on () group_left (m) count_values("m", count(${ofLastDay}))`,
        'of {{m}} libraries',
      ),
    )
    .thresholds(thresholds(NONE_IS_GOOD));
}

function failedShare() {
  return stat(
    3,
    'Failed polls',
    'Share of all polls of the last hour, of the exporters that answer.',
  )
    .span(5)
    .withTarget(
      now(
        `sum(${ofRunning('library_poll_failures_total')}) / sum(${ofRunning('library_polls_total')})`,
        'failed',
      ),
    )
    .unit(units.PercentUnit)
    .decimals(1)
    .thresholds(thresholds(FAILURE_STEPS));
}

function refusedCredentials() {
  return namedStat(5, 'Refused credentials', 'Libraries whose credentials the service refuses.')
    .span(5)
    .withTarget(
      now(
        `sum(1 - max by (customer) (library_credentials_valid{${CHOSEN}})) * on () group_left (m) count_values("m", count(${LIBRARIES}))`,
        'of {{m}} libraries',
      ),
    )
    .thresholds(thresholds(NONE_IS_GOOD));
}

function configuration() {
  return stat(
    6,
    'Last reload',
    'Failed: the new configuration has problems, and the exporter keeps the previous one. Its log lists them.',
  )
    .span(4)
    .withTarget(now(`min(library_exporter_config_last_reload_successful{${CHOSEN}})`, 'reload'))
    .mappings(mappings(FAILED_OR_OK));
}

function customersInTrouble() {
  const ofStreams = `max by (customer, stream) (increase(library_poll_failures_total{${CHOSEN}}[1h]))`;
  const failing = `(sum by (customer) (${ofStreams}) > 0)`;
  const empty = table(
    7,
    'Libraries with failed polls, last hour',
    'The twenty libraries with the most failed polls, of all streams together. The status page of the exporter shows the last error of each.',
  )
    .span(12)
    .noValue('no failed poll is known');
  return withColumns(empty, { customer: 'Library' }, [
    ['Failed polls', `topk(20, round(${failing}))`],
    [
      'Credentials',
      `max by (customer) (library_credentials_valid{${CHOSEN}}) and on (customer) topk(20, ${failing})`,
      inWords(REFUSED_OR_ACCEPTED),
    ],
    [
      'Last good poll',
      `1000 * min by (customer) (${LAST_SUCCESS}) and on (customer) topk(20, ${failing}) or on (customer) 0 * topk(20, ${failing}) - 1`,
      AGO,
    ],
  ]);
}

function failuresByReason() {
  const panel = hourlyBars(
    8,
    'Failed polls by reason',
    'Per bar of ten minutes, or longer if the time range is long. auth: credentials refused; rate_limited: too many requests; timeout, unreachable: no response; server: error of the service; rejected: request not accepted; malformed: invalid response.',
  )
    .interval('10m')
    .withTarget(
      overTime(
        `round(sum by (reason) (increase(library_exporter_poll_failures_total{${CHOSEN}}[$__interval])))`,
        '{{reason}}',
      ),
    );
  for (const [reason, color] of Object.entries(REASONS)) {
    panel.overrideByRegexp(`^${reason}$`, inColour(color));
  }
  return panel;
}

function polls() {
  return lines(9, 'Polls per minute', 'Completed polls, successful or not, by stream.')
    .withTarget(
      overTime(
        `60 * sum by (stream) (rate(library_polls_total{${CHOSEN}}[$__rate_interval]))`,
        '{{stream}}',
      ),
    )
    .decimals(1);
}

function skippedPolls() {
  return hourlyBars(
    10,
    'Skipped polls',
    'Per bar of ten minutes, or longer if the time range is long. Skipped because the previous poll had not ended: the service is slow, or the interval too short.',
  )
    .interval('10m')
    .withTarget(
      overTime(
        `round(sum by (stream) (increase(library_polls_skipped_total{${CHOSEN}}[$__interval])))`,
        '{{stream}}',
      ),
    );
}

function dataAge() {
  return lines(
    14,
    'Data age',
    'Time since the last successful poll, of the library where it is longest. Alerts fire from 15 minutes on.',
  )
    .interval('5m')
    .withTarget(overTime(`max by (stream) (time() - ${LAST_SUCCESS}) / 60`, '{{stream}}'))
    .unit(units.Minutes)
    .decimals(1)
    .axisSoftMax(5)
    .thresholds(thresholds([base('transparent'), step(15, 'red')]))
    .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
}

function countExcess() {
  return lines(
    15,
    'Counter excess',
    'Counts that the service withdrew but the counters keep, because a counter must not fall within a month. The twelve largest. Small values are harmless.',
  )
    .span(6)
    .legend(narrowLegend())
    .noValue('no excess is known')
    .withTarget(
      overTime(
        `(${EXCESS} > 0) and on (customer, counter) topk(12, ${EXCESS_AT_END})`,
        '{{customer}} {{counter}}',
      ),
    );
}

/** What an exporter did in the hour before it went down says nothing of now. */
function ofRunning(counter: string): string {
  return `increase(${counter}{${CHOSEN}}[1h]) and on (job, instance) library_exporter_build_info{${CHOSEN}}`;
}

/** Unix time of the last good poll of each library and stream. */
function lastSuccess(matchers: string): string {
  return `max by (customer, stream) (library_poll_last_success_timestamp_seconds{${CHOSEN}${matchers}})`;
}
