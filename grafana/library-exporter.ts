/** The dashboard for those who run the exporter: is it well, and if not, with whom is it not? */
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
  FAILED_OR_GOOD,
  NONE_IS_GOOD,
  REFUSED_OR_TAKEN,
  base,
  coloured,
  inUnit,
  inWords,
  mappings,
  step,
  thresholds,
} from './looks.ts';
import { explanation, hourlyBars, lines, now, overTime, stat } from './panels.ts';
import { CHOSEN_EXPORTERS as CHOSEN } from './queries.ts';
import { table, withColumns } from './tables.ts';

const AGE = ageOf(CHOSEN);
/** Of polls, as a share. */
const FAILURE_STEPS = [base('green'), step(0.01, 'orange'), step(0.1, 'red')];

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryExporter(): Dashboard {
  return frame('library-exporter', 'Exporter', 'Whether the exporter is well, and where not, why.')
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
    .withPanel(heldCounts())
    .withPanel(instances())
    .withPanel(cpu())
    .withPanel(memory())
    .withPanel(eventLoop())
    .withPanel(words())
    .build();
}

function exporters() {
  return stat(1, 'Exporters that answer', 'Of the chosen ones, how many Prometheus can scrape now.')
    .span(4)
    .withTarget(now(`sum(up{${CHOSEN}})`, 'answer'))
    .withTarget(now(`count(up{${CHOSEN}})`, 'are expected'))
    .thresholds(thresholds([base('red'), step(1, 'green')]));
}

function customers() {
  return stat(
    2,
    'Customers',
    'How many libraries are configured; a library of two exporters is one.',
  )
    .span(4)
    .withTarget(now(`count(max by (customer) (library_customer_info{${CHOSEN}}))`, 'customers'));
}

function failedShare() {
  return stat(3, 'Polls that failed', 'As a share of all polls of the last hour.')
    .span(4)
    .withTarget(
      now(
        `sum(increase(library_poll_failures_total{${CHOSEN}}[1h])) / sum(increase(library_polls_total{${CHOSEN}}[1h]))`,
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
    'Oldest figures',
    'How long ago the last good poll of people or logins ended, of the library where that is longest.',
  )
    .span(4)
    .withTarget(now(`max(${ageOf(`${CHOSEN},stream=~"people|logins"`)})`, 'age'))
    .unit(units.Seconds)
    .thresholds(thresholds(AGE_STEPS));
}

function refusedCredentials() {
  return stat(
    5,
    'Refused credentials',
    'Of how many libraries the service refuses the credentials.',
  )
    .span(4)
    .withTarget(now(`sum(1 - max by (customer) (library_credentials_valid{${CHOSEN}}))`, 'refused'))
    .thresholds(thresholds(NONE_IS_GOOD));
}

function configuration() {
  return stat(
    6,
    'Configuration',
    'How its last reload went. Failed: the file has problems, and the exporter goes on with what it had. Its log lists them.',
  )
    .span(4)
    .withTarget(now(`min(library_exporter_config_last_reload_successful{${CHOSEN}})`, 'reload'))
    .mappings(mappings(FAILED_OR_GOOD));
}

function customersInTrouble() {
  const failing = `max by (customer) (increase(library_poll_failures_total{${CHOSEN}}[1h]))`;
  const empty = table(
    7,
    'Libraries whose polls failed most, last hour',
    'The twenty libraries with the most failed polls of any stream in the last hour. The status page of the exporter shows the last error of each in words.',
  ).span(12);
  return withColumns(
    empty,
    ['customer', 'Customer'],
    [
      ['Failed polls', `topk(20, round(${failing}))`],
      [
        'Credentials',
        `max by (customer) (library_credentials_valid{${CHOSEN}}) and on (customer) topk(20, ${failing})`,
        inWords(REFUSED_OR_TAKEN),
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
    'Of each hour. auth: credentials refused; rate_limited: too many requests; timeout and unreachable: no answer; server: an error of the service; rejected: a question it does not take; malformed: an answer that makes no sense.',
  ).withTarget(
    overTime(
      `round(sum by (reason) (increase(library_exporter_poll_failures_total{${CHOSEN}}[$__interval])))`,
      '{{reason}}',
    ),
  );
}

function polls() {
  return lines(9, 'Polls a minute', 'Polls that ended, good or not, by what was asked for.')
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
    'Left out in each hour because the poll before was still under way: the service is slow, or the interval too short.',
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
    'How long ago the last good poll of each stream ended, of the library where that is longest.',
  )
    .withTarget(overTime(`max by (stream) (${AGE})`, '{{stream}}'))
    .unit(units.Seconds);
}

function heldCounts() {
  return lines(
    15,
    'Held counts',
    "By how much counters are above the service's totals, after it took counts back: they must not fall before the month ends. The twelve greatest; nothing to worry about while it is little.",
  ).withTarget(
    overTime(
      `topk(12, max by (customer, counter) (library_counter_excess{${CHOSEN}}))`,
      '{{customer}} {{counter}}',
    ),
  );
}

function words() {
  return explanation(20, [
    'A *poll* asks the service for one stream of one library: people, logins, or a breakdown by branch, client or device. It takes one to a few *requests*. A poll that failed loses nothing: the next good one brings what it missed.',
    'Two exporters with the same configuration are counted both here, in polls and requests, for both ask the service; libraries are counted once. What is not known is absent, never 0.',
    'Start with the first row. If one library is in trouble, look at its line on the exporter’s status page. If all are, look at the reasons.',
  ]);
}

/** Of each customer and stream. */
function ageOf(matchers: string): string {
  return `time() - max by (customer, stream) (library_poll_last_success_timestamp_seconds{${matchers}})`;
}
