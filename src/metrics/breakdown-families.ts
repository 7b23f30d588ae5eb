/** The families of the breakdowns: parts of the customer's sums, under names of their own. */
import { BREAKDOWNS, COUNTERS } from '../base/model.ts';
import type { Breakdown } from '../base/model.ts';
import type { KeyMetrics } from '../counting/customer-metrics.ts';
import { sampleOf, labelled, typeOf } from './family.ts';
import type { Family } from './family.ts';
import { writeLabels } from './format.ts';

const DIRECTION = { people_entered: 'in', people_exited: 'out' } as const;

const UNTIL_READ = 'until the first accepted poll of the counting period';

/** Returns the families of these breakdowns, and in any case that of the names of branches. */
export function breakdownFamilies(configured: ReadonlySet<Breakdown>): readonly Family[] {
  const families = BREAKDOWNS.filter((breakdown) => configured.has(breakdown)).flatMap(familiesOf);
  // Branches may have names without being polled.
  const names = configured.has('branch') ? [] : [BRANCH_INFO];
  return families.length === 0 ? names : [...families, ...names, KEYS_DROPPED];
}

const KEYS_DROPPED = labelled(
  'library_breakdown_keys_dropped',
  'Keys above the limit of 1000 that are not exported.',
  'stream',
  BREAKDOWNS,
  ({ breakdowns }, breakdown) => breakdowns[breakdown]?.droppedKeys,
  UNTIL_READ,
);

function familiesOf(breakdown: Breakdown): readonly Family[] {
  return [
    ...COUNTERS.people.map((counter): Family => ({
      ...ofKeys(
        breakdown,
        `${counter}_total`,
        `People counted ${DIRECTION[counter]} by ${breakdown} since the counting period started.`,
        ({ counters }) => counters[counter]?.total,
        UNTIL_READ,
      ),
      startsWithPeriod: true,
    })),
    // Those of a branch are gauges of a building.
    ...(breakdown === 'branch' ? [] : COUNTERS.people).map((counter) =>
      ofKeys(
        breakdown,
        `${counter}_today`,
        `People counted ${DIRECTION[counter]} by ${breakdown} since the day started.`,
        ({ counters }) => counters[counter]?.today,
        'until the first accepted poll of the day',
      ),
    ),
    ...(breakdown === 'branch' ? [BRANCH_INFO] : []),
    countExcess(breakdown),
  ];
}

function countExcess(breakdown: Breakdown): Family {
  return {
    name: `library_${breakdown}_count_excess`,
    type: 'gauge',
    help: `Exported counter minus the service's total now, by ${breakdown}.`,
    labels: [breakdown, 'counter'],
    absent: UNTIL_READ,
    samples: ({ breakdowns }) =>
      (breakdowns[breakdown]?.keys ?? []).flatMap(({ key, counters }) =>
        COUNTERS.people.flatMap((counter) =>
          sampleOf(counters[counter]?.excess, writeLabels([breakdown, key], ['counter', counter])),
        ),
      ),
  };
}

const BRANCH_INFO: Family = {
  name: 'library_branch_info',
  type: 'gauge',
  help: 'Configured name of the branch, or its key; always 1.',
  labels: ['branch', 'name'],
  absent: 'until the first reading for a branch that is not under `branches`',
  samples: ({ breakdowns }) =>
    (breakdowns.branch?.names ?? []).flatMap(([key, name]) =>
      sampleOf(1, writeLabels(['branch', key], ['name', name])),
    ),
};

/** A family with one series for each key. */
function ofKeys(
  breakdown: Breakdown,
  suffix: string,
  help: string,
  value: (metrics: KeyMetrics) => number | undefined,
  absent: string,
): Family {
  return {
    name: `library_${breakdown}_${suffix}`,
    type: typeOf(suffix),
    help,
    absent,
    labels: [breakdown],
    samples: ({ breakdowns }) =>
      (breakdowns[breakdown]?.keys ?? []).flatMap((metrics) =>
        sampleOf(value(metrics), writeLabels([breakdown, metrics.key])),
      ),
  };
}
