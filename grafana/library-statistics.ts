/** Totals by month, for the annual report, from recordings of prometheus/rules. */
import { ANY_LIBRARIES, dashboard } from './frame.ts';
import { monthsOfLibraries, stat, table } from './panels.ts';
import { LIBRARIES as OF, RECORDED, byLibrary, named } from './queries.ts';
import { TEXT } from './theme.ts';

const ENTRIES = `customer_branch_month:library_people_entered:total{${RECORDED}}[$__range]`;
const LOGINS = `customer_month:library_logins:total{${RECORDED}}[$__range]`;
const MISSED = `customer_branch_month:library_people_missed:max{${RECORDED}}[$__range]`;
/** The same day of the same month. */
const A_YEAR_AGO = ' offset 365d';
/** Recordings. */
const A_DAY = 6;
/** Fewer are no gap in a month, and are often by chance in a small branch. */
const MANY = 50;
const SOURCE = 'Recorded every four hours of the month. The command `report` has the exact totals.';
const LABELS = { month: 'Month', customer: 'Library', name: 'Branch', branch: '' };

/** The whole dashboard, as its file has it. */
export function libraryStatistics() {
  return dashboard({
    uid: 'library-statistics',
    description: `Totals by month, for the annual report. ${SOURCE}`,
    from: 'now-1y/M',
    refresh: '15m',
    variables: ANY_LIBRARIES,
    rows: [
      [9, [byMonth('Entries by month', ENTRIES)]],
      [9, [byMonth('Logins by month', LOGINS)]],
      [12, [ofBranches()]],
      [5, [againstLastYear('Entries'), againstLastYear('Logins')]],
      [7, [incomplete()]],
    ],
  });
}

function againstLastYear(what: 'Entries' | 'Logins') {
  const counter = what === 'Entries' ? 'library_people_entered_total' : 'library_logins_total';
  const now = `${byLibrary(counter, OF)} and on (customer) ${counter}{${OF}}${A_YEAR_AGO}`;
  const before = `${byLibrary(counter, OF, A_YEAR_AGO)} and on (customer) ${counter}{${OF}}`;
  return stat({
    title: `${what}, month to date`,
    description: 'And the same days last year, of the libraries that have both, and their number.',
    queries: [
      ['this year', `sum(${now})`],
      ['last year', `sum(${before})`, TEXT],
      ['libraries', `count(${before})`, TEXT],
    ],
  });
}

function byMonth(title: string, recording: string) {
  return monthsOfLibraries({
    title,
    description: `The running month first, so far. ${SOURCE}`,
    noValue: 'no month is recorded',
    queries: [['total', `sum by (customer, month) (max_over_time(${recording}))`]],
  });
}

function ofBranches() {
  return table({
    title: 'Months of branches',
    description: `The running month first. Days recorded: for how long there were counts. ${SOURCE}`,
    noValue: 'no month is recorded',
    labels: LABELS,
    queries: [
      ['Entries', named(`max_over_time(${ENTRIES})`)],
      ['Days recorded', `count_over_time(${ENTRIES}) / ${A_DAY}`],
    ],
    sortBy: ['Month desc', 'Library', 'Branch'],
  });
}

function incomplete() {
  return table({
    title: 'Months with missing counts',
    description: `At least ${MANY} people were missed at a time: about how many, the most of the month.`,
    noValue: 'none is known',
    labels: LABELS,
    queries: [['Missed', `${named(`max_over_time(${MISSED})`)} >= ${MANY}`]],
    sortBy: ['Month desc', 'Missed desc'],
  });
}
