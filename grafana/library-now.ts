/** Dashboard for a screen at the entrance: readable from five metres, without details. */
import { ONE_BRANCH, ONE_LIBRARY, dashboard } from './frame.ts';
import { lines, stat } from './panels.ts';
import { BRANCH as OF } from './queries.ts';
import * as theme from './theme.ts';

/** The colours change where those of other dashboards do. */
const LEVELS = [
  theme.level(0, 0.3, 'Plenty of room', theme.ON_GREEN),
  theme.level(0.3, 0.6, 'Room for you', theme.ON_GREEN),
  theme.level(0.6, 0.8, 'Getting busy', theme.ON_GREEN),
  theme.level(0.8, 1, 'Nearly full', theme.ON_ORANGE),
  theme.level(1, Infinity, 'Full', theme.ON_RED),
];
const INSIDE = `library_inside_people{${OF}}`;
const USUAL = `library_occupancy_usual_people{${OF}}`;
const CLOSED = `library_open{${OF}} == 0`;
const noValue = 'Not known';
/** The whole dashboard, as its file has it. */
export function libraryNow() {
  return dashboard({
    uid: 'library-now',
    description: 'For a screen at the entrance of one branch. Open it with ?kiosk.',
    from: 'now/d',
    variables: [ONE_LIBRARY, ONE_BRANCH],
    rows: [
      [9, [level(), people()]],
      [11, [usually(), today()]],
    ],
  });
}

function level() {
  return stat({
    title: 'How busy is it? $customer ${branch:text}',
    description: 'Of the capacity, in words. Not known while the counts are wrong or old.',
    noValue,
    queries: [
      ['busy', `max(${INSIDE} / library_capacity_people{${OF}} unless ${CLOSED})`],
      ['closed', `max(${CLOSED})`, { mappings: [theme.words({ 0: ['Closed', theme.ON_GREY] })] }],
    ],
    defaults: {
      mappings: [...LEVELS, theme.forNone(noValue, theme.ON_GREY)],
      thresholds: theme.steps(theme.ON_GREY),
    },
    options: { textMode: 'value', colorMode: 'background_solid' },
  });
}

function people() {
  return stat({
    title: 'People inside now',
    description: 'Estimated where possible, else entries minus exits. 0 while closed.',
    noValue,
    queries: [['inside', `max(${INSIDE})`]],
    defaults: { thresholds: theme.COLOURLESS, mappings: [theme.forNone(noValue)] },
  });
}

function usually() {
  return stat({
    title: 'Usually inside',
    description: 'Means of four weeks, 0 while closed. Those of later are of a week ago.',
    noValue,
    queries: [
      ['now', `max(${USUAL})`],
      ['in an hour', `max(${USUAL} offset 167h)`],
      ['in two hours', `max(${USUAL} offset 166h)`],
      ['in three hours', `max(${USUAL} offset 165h)`],
    ],
    defaults: { thresholds: theme.COLOURLESS, mappings: [theme.forNone(noValue)] },
  });
}

function today() {
  return lines({
    title: 'Today until now',
    description: 'People inside, and dashed what is usual.',
    interval: '5m',
    noValue,
    queries: [
      ['people inside', `max(${INSIDE})`, theme.BLUE],
      ['usual', `max(${USUAL})`, theme.DASHED],
    ],
  });
}
