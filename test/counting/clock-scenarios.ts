/** How our clock goes wrong: a start in local time, and minutes that it runs or steps. */
import { MINUTE_MS } from './clock-fixture.ts';

/** In local time of Copenhagen in winter. */
export function local(day: number, hour: number, minute = 0): number {
  return Date.UTC(2026, 10, day, hour - 1, minute);
}

type Move = readonly ['run' | 'step', number];

function swaying(minutes: number): Move[] {
  return Array.from({ length: minutes }, (_, i): Move[] => [
    ['step', i % 2 === 0 ? -3 : 3],
    ['run', 1],
  ]).flat();
}

function standing(minutes: number): Move[] {
  return Array.from({ length: minutes }, (): Move[] => [
    ['run', 1],
    ['step', -1],
  ]).flat();
}

export const SCENES: readonly [string, number, readonly Move[]][] = [
  [
    'forward by an hour at noon',
    local(18, 12),
    [
      ['run', 10],
      ['step', 60],
      ['run', 100],
    ],
  ],
  [
    'back by an hour at noon',
    local(18, 12),
    [
      ['run', 10],
      ['step', -60],
      ['run', 100],
    ],
  ],
  [
    'forward and back',
    local(18, 12),
    [
      ['run', 10],
      ['step', 60],
      ['run', 20],
      ['step', -60],
      ['run', 100],
    ],
  ],
  [
    'back and forward',
    local(18, 12),
    [
      ['run', 10],
      ['step', -60],
      ['run', 20],
      ['step', 60],
      ['run', 100],
    ],
  ],
  [
    'forward over the start of the day and back',
    local(18, 3, 40),
    [
      ['run', 5],
      ['step', 60],
      ['run', 5],
      ['step', -60],
      ['run', 100],
    ],
  ],
  [
    'back over the start of the day and forward',
    local(18, 3, 50),
    [
      ['run', 30],
      ['step', -60],
      ['run', 10],
      ['step', 60],
      ['run', 100],
    ],
  ],
  [
    'forward over the start of the day',
    local(18, 3, 40),
    [
      ['run', 5],
      ['step', 60],
      ['run', 150],
    ],
  ],
  [
    'back over the start of the day',
    local(18, 3, 50),
    [
      ['run', 30],
      ['step', -60],
      ['run', 150],
    ],
  ],
  [
    'forward over the start of the epoch and back',
    local(31, 3, 40),
    [
      ['run', 5],
      ['step', 60],
      ['run', 5],
      ['step', -60],
      ['run', 100],
    ],
  ],
  [
    'back over the start of the epoch and forward',
    local(31, 3, 50),
    [
      ['run', 30],
      ['step', -60],
      ['run', 10],
      ['step', 60],
      ['run', 100],
    ],
  ],
  [
    'forward over the start of the epoch',
    local(31, 3, 40),
    [
      ['run', 5],
      ['step', 60],
      ['run', 150],
    ],
  ],
  [
    'back over the start of the epoch',
    local(31, 3, 50),
    [
      ['run', 30],
      ['step', -60],
      ['run', 150],
    ],
  ],
  [
    'forward by three days over the start of the epoch and back',
    local(29, 12),
    [
      ['run', 10],
      ['step', 72 * 60],
      ['run', 10],
      ['step', -72 * 60],
      ['run', 80],
    ],
  ],
  [
    'to 1970 and back',
    local(18, 12),
    [
      ['run', 10],
      ['step', -local(18, 12) / MINUTE_MS],
      ['run', 5],
      ['step', local(18, 12) / MINUTE_MS],
      ['run', 80],
    ],
  ],
  ['a little every minute', local(18, 3, 30), swaying(120)],
  [
    'not at all for an hour, and on from where it was',
    local(18, 3, 30),
    [...standing(60), ['run', 40]],
  ],
  [
    'not at all for an hour, and to where it should be',
    local(31, 3, 30),
    [...standing(60), ['step', 60], ['run', 40]],
  ],
];
