/** Panels that more than one dashboard has, with the same words on each. */
import { namedStat, now } from './panels.ts';
import { problemsMissed, problemsSince, trusted } from './problems.ts';
import { comparable, entered, enteredLastHour, gauge, inside, summed } from './queries.ts';
import type { Selection } from './queries.ts';
import { table, withColumns } from './tables.ts';
import { AGO, ON_RED, background, dashFor, inColour, toCustomer } from './theme.ts';

/** The name of a sum: of how many branches it is. */
const OF_BRANCHES = '{{n}} of {{m}} branches';
const LEFT_OUT = 'Branches that Needs attention lists are left out, except the overfull.';

/** One row for each branch or library with a problem. */
export function needsAttention(id: number, of: Selection) {
  const empty = table(
    id,
    'Needs attention',
    'What is probably broken now, the cause first; without a branch it is the library as a whole. Missed: about how many people were not counted. Failed polls miss nobody: the next good one has them.',
  )
    .span(24)
    .noValue('no problem found');
  return withColumns(empty, { rank: '', customer: 'Library', name: 'Branch', problem: 'Problem' }, [
    ['Since', problemsSince(of), AGO],
    ['Missed', problemsMissed(of), [...dashFor(-1), { id: 'custom.width', value: 90 }]],
  ])
    .overrideByName('Library', toCustomer())
    .overrideByName('Problem', [...background(ON_RED), { id: 'custom.minWidth', value: 260 }]);
}

/** People inside all chosen branches. */
export function insideNow(id: number, of: Selection) {
  return namedStat(
    id,
    'People inside',
    `Estimates; where none is possible entries minus exits. A closed branch counts as empty. ${LEFT_OUT}`,
  ).withTarget(now(summed(of, trusted(of, inside(of))), OF_BRANCHES));
}

/** Entries of the last hour, with the usual number of the same branches. */
export function lastHour(id: number, of: Selection) {
  const usual = gauge(of, 'library_people_entered_usual_hour');
  return compared(id, 'Entries, last hour', of, enteredLastHour(of), usual);
}

/** Entries of today, with the usual number of the same branches. */
export function today(id: number, of: Selection) {
  const usual = gauge(of, 'library_people_entered_usual_today');
  return compared(id, 'Entries today', of, entered(of), usual);
}

function compared(id: number, title: string, of: Selection, value: string, usual: string) {
  const both = summed(of, trusted(of, comparable(value, usual)));
  return namedStat(
    id,
    title,
    `Beside it what is usual by now on this weekday, for the same branches; alone where that is not known yet. ${LEFT_OUT}`,
  )
    .withTarget(now(`${both} or on () ${summed(of, trusted(of, value))}`, OF_BRANCHES))
    .withTarget(now(`sum(${trusted(of, comparable(usual, value))})`, 'usual'))
    .overrideByName('usual', inColour('text'));
}
