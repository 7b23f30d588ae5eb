/** Dashboard for a screen at the entrance: readable from five metres, without details. */
import {
  BigValueColorMode,
  BigValueJustifyMode,
  BigValueTextMode,
  VizTextDisplayOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import { MappingType } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { customerChoice, frame } from './frame.ts';
import { columns, now, stat } from './panels.ts';
import { FULLNESS, INSIDE, OPEN, RAW_INSIDE, byLocalHour, perCustomer } from './queries.ts';
import { base, mappings, step, thresholds } from './theme.ts';

/** From this number of people on that were to be expected and did not come, their number is not shown. */
const MAX_MISSED = 10;
const MISSED = `(${perCustomer('library_people_expected_since_last_seen')} >= ${MAX_MISSED})`;
/** No number is below 0. In grey, also behind a word: absent values have no colour. */
const MISSED_TEXT = mappings({ '-1': ['Not known', 'gray'] });

const LEVELS: readonly (readonly [from: number, to: number | null, text: string])[] = [
  [0, 0.3, 'Plenty of room'],
  [0.3, 0.6, 'Room for you'],
  [0.6, 0.8, 'Getting busy'],
  [0.8, 1, 'Nearly full'],
  [1, null, 'Full'],
];
const LEVEL_STEPS = [base('green'), step(0.6, 'yellow'), step(0.8, 'orange'), step(1, 'red')];

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryNow(): Dashboard {
  return frame('library-now', 'For a screen at the entrance of a library. Open it with ?kiosk.')
    .withVariable(customerChoice())
    .withPanel(level())
    .withPanel(inside())
    .withPanel(open())
    .withPanel(usually())
    .build();
}

function level() {
  return stat(
    1,
    'How busy is it?',
    'People inside against the capacity, in words: by the estimate where there is one, else by entries minus exits. Not known while at least 10 people were to be expected since the last one was counted.',
  )
    .span(24)
    .height(10)
    .withTarget(now(unlessMissed(FULLNESS)))
    .unit(units.PercentUnit)
    .textMode(BigValueTextMode.Value)
    .colorMode(BigValueColorMode.Background)
    .justifyMode(BigValueJustifyMode.Center)
    .thresholds(thresholds(LEVEL_STEPS))
    .mappings([
      ...LEVELS.map(([from, to, text], index) => ({
        type: MappingType.RangeToText as const,
        // The upper end belongs to the next level.
        options: { from, to: to === null ? null : to - 1e-9, result: { text, index } },
      })),
      ...MISSED_TEXT,
    ]);
}

/** -1 while people are missed: their number is a number of the past. VictoriaMetrics has no NaN in responses. */
function unlessMissed(query: string): string {
  return `${query} unless on (customer) ${MISSED} or (${query} and on (customer) ${MISSED}) * 0 - 1`;
}

function inside() {
  return stat(
    2,
    'People inside',
    'The estimate where there is one, else entries minus exits since the day started. Not known while at least 10 people were to be expected since the last one was counted.',
  )
    .span(12)
    .height(6)
    .textMode(BigValueTextMode.Value)
    .justifyMode(BigValueJustifyMode.Center)
    .withTarget(now(unlessMissed(INSIDE)))
    .mappings(MISSED_TEXT);
}

function open() {
  return stat(3, 'Today', 'By the configured opening hours. No metric says until when.')
    .span(12)
    .height(6)
    .textMode(BigValueTextMode.Value)
    .justifyMode(BigValueJustifyMode.Center)
    .withTarget(now(OPEN))
    .mappings(mappings({ 0: ['Closed now', 'text'], 1: ['Open now', 'green'] }));
}

function usually() {
  const today = `count_values by (customer) ("weekday", (day_of_week(time() + ${perCustomer('library_utc_offset_seconds')}) + 6) % 7 + 1)`;
  return columns(
    4,
    'Usually, on this weekday',
    'Average of entries minus exits since the day started, by local hour, four weeks.',
    'hour',
    `sum by (hour) (${byLocalHour(RAW_INSIDE, '4w')} and on (customer, weekday) ${today})`,
  )
    .span(24)
    .text(new VizTextDisplayOptionsBuilder().valueSize(22));
}
