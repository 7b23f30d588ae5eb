/** What is proven of the alert about counters that are held. */
import type { AlertCase } from '../alert-case.ts';
import { HELD } from '../series.ts';
import { DAY, HOUR, atInstance, until } from '../story.ts';
import type { Story } from '../story.ts';

const HOLDING: Story = { [HELD]: until(30, 0, 7) };

export const HELD_CASES: readonly AlertCase[] = [
  {
    alert: 'LibraryCountsHeld',
    ofCustomer: true,
    minutes: 32 * HOUR,
    story: HOLDING,
    firesAt: 30 + DAY,
    labels: { kind: 'people_entered' },
    description:
      "The counter people_entered of riverside has been above the service's total for a day, now by 7. What is counted meanwhile does not show in it.",
    alsoFires: {
      'both replicas hold it': {
        change: atInstance('b', { [HELD]: until(30, 0, 9) }),
        at: 30 + DAY,
      },
      'ever less of it': {
        change: { [HELD]: until(30, 0, (minute) => 2000 - Math.floor(minute / 2)) },
        at: 30 + DAY,
      },
    },
    silent: {
      'the service catches up before closing': {
        [HELD]: (minute) => (minute > 30 && minute < 30 + 5 * HOUR ? 7 : 0),
      },
      'a replica does not hold it': atInstance('b', { [HELD]: 0 }),
      'the epoch ends within the day': { [HELD]: until(20 * HOUR, until(30, 0, 7), 0) },
      'nothing is held': { [HELD]: 0 },
    },
    resolves: {
      'the epoch ends': { change: { [HELD]: until(30 * HOUR, until(30, 0, 7), 0) }, at: 30 * HOUR },
    },
    mutations: [
      ['min by', 'max by'],
      ['> 0', '>= 0'],
      ['(customer, counter)', '(customer, counter, instance)'],
      ['for: 1d', 'for: 18h'],
    ],
  },
];
