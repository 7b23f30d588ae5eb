/**
 * The first dashboard: what is broken and since when, how busy each branch is, and whether that is usual.
 * Charts show the busiest libraries, the table shows all.
 */
import { BigValueColorMode, BigValueTextMode } from '@grafana/grafana-foundation-sdk/common';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { frame, librariesByLabel, rowsChoice } from './frame.ts';
import { lines, namedStat, narrowLegend, now, overTime, stat } from './panels.ts';
import { problemsMissed, trusted, trustedAtEnd } from './problems.ts';
import {
  LABELLED_LIBRARIES as OF,
  capacity,
  comparable,
  entered,
  enteredLastHour,
  gauge,
  info,
  inside,
  labelled,
  namedSites,
  siteCount,
} from './queries.ts';
import { insideNow, lastHour, needsAttention, today } from './site-panels.ts';
import { sorted, table, withColumns } from './tables.ts';
import {
  AGO,
  COLOURLESS,
  FULLNESS_STEPS,
  ON_RED,
  OPEN_OR_CLOSED,
  base,
  dashed,
  inColour,
  inWords,
  mappings,
  shareBars,
  step,
  thresholds,
  toCustomer,
} from './theme.ts';

const ROWS = { branches: 'customer, branch, name', libraries: 'customer' };
const USUAL_HOUR = gauge(OF, 'library_people_entered_usual_hour');

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryOverview(): Dashboard {
  const dashboard = frame(
    'library-overview',
    'What is broken, how busy each branch is, and whether that is usual.',
  ).time({ from: 'now/d', to: 'now' });
  [...librariesByLabel(), rowsChoice(ROWS)].forEach((variable) => dashboard.withVariable(variable));
  return dashboard
    .withPanel(problems())
    .withPanel(insideNow(2, OF).span(5))
    .withPanel(lastHour(3, OF).span(6))
    .withPanel(today(4, OF).span(6))
    .withPanel(open())
    .withPanel(needsAttention(6, OF).height(5))
    .withPanel(branches())
    .withPanel(entriesPerHour())
    .withPanel(insideByLibrary())
    .build();
}

function problems() {
  return stat(
    1,
    'Problems',
    'Branches, libraries and exporters that Needs attention lists: one for each row.',
  )
    .span(3)
    .textMode(BigValueTextMode.Value)
    .colorMode(BigValueColorMode.BackgroundSolid)
    .thresholds(thresholds([base('transparent'), step(1, ON_RED)]))
    .mappings(mappings({ 0: ['none', 'transparent'] }))
    .withTarget(now(`count(${problemsMissed(OF)}) or 0 * count(${info(OF)})`, 'problems'));
}

function open() {
  const all = `${gauge(OF, 'library_open')}${labelled(OF)}`;
  return namedStat(5, 'Open now', 'By the configured opening hours.')
    .span(4)
    .thresholds(thresholds(COLOURLESS))
    .withTarget(
      now(
        `sum(${all}) * on () group_left (m) count_values("m", ${siteCount(OF)})`,
        'of {{m}} branches',
      ),
    );
}

function branches() {
  const empty = table(
    7,
    'Branches',
    'The fullest first. People inside are not known where the counts are in doubt. Usual is what was to be expected by now, from the same weekday of four weeks. Beyond a hundred branches choose libraries as rows.',
  )
    .span(24)
    .height(12)
    .overrideByName('Library', toCustomer());
  const people = trusted(OF, inside(OF));
  return sorted(
    withColumns(empty, { customer: 'Library', name: 'Branch', branch: '' }, [
      ['', `max by ($rows) (${namedSites(OF)})`],
      ['Inside', byRow('sum', people)],
      [
        'Of capacity',
        `${byRow('sum', comparable(people, capacity(OF)))} / ${byRow('sum', comparable(capacity(OF), people))}`,
        shareBars(FULLNESS_STEPS),
      ],
      ['Open', byRow('max', gauge(OF, 'library_open')), inWords(OPEN_OR_CLOSED)],
      ['Last hour', byRow('sum', enteredLastHour(OF))],
      ['Usual hour', byRow('sum', USUAL_HOUR)],
      ['Today', byRow('sum', entered(OF))],
      ['Usual by now', byRow('sum', gauge(OF, 'library_people_entered_usual_today'))],
      [
        'Last person',
        `1000 * ${byRow('max', gauge(OF, 'library_people_last_seen_timestamp_seconds'))}`,
        AGO,
      ],
    ]),
    'Inside',
  );
}

/** A column of the table, by branch or by library. */
function byRow(aggregation: 'sum' | 'max', value: string): string {
  return `${aggregation} by ($rows) (${value}${labelled(OF)})`;
}

function entriesPerHour() {
  const value = enteredLastHour(OF);
  return lines(
    8,
    'Entries within an hour, against usual',
    'At each time those of the hour before, and what was usual then, of the same branches. Those with a problem now are in neither.',
  )
    .legend(narrowLegend())
    .interval('10m')
    .withTarget(overTime(`sum(${trustedAtEnd(OF, comparable(value, USUAL_HOUR))})`, 'entries'))
    .withTarget(overTime(`sum(${trustedAtEnd(OF, comparable(USUAL_HOUR, value))})`, 'usual'))
    .overrideByName('entries', inColour('blue'))
    .overrideByName('usual', dashed());
}

function insideByLibrary() {
  const busiest = `topk(8, sum by (customer) (${entered(OF, '@ end()')}${labelled(OF)}))`;
  return lines(
    9,
    'People inside by library',
    'The eight libraries with the most entries today, without branches that have a problem now.',
  )
    .legend(narrowLegend())
    .fillOpacity(0)
    .interval('10m')
    .withTarget(
      overTime(`sum by (customer) (${trustedAtEnd(OF, inside(OF))}) and on (customer) ${busiest}`),
    );
}
