/** Dashboard for a screen at the entrance: readable from five metres, without details. */
import {
  BigValueColorMode,
  BigValueJustifyMode,
  BigValueTextMode,
  VizTextDisplayOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import { MappingType } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dashboard, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard';
import { branchChoice, customerChoice, frame } from './frame.ts';
import { columns, now, stat } from './panels.ts';
import { trusted } from './problems.ts';
import { BRANCHES as OF, capacity, gauge, inside, sites } from './queries.ts';
import {
  COLOURLESS,
  ON_GREEN,
  ON_GREY,
  ON_ORANGE,
  ON_RED,
  base,
  inColour,
  thresholds,
} from './theme.ts';

/** Stand for words: no number of people and no share is below 0. */
const UNKNOWN = -1;
const CLOSED = -2;
const WITHOUT_CAPACITY = -3;

/** The colours change where those of other dashboards do. */
const LEVELS: readonly (readonly [from: number, to: number | null, text: string, color: string])[] =
  [
    [0, 0.3, 'Plenty of room', ON_GREEN],
    [0.3, 0.6, 'Room for you', ON_GREEN],
    [0.6, 0.8, 'Getting busy', ON_GREEN],
    [0.8, 1, 'Nearly full', ON_ORANGE],
    [1, null, 'Full', ON_RED],
  ];

const WHERE = '$customer ${branch:text}';
const USUAL = gauge(OF, 'library_occupancy_usual_people');

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryNow(): Dashboard {
  // The SDK places no panel beside two others: the last two have their places.
  return frame('library-now', 'For a screen at the entrance of one branch. Open it with ?kiosk.')
    .withVariable(customerChoice())
    .withVariable(branchChoice())
    .withPanel(level())
    .withPanel(people())
    .withPanel(usually())
    .withPanel(hours())
    .build();
}

/** A value while open and known, else numbers that stand for words. */
function orWords(value: string): string {
  const closed = `(${gauge(OF, 'library_open')} == 0) + ${CLOSED}`;
  const unknown = `0 * ${sites(OF)} + ${UNKNOWN}`;
  return [closed, value, unknown].join(' or on (customer, branch) ');
}

function level() {
  const share = `${trusted(OF, inside(OF))} / on (customer, branch) ${capacity(OF)}`;
  const withoutCapacity = `0 * ${trusted(OF, inside(OF))} + ${WITHOUT_CAPACITY}`;
  return stat(
    1,
    `How busy is it? ${WHERE}`,
    'People inside against the capacity, in words. Not known without data, and while at least 10 people were to be expected since the last one was counted.',
  )
    .span(16)
    .height(12)
    .withTarget(now(orWords(`${share} or on (customer, branch) ${withoutCapacity}`)))
    .noValue('Not known')
    .textMode(BigValueTextMode.Value)
    .colorMode(BigValueColorMode.BackgroundSolid)
    .justifyMode(BigValueJustifyMode.Center)
    .thresholds(thresholds([base(ON_GREY)]))
    .mappings([
      ...LEVELS.map(([from, to, text, color], index) => ({
        type: MappingType.RangeToText as const,
        // The upper end belongs to the next level.
        options: { from, to: to === null ? null : to - 1e-9, result: { text, color, index } },
      })),
      words(ON_GREY, ON_GREEN),
    ]);
}

function words(color: string, open: string): ValueMapping {
  return {
    type: MappingType.ValueToText,
    options: {
      [UNKNOWN]: { text: 'Not known', color, index: 10 },
      [CLOSED]: { text: 'Closed', color, index: 11 },
      [WITHOUT_CAPACITY]: { text: 'Open', color: open, index: 12 },
    },
  };
}

function people() {
  return stat(2, 'People inside now', 'Estimated where possible, else entries minus exits.')
    .span(8)
    .height(6)
    .textMode(BigValueTextMode.Value)
    .justifyMode(BigValueJustifyMode.Center)
    .withTarget(now(orWords(trusted(OF, inside(OF)))))
    .noValue('Not known')
    .thresholds(thresholds(COLOURLESS))
    .mappings([words('text', 'text')]);
}

function usually() {
  return stat(
    3,
    'Usually at this time',
    'The mean of the same weekday in four weeks; 0 while closed.',
  )
    .gridPos({ x: 16, y: 6, w: 8, h: 6 })
    .textMode(BigValueTextMode.Value)
    .justifyMode(BigValueJustifyMode.Center)
    .withTarget(now(`${USUAL} or ${gauge(OF, 'library_occupancy_usual_people', 'offset 1w')}`))
    .noValue('Not known')
    .thresholds(thresholds(COLOURLESS));
}

/** One second earlier, because an hour's last half ends in the next hour. The zone is known without exporter. */
const LOCAL_TIME = `time() - 1 + max by (customer) (last_over_time(library_utc_offset_seconds{${OF.customers}}[1d]))`;
const THIS_HOUR = twoDigits(`count_values by (customer) ("hour", hour(${LOCAL_TIME}))`);

/**
 * What is usual in each hour of this weekday in which people come: of today until now, and of the same day a
 * week ago for the rest.
 */
function usualByHour(): string {
  const labels = [
    `on (customer) group_left (hour) count_values by (customer) ("hour", hour(${LOCAL_TIME}))`,
    `on (customer) group_left (weekday) ${weekday()}`,
  ];
  const byHour = `(${[USUAL, ...labels].join(' * ')})[1d:30m]`;
  const days = ['', ' offset 6d', ' offset 7d'].map((when) => `avg_over_time(${byHour}${when})`);
  const hours = `(${days.join(' or ')}) and on (customer, weekday) ${weekday()}`;
  return `max by (customer, hour) (${twoDigits(hours)}) > 0`;
}

function weekday(): string {
  return `count_values by (customer) ("weekday", day_of_week(${LOCAL_TIME}))`;
}

function twoDigits(query: string): string {
  return `label_replace(${query}, "hour", "0$1", "hour", "(.)")`;
}

function hours() {
  return columns(
    4,
    'Usually inside today, by hour',
    'What is usual on this weekday in the hours in which people come. The hour that is running now is marked.',
    'hour',
    [
      ['usually', `${usualByHour()} unless on (customer, hour) ${THIS_HOUR}`],
      ['usually, this hour', `${usualByHour()} and on (customer, hour) ${THIS_HOUR}`],
    ],
  )
    .gridPos({ x: 0, y: 12, w: 24, h: 9 })
    .text(new VizTextDisplayOptionsBuilder().valueSize(22))
    .overrideByName('usually', inColour('blue'))
    .overrideByName('usually, this hour', inColour('orange'));
}
