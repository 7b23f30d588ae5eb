/**
 * The first dashboard: who is inside now, how full is it, how many came today, how old is what is
 * shown. Knows the metrics of the exporter by name, and nothing else of it. The panels of the first row show twelve customers at most, the table shows all.
 */
import type { PanelBuilder as BarGauge } from '@grafana/grafana-foundation-sdk/bargauge';
import {
  BarAlignment,
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphDrawStyle,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type {
  Dashboard,
  QueryVariableBuilder,
  Threshold,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as Text } from '@grafana/grafana-foundation-sdk/text';
import type { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { DATASOURCE, byValue } from './finish.ts';
import {
  PLAIN,
  SELECTED,
  bars,
  base,
  chooser,
  inWords,
  coloured,
  lastValue,
  lines,
  now,
  overTime,
  perCustomer,
  step,
  thresholds,
} from './parts.ts';

const INSIDE = perCustomer('library_occupancy_people');
const FULLNESS = `${INSIDE} / on (customer) (${perCustomer('library_capacity_people')} > 0)`;
const ENTERED_TODAY = perCustomer('library_people_entered_today');
/** Breakdowns are polled less often, and left out. */
const MINUTE_STREAMS = '{job=~"$job",customer=~"$customer",stream=~"people|logins"}';
/** Of people and logins the one that was read longest ago. */
const DATA_AGE = `time() - min by (customer) (max by (customer, stream) (library_poll_last_success_timestamp_seconds${MINUTE_STREAMS}))`;
/** 1 if the newest poll of both streams was good. */
const LAST_POLL = `min by (customer) (max by (customer, stream) (library_up${MINUTE_STREAMS}))`;

const FULLNESS_STEPS: Threshold[] = [base('green'), step(0.8, 'orange'), step(1, 'red')];
/** Five polls missed, and as old as the alert LibraryDataStale allows. */
const AGE_STEPS: Threshold[] = [base('green'), step(300, 'orange'), step(900, 'red')];

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryOverview(): Dashboard {
  return new DashboardBuilder('Library / Overview')
    .uid('library-overview')
    .description('Who is inside now, how full it is, who came today, and how old the figures are.')
    .tags(['library'])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .refresh('1m')
    .time({ from: 'now-24h', to: 'now' })
    .timezone('browser')
    .weekStart('monday')
    .variables(variables())
    .withPanel(insideNow())
    .withPanel(fullness())
    .withPanel(enteredToday())
    .withPanel(dataAge())
    .withPanel(customerTable())
    .withPanel(insideOverTime())
    .withPanel(entriesPerHour())
    .withPanel(explanation())
    .build();
}

function variables(): (DatasourceVariableBuilder | QueryVariableBuilder)[] {
  return [
    new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
    // From a series that every customer has as soon as it is configured.
    chooser('job', 'Job', 'label_values(library_customer_info, job)'),
    chooser('customer', 'Customer', 'label_values(library_customer_info{job=~"$job"}, customer)'),
  ];
}

function insideNow(): Stat {
  return new Stat()
    .id(1)
    .title('Inside now')
    .description(
      'People inside, the twelve fullest customers. Computed from the minutes since the day started; absent while no good poll is younger than 15 minutes.',
    )
    .datasource(DATASOURCE)
    .span(6)
    .height(9)
    .withTarget(now(`topk(12, ${INSIDE})`))
    .unit(units.NoUnit)
    .decimals(0)
    .thresholds(thresholds(PLAIN))
    .noValue('no data')
    .reduceOptions(lastValue())
    .textMode(BigValueTextMode.ValueAndName)
    .colorMode(BigValueColorMode.Value)
    .graphMode(BigValueGraphMode.None);
}

function fullness(): BarGauge {
  return bars()
    .id(2)
    .title('Occupancy against capacity')
    .description(
      'People inside as a share of the configured capacity, the twelve fullest customers. A customer without a capacity is not shown.',
    )
    .withTarget(now(`topk(12, ${FULLNESS})`))
    .unit(units.PercentUnit)
    .decimals(0)
    .max(1)
    .thresholds(thresholds(FULLNESS_STEPS));
}

function enteredToday(): BarGauge {
  return bars()
    .id(3)
    .title('Entries today')
    .description(
      "People counted in since the day started at the customer's day_starts_at, the twelve busiest customers. The service's own figure, corrections included.",
    )
    .withTarget(now(`topk(12, ${ENTERED_TODAY})`))
    .unit(units.NoUnit)
    .decimals(0)
    .thresholds(thresholds(PLAIN));
}

function dataAge(): BarGauge {
  return bars()
    .id(4)
    .title('Data age')
    .description(
      "How long ago the customer's last good poll ended, of people or logins, whichever is older; the twelve oldest.",
    )
    .withTarget(now(`topk(12, ${DATA_AGE})`))
    .unit(units.Seconds)
    .decimals(0)
    .max(900)
    .thresholds(thresholds(AGE_STEPS));
}

/** One row a customer. The name of a column is what the table calls it; its query is the value. */
function customerTable(): Table {
  const columns = [
    ['Inside now', INSIDE],
    ['Of capacity', FULLNESS],
    ['Entered today', ENTERED_TODAY],
    ['Left today', perCustomer('library_people_exited_today')],
    ['Logins today', perCustomer('library_logins_today')],
    ['Opening hours', perCustomer('library_open')],
    ['Last person', `${perCustomer('library_people_last_seen_timestamp_seconds')} * 1000`],
    ['Data age', DATA_AGE],
    // From the first poll on, good or not: a customer that never had a good one has a row, too.
    ['Last poll', LAST_POLL],
  ] as const;
  return new Table()
    .id(5)
    .title('Customers')
    .description(
      'One row for each customer. An empty cell is a figure that is not known: no capacity or opening hours configured, nobody seen today or the day before, or no complete reading yet.',
    )
    .datasource(DATASOURCE)
    .span(24)
    .height(10)
    .targets(columns.map(([, query]) => now(query).format(PromQueryFormat.Table)))
    .unit(units.NoUnit)
    .decimals(0)
    .thresholds(thresholds(PLAIN))
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { pattern: '^(customer|Value.*)$' } },
    })
    .withTransformation({ id: 'joinByField', options: { byField: 'customer', mode: 'outer' } })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: { customer: 0, ...byValue(columns.map((_, index) => index + 1)) },
        renameByName: { customer: 'Customer', ...byValue(columns.map(([name]) => name)) },
      },
    })
    .overrideByName('Of capacity', [
      { id: 'unit', value: units.PercentUnit },
      ...coloured(FULLNESS_STEPS),
    ])
    .overrideByName('Opening hours', inWords('closed', 'text', 'open'))
    .overrideByName('Last person', [{ id: 'unit', value: units.DateTimeFromNow }])
    .overrideByName('Data age', [{ id: 'unit', value: units.Seconds }, ...coloured(AGE_STEPS)])
    .overrideByName('Last poll', inWords('failed', 'red', 'good'));
}

function insideOverTime(): TimeSeries {
  return lines()
    .id(6)
    .title('People inside')
    .description('People inside over time. A gap is a time without fresh data.')
    .withTarget(overTime(INSIDE))
    .interval('1m');
}

function entriesPerHour(): TimeSeries {
  return (
    lines()
      .id(7)
      .title('Entries per hour')
      .description(
        'People counted in within each hour, or within each longer step where the time range is long.',
      )
      .withTarget(
        overTime(
          `round(max by (customer) (increase(library_people_entered_total${SELECTED}[$__interval])))`,
        ),
      )
      // One bar's window ends where the next one's begins, so that the bars add up.
      .interval('1h')
      .drawStyle(GraphDrawStyle.Bars)
      .barAlignment(BarAlignment.Before)
      .fillOpacity(60)
  );
}

function explanation(): Text {
  return new Text()
    .id(8)
    .title('What these numbers mean')
    .description('Where the figures come from, and why one may be missing.')
    .span(24)
    .height(5)
    .content(
      [
        'The exporter polls the service in the background, once a minute unless configured otherwise; a scrape shows what was read last, and *Data age* how long ago that was.',
        '',
        "Counters (`library_people_entered_total`) hold the service's total since the first of the month and never fall within it. Figures of *today* start again at the customer's `day_starts_at` and follow the corrections of the service.",
        '',
        "A figure that is not known is absent, never 0. If a customer is missing here, look at the exporter's status page: it shows the last error of each.",
      ].join('\n'),
    );
}
