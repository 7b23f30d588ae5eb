/**
 * The families of the breakdowns, as a table of data like that of the customers: parts of the sums
 * that are there, under names of their own. Exposed only where any customer has breakdowns.
 */
import { BREAKDOWNS } from '../base/model.ts';
import type { Breakdown, CounterName } from '../base/model.ts';
import type {
  BreakdownMetrics,
  CustomerMetrics,
  KeyMetrics,
} from '../counting/customer-metrics.ts';
import { IN_BACKGROUND, known } from './family.ts';
import type { Family, LabelPair, Sample } from './family.ts';

/** The counters of a breakdown, and the service's name of each. */
const DIRECTIONS: readonly (readonly [kind: CounterName, direction: string])[] = [
  ['people_entered', 'in'],
  ['people_exited', 'out'],
];

const UNTIL_READ = 'until the first complete reading in the epoch';

/** The families for customers of which some have these breakdowns; none for none. */
export function breakdownFamilies(configured: ReadonlySet<Breakdown>): readonly Family[] {
  const families = BREAKDOWNS.filter((breakdown) => configured.has(breakdown)).flatMap(familiesOf);
  return families.length === 0 ? [] : [...families, KEYS_LEFT_OUT];
}

const KEYS_LEFT_OUT: Family = {
  name: 'library_breakdown_keys_dropped',
  type: 'gauge',
  help:
    'Branches, clients or devices that the service lists and that are not shown, because there are ' +
    'too many of them. Which ones are shown stays the same until the epoch ends.',
  labels: ['stream'],
  absent: UNTIL_READ,
  samples: ({ breakdowns }) =>
    BREAKDOWNS.flatMap((breakdown) =>
      known(breakdowns[breakdown]?.droppedKeys, [['stream', breakdown]]),
    ),
};

function familiesOf(breakdown: Breakdown): readonly Family[] {
  return [
    ...DIRECTIONS.map(([kind, direction]) => counter(breakdown, kind, direction)),
    ...DIRECTIONS.map(([kind, direction]) => today(breakdown, kind, direction)),
    ...(breakdown === 'branch' ? [BRANCH_OCCUPANCY, BRANCH_INFO] : []),
    counterExcess(breakdown),
  ];
}

function counter(breakdown: Breakdown, kind: CounterName, direction: string): Family {
  return {
    name: `library_${breakdown}_${kind}_total`,
    type: 'counter',
    help:
      `People counted ${direction} at the ${breakdown} since the epoch: the service's own total of ` +
      `${direction}, kept from falling. A part of library_${kind}_total. ${IN_BACKGROUND}`,
    labels: [breakdown],
    absent: UNTIL_READ,
    samples: ofKeys(breakdown, ({ counters }) => counters[kind]?.total),
  };
}

function today(breakdown: Breakdown, kind: CounterName, direction: string): Family {
  return {
    name: `library_${breakdown}_${kind}_today`,
    type: 'gauge',
    help:
      `People counted ${direction} at the ${breakdown} since the day started, corrections included. ` +
      IN_BACKGROUND,
    labels: [breakdown],
    absent: 'until the first complete reading of the day',
    samples: ofKeys(breakdown, ({ counters }) => counters[kind]?.today),
  };
}

function counterExcess(breakdown: Breakdown): Family {
  return {
    name: `library_${breakdown}_counter_excess`,
    type: 'gauge',
    help:
      `By how much the exported counter of the ${breakdown} is above the service's total now. Above 0 ` +
      `only after the service took counts back, or lists the ${breakdown} no more; it ends with the epoch.`,
    labels: [breakdown, 'counter'],
    absent: UNTIL_READ,
    samples: ({ breakdowns }) =>
      eachKey(breakdowns[breakdown], ({ key, counters }) =>
        DIRECTIONS.flatMap(([kind]) =>
          known(counters[kind]?.excess, [
            [breakdown, key],
            ['counter', kind],
          ]),
        ),
      ),
  };
}

const BRANCH_OCCUPANCY: Family = {
  name: 'library_branch_occupancy_people',
  type: 'gauge',
  help:
    "People inside the branch: today's in minus today's out, never below 0. The service gives no minutes " +
    'of a branch, so that nothing is floored in between, as library_occupancy_people is. ' +
    `Absent when the newest good poll is too old to tell. ${IN_BACKGROUND}`,
  labels: ['branch'],
  absent:
    'until the first complete reading of the day, and while the newest good one is older than 15 minutes, ' +
    'or than three intervals where that is more',
  samples: ofKeys('branch', ({ occupancy }) => occupancy),
};

const BRANCH_INFO: Family = {
  name: 'library_branch_info',
  type: 'gauge',
  help: 'Name of the branch as configured; where none is, the branch as the service calls it. Always 1.',
  labels: ['branch', 'name'],
  absent: 'for a branch that is not under `branches`, until it was read',
  samples: ({ breakdowns }) =>
    (breakdowns.branch?.names ?? []).map(([key, name]) => {
      const labels: readonly LabelPair[] = [
        ['branch', key],
        ['name', name],
      ];
      return { labels, value: 1 };
    }),
};

function ofKeys(
  breakdown: Breakdown,
  value: (figures: KeyMetrics) => number | undefined,
): (figures: CustomerMetrics) => readonly Sample[] {
  return ({ breakdowns }) =>
    eachKey(breakdowns[breakdown], (figures) => known(value(figures), [[breakdown, figures.key]]));
}

function eachKey(
  figures: BreakdownMetrics | undefined,
  samples: (figures: KeyMetrics) => readonly Sample[],
): readonly Sample[] {
  return figures === undefined ? [] : figures.keys.flatMap(samples);
}
