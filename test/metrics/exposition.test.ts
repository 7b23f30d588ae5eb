import { describe, expect, test } from 'vitest';
import { exposing, linesOf, textOf } from './exposing.ts';
import { harbour, riverside } from './fixtures.ts';

const POLLED = 'Polled from the service in the background, not at the scrape.';

/** The text format; OpenMetrics differs in the heads of the counters alone. */
const TWO_CUSTOMERS = `\
# HELP library_customer_info Time zone and labels of the customer, as configured. Always 1.
# TYPE library_customer_info gauge
library_customer_info{customer="riverside",timezone="Europe/Copenhagen",region="north"} 1
library_customer_info{customer="harbour",timezone="America/New_York",region=""} 1
# HELP library_utc_offset_seconds How far the customer's local time is ahead of UTC now.
# TYPE library_utc_offset_seconds gauge
library_utc_offset_seconds{customer="riverside"} 3600
library_utc_offset_seconds{customer="harbour"} -14400
# HELP library_counter_start_timestamp_seconds Where the customer's counters start: the first start of a day, local time, of the running month. They start again at 0 there.
# TYPE library_counter_start_timestamp_seconds gauge
library_counter_start_timestamp_seconds{customer="riverside"} 1772334000
library_counter_start_timestamp_seconds{customer="harbour"} 1772355600
# HELP library_open 1 inside the configured opening hours, 0 outside. Absent where none are configured.
# TYPE library_open gauge
library_open{customer="riverside"} 1
# HELP library_capacity_people How many people may be inside, as configured. Absent where it is not.
# TYPE library_capacity_people gauge
library_capacity_people{customer="riverside"} 250
# HELP library_occupancy_people People inside now: counted in minus counted out since the day started, never below 0 at any minute. Absent when the newest good poll is too old to tell. ${POLLED}
# TYPE library_occupancy_people gauge
library_occupancy_people{customer="riverside"} 42
# HELP library_people_entered_total People counted in since the epoch: the service's own total of in, kept from falling. ${POLLED}
# TYPE library_people_entered_total counter
library_people_entered_total{customer="riverside"} 12345
# HELP library_people_exited_total People counted out since the epoch: the service's own total of out, kept from falling. ${POLLED}
# TYPE library_people_exited_total counter
library_people_exited_total{customer="riverside"} 12301
# HELP library_logins_total Patron logins since the epoch: the service's own total of value, kept from falling. ${POLLED}
# TYPE library_logins_total counter
library_logins_total{customer="riverside"} 3210
# HELP library_people_entered_today People counted in since the day started, corrections included. ${POLLED}
# TYPE library_people_entered_today gauge
library_people_entered_today{customer="riverside"} 321
# HELP library_people_exited_today People counted out since the day started, corrections included. ${POLLED}
# TYPE library_people_exited_today gauge
library_people_exited_today{customer="riverside"} 279
# HELP library_logins_today Patron logins since the day started, corrections included. ${POLLED}
# TYPE library_logins_today gauge
library_logins_today{customer="riverside"} 55
# HELP library_people_last_seen_timestamp_seconds Start of the newest minute in which anybody was counted in or out, today or the day before. Absent if there was none. ${POLLED}
# TYPE library_people_last_seen_timestamp_seconds gauge
library_people_last_seen_timestamp_seconds{customer="riverside"} 1773133140
# HELP library_logins_last_seen_timestamp_seconds Start of the newest minute in which anybody logged in, today or the day before. Absent if there was none. ${POLLED}
# TYPE library_logins_last_seen_timestamp_seconds gauge
library_logins_last_seen_timestamp_seconds{customer="riverside"} 1773132300
# HELP library_counter_excess By how much the exported counter is above the service's total now. Above 0 only after the service took counts back; it ends with the epoch.
# TYPE library_counter_excess gauge
library_counter_excess{customer="riverside",counter="people_entered"} 0
library_counter_excess{customer="riverside",counter="people_exited"} 2
library_counter_excess{customer="riverside",counter="logins"} 0
# HELP library_up Whether the last poll of the stream was good: 1 if so, 0 if not. Absent before the first one ended.
# TYPE library_up gauge
library_up{customer="riverside",stream="people"} 1
library_up{customer="riverside",stream="logins"} 0
# HELP library_poll_last_success_timestamp_seconds When the last good poll of the stream ended: how fresh its figures are.
# TYPE library_poll_last_success_timestamp_seconds gauge
library_poll_last_success_timestamp_seconds{customer="riverside",stream="people"} 1773133187.75
library_poll_last_success_timestamp_seconds{customer="riverside",stream="logins"} 1773132600
# HELP library_polls_total Polls of the stream that ended, good or not.
# TYPE library_polls_total counter
library_polls_total{customer="riverside",stream="people"} 100
library_polls_total{customer="riverside",stream="logins"} 99
library_polls_total{customer="harbour",stream="people"} 0
# HELP library_poll_failures_total Polls of the stream that ended without a whole good answer.
# TYPE library_poll_failures_total counter
library_poll_failures_total{customer="riverside",stream="people"} 3
library_poll_failures_total{customer="riverside",stream="logins"} 10
library_poll_failures_total{customer="harbour",stream="people"} 0
# HELP library_polls_skipped_total Polls of the stream that were left out because the one before was still under way.
# TYPE library_polls_skipped_total counter
library_polls_skipped_total{customer="riverside",stream="people"} 1
library_polls_skipped_total{customer="riverside",stream="logins"} 0
library_polls_skipped_total{customer="harbour",stream="people"} 0
# HELP library_credentials_valid What the service said of the credentials last: 1 taken, 0 refused. Absent before it said anything.
# TYPE library_credentials_valid gauge
library_credentials_valid{customer="riverside"} 1
`;

describe('the customers as text', () => {
  test('two customers in the text format: what is not known is absent', () => {
    const { exposition } = exposing(riverside(), harbour());
    expect(textOf(exposition)).toBe(TWO_CUSTOMERS);
  });

  test('two customers as OpenMetrics: counters are named without _total above their samples', () => {
    const { exposition } = exposing(riverside(), harbour());
    const expected = TWO_CUSTOMERS.replaceAll(
      /^# HELP (\w+)_total (.*)\n# TYPE \1_total counter$/gm,
      '# HELP $1 $2\n# TYPE $1 counter',
    );
    expect(expected).toContain(
      '# TYPE library_people_entered counter\nlibrary_people_entered_total{',
    );
    expect(textOf(exposition, 'openmetrics')).toBe(expected);
  });

  test('the text format is the same before and after OpenMetrics was rendered', () => {
    const { exposition } = exposing(riverside(), harbour());
    const before = textOf(exposition);
    textOf(exposition, 'openmetrics');
    expect(textOf(exposition)).toBe(before);
  });

  test('no customers are no text', () => {
    expect(textOf(exposing().exposition)).toBe('');
  });

  test('backslashes, quotation marks and line ends in names and labels are escaped', () => {
    const { exposition } = exposing(
      riverside({ customer: 'a\\b"c\nd', labels: { region: 'Århus "N"\n' } }),
    );
    expect(linesOf(exposition, 'library_customer_info')).toEqual([
      String.raw`library_customer_info{customer="a\\b\"c\nd",timezone="Europe/Copenhagen",region="Århus \"N\"\n"} 1`,
    ]);
    expect(linesOf(exposition, 'library_open')).toEqual([
      String.raw`library_open{customer="a\\b\"c\nd"} 1`,
    ]);
  });

  test('closed, empty and refused are 0, not absent', () => {
    const { exposition } = exposing(
      riverside({ open: false, occupancy: 0, credentialsValid: false }),
    );
    expect(linesOf(exposition, 'library_open')).toEqual(['library_open{customer="riverside"} 0']);
    expect(linesOf(exposition, 'library_occupancy_people')).toEqual([
      'library_occupancy_people{customer="riverside"} 0',
    ]);
    expect(linesOf(exposition, 'library_credentials_valid')).toEqual([
      'library_credentials_valid{customer="riverside"} 0',
    ]);
  });

  test('every customer shows the label names of all, sorted, whatever a label is called', () => {
    const { exposition } = exposing(
      riverside({ labels: { zone: '1', constructor: 'x' } }),
      harbour({ labels: { area: 'west' } }),
    );
    expect(linesOf(exposition, 'library_customer_info')).toEqual([
      'library_customer_info{customer="riverside",timezone="Europe/Copenhagen",area="",constructor="x",zone="1"} 1',
      'library_customer_info{customer="harbour",timezone="America/New_York",area="west",constructor="",zone=""} 1',
    ]);
  });
});
