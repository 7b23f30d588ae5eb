/** The first dashboard: what is broken and since when, how busy each branch is, and whether that is usual. */
import { ANY_LIBRARIES, addressOf, dashboard } from './frame.ts';
import { lines, stat, table } from './panels.ts';
import * as queries from './queries.ts';
import { LIBRARIES as OF, bySite, sum, trustedSum } from './queries.ts';
import * as theme from './theme.ts';

const INSIDE = bySite('library_inside_people', OF);
const PROBLEMS = `max by (customer, branch, problem) (library_problem_start_timestamp_seconds{${OF}})`;
const LEFT_OUT = 'Without branches whose counts are wrong or old now, also in what is usual.';

/** The whole dashboard, as its file has it. */
export function libraryOverview() {
  return dashboard({
    uid: 'library-overview',
    description: 'What is broken, how busy each branch is, and whether that is usual.',
    from: 'now/d',
    variables: ANY_LIBRARIES,
    rows: [
      [
        5,
        [problems(), exporters(), inside(), entries('hour', OF), entries('today', OF), branches()],
      ],
      [6, [needsAttention(OF)]],
      [12, [branchTable()]],
      [9, [entriesOverTime(), insideOverTime()]],
    ],
  });
}

function entriesOverTime() {
  return lines({
    title: 'Entries within an hour, against usual',
    description: `At each time those of the hour before, dashed what was usual. ${LEFT_OUT}`,
    interval: '10m',
    queries: [
      ['entries', trustedSum('library_people_entered_hour', OF, ' @ end()'), theme.BLUE],
      ['usual', trustedSum('library_people_entered_usual_hour', OF, ' @ end()'), theme.DASHED],
    ],
  });
}

function insideOverTime() {
  return lines({
    title: 'People inside, against usual',
    description: 'Dashed what is usual. Without branches while their counts are wrong or old.',
    interval: '10m',
    queries: [
      ['inside', `sum(${INSIDE})`, theme.BLUE],
      ['usual', queries.usualWhereKnown(OF), theme.DASHED],
    ],
  });
}

function problems() {
  return stat({
    title: 'Problems',
    description: 'Rows of Needs attention.',
    queries: [['problems', `count(${PROBLEMS}) or 0 * count(library_site_info{${OF}})`]],
    defaults: {
      mappings: [
        theme.words({ 0: ['none', 'transparent'] }),
        theme.forNone('not known', 'transparent'),
      ],
      thresholds: theme.steps('transparent', [1, theme.ON_RED]),
    },
    options: { colorMode: 'background_solid' },
  });
}

function exporters() {
  return stat({
    title: 'Exporters down',
    description: 'They answered within the last day. Of what only they poll, no problem is known.',
    queries: [['down', queries.notAnswering('job=~"$job"')]],
    defaults: {
      thresholds: theme.NONE_IS_GOOD,
      links: [{ title: 'Which one, since when', url: addressOf('library-exporter') }],
    },
  });
}

function inside() {
  return stat({
    title: 'People inside',
    description: `Estimates, or else entries minus exits; nobody in a closed branch. ${LEFT_OUT}`,
    queries: [['inside', `sum(${INSIDE})`]],
  });
}

/** Entries of the last hour or of today, and what is usual. */
export function entries(period: 'hour' | 'today', of: string) {
  const usual = trustedSum(`library_people_entered_usual_${period}`, of);
  return stat({
    title: period === 'hour' ? 'Entries, last hour' : 'Entries today',
    description: `Beside it what is usual by now on this weekday. ${LEFT_OUT}`,
    queries: [
      ['entries', trustedSum(`library_people_entered_${period}`, of)],
      ['usual', usual, theme.TEXT],
    ],
  });
}

function branches() {
  return stat({
    title: 'Number of branches',
    description: 'How many there are, have counts that are right and new, and are open.',
    queries: [
      ['all', `count(${bySite('library_site_info', OF)})`],
      ['right', sum('library_counts_trusted', OF)],
      ['open', sum('library_open', OF)],
    ],
    defaults: { thresholds: theme.COLOURLESS },
  });
}

/** A row for each problem of a library or a branch. */
export function needsAttention(of: string) {
  return table({
    title: 'Needs attention',
    description:
      'What is wrong now, the newest first; without a branch it is of the library. Red: its counts are wrong or old. Missed: about how many people were not counted. Click on a problem for what to do.',
    noValue: 'no problem is known',
    labels: { customer: 'Library', name: 'Branch', branch: '', problem: 'Problem' },
    queries: [
      ['Since', queries.problems(of), theme.AGO],
      ['Missed', queries.missed(of)],
    ],
    sortBy: ['Since desc'],
  });
}

function branchTable() {
  const share = `${INSIDE} / ${bySite('library_capacity_people', OF)}`;
  const open = theme.inWords({ 0: ['closed', 'text'], 1: ['open', theme.GOOD] });
  return table({
    title: 'Branches',
    description:
      'Most people inside first. Usual: entries to be expected today by now, from this weekday of four weeks.',
    labels: { customer: 'Library', name: 'Branch', branch: '' },
    queries: [
      ['', `max by (customer, branch, name) (library_site_info{${OF}})`],
      ['Inside', INSIDE],
      ['Of capacity', share, theme.FULLNESS],
      ['Open', bySite('library_open', OF), open],
      ['Last hour', bySite('library_people_entered_hour', OF)],
      ['Today', bySite('library_people_entered_today', OF)],
      ['Usual', bySite('library_people_entered_usual_today', OF)],
    ],
    sortBy: ['Inside desc'],
  });
}
