/** Dashboard for operators: whether the exporters work, and which libraries fail. */
import {
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
} from '@grafana/grafana-foundation-sdk/common';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import {
  cpu,
  eventLoop,
  instances,
  memory,
  pollDuration,
  requestDuration,
  requestsByCode,
} from './exporter-work.ts';
import { alerts, all, frame, instanceChoice } from './frame.ts';
import {
  AGE_STEPS,
  FAILED_OR_OK,
  NONE_IS_GOOD,
  REFUSED_OR_ACCEPTED,
  base,
  coloured,
  inUnit,
  inWords,
  mappings,
  step,
  thresholds,
} from './theme.ts';
import { explanation, hourlyBars, lines, now, overTime, stat } from './panels.ts';
import { CHOSEN_EXPORTERS as CHOSEN, ofExporters } from './queries.ts';
import { table, withColumns } from './tables.ts';

const AGE = ageOf(CHOSEN);
const EXCESS = `max by (customer, counter) (library_count_excess{${CHOSEN}})`;
const EXCESS_AT_END = `max by (customer, counter) (library_count_excess{${CHOSEN}} @ end())`;
/** Share of polls. */
const FAILURE_STEPS = [base('green'), step(0.01, 'orange'), step(0.1, 'red')];

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryExporter(): Dashboard {
  return frame('library-exporter', 'Whether the exporters work, and why libraries fail.')
    .withVariable(all(instanceChoice()))
    .annotation(alerts())
    .withPanel(exporters())
    .withPanel(customers())
    .withPanel(failedShare())
    .withPanel(oldestData())
    .withPanel(refusedCredentials())
    .withPanel(configuration())
    .withPanel(customersInTrouble())
    .withPanel(failuresByReason())
    .withPanel(polls())
    .withPanel(skippedPolls())
    .withPanel(pollDuration())
    .withPanel(requestDuration())
    .withPanel(requestsByCode())
    .withPanel(dataAge())
    .withPanel(countExcess())
    .withPanel(instances())
    .withPanel(cpu())
    .withPanel(memory())
    .withPanel(eventLoop())
    .withPanel(words())
    .build();
}

function exporters() {
  const up = ofExporters('up');
  return stat(
    1,
    'Exporters',
    'Exporters that Prometheus cannot scrape now, and all of the last day.',
  )
    .span(4)
    .withTarget(now(`count(${up}) - sum(${up})`, 'down'))
    .withTarget(now(`count(${up})`, 'configured'))
    .thresholds(thresholds(NONE_IS_GOOD))
    .overrideByName('configured', [{ id: 'color', value: { mode: 'fixed', fixedColor: 'text' } }]);
}

function customers() {
  return stat(2, 'Libraries', 'Configured libraries; one that two exporters poll counts once.')
    .span(4)
    .withTarget(now(`count(max by (customer) (library_customer_info{${CHOSEN}}))`, 'libraries'));
}

function failedShare() {
  return stat(
    3,
    'Failed polls',
    'Share of all polls of the last hour, of the exporters that answer.',
  )
    .span(4)
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

function oldestData() {
  return stat(
    4,
    'Oldest data',
    'Time since the last successful poll of people or logins, of the library where it is longest.',
  )
    .span(4)
    .withTarget(now(`max(${ageOf(`${CHOSEN},stream=~"people|logins"`)})`, 'age'))
    .unit(units.Seconds)
    .thresholds(thresholds(AGE_STEPS));
}

function refusedCredentials() {
  return stat(5, 'Refused credentials', 'Libraries whose credentials the service refuses.')
    .span(4)
    .withTarget(now(`sum(1 - max by (customer) (library_credentials_valid{${CHOSEN}}))`, 'refused'))
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
  const failing = `(max by (customer) (increase(library_poll_failures_total{${CHOSEN}}[1h])) > 0)`;
  const empty = table(
    7,
    'Libraries with failed polls, last hour',
    'The twenty libraries with the most failed polls. The status page of the exporter shows the last error of each.',
  )
    .span(12)
    .noValue('no failed poll found');
  return withColumns(
    empty,
    ['customer', 'Library'],
    [
      ['Failed polls', `topk(20, round(${failing}))`],
      [
        'Credentials',
        `max by (customer) (library_credentials_valid{${CHOSEN}}) and on (customer) topk(20, ${failing})`,
        inWords(REFUSED_OR_ACCEPTED),
      ],
      [
        'Data age',
        `max by (customer) (${AGE}) and on (customer) topk(20, ${failing})`,
        [...inUnit(units.Seconds), ...coloured(AGE_STEPS)],
      ],
    ],
  );
}

function failuresByReason() {
  return hourlyBars(
    8,
    'Failed polls by reason',
    'Per hour. auth: credentials refused; rate_limited: too many requests; timeout, unreachable: no response; server: error of the service; rejected: request not accepted; malformed: invalid response.',
  ).withTarget(
    overTime(
      `round(sum by (reason) (increase(library_exporter_poll_failures_total{${CHOSEN}}[$__interval])))`,
      '{{reason}}',
    ),
  );
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
    'Per hour. Skipped because the previous poll had not ended: the service is slow, or the interval too short.',
  ).withTarget(
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
    .withTarget(overTime(`max by (stream) (${AGE})`, '{{stream}}'))
    .unit(units.Seconds)
    .thresholds(thresholds(AGE_STEPS))
    .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
}

function countExcess() {
  return lines(
    15,
    'Counter excess',
    'Counts that the service withdrew but the counters keep, because a counter must not fall within a month. The twelve largest. Small values are harmless.',
  )
    .noValue('no excess found')
    .withTarget(
      overTime(
        `(${EXCESS} > 0) and on (customer, counter) topk(12, ${EXCESS_AT_END})`,
        '{{customer}} {{counter}}',
      ),
    );
}

function words() {
  return explanation(20, [
    'A *poll* reads one stream of one library: people, logins, or a breakdown by branch, client or device. It takes one or a few *requests*. A failed poll loses nothing: the next successful one has what it missed.',
    'Polls and requests of two exporters with the same configuration are added up; libraries count once. A value that is not known is absent, never 0.',
    'Start with the first row. If one library fails, look at its line on the exporter’s status page. If all fail, look at the reasons.',
  ]);
}

/** What an exporter did in the hour before it went down says nothing of now. */
function ofRunning(counter: string): string {
  return `increase(${counter}{${CHOSEN}}[1h]) and on (job, instance) library_exporter_build_info{${CHOSEN}}`;
}

/** Returns a query of the seconds since the last success of each library and stream. */
function ageOf(matchers: string): string {
  return `time() - max by (customer, stream) (library_poll_last_success_timestamp_seconds{${matchers}})`;
}
