/** Conventions of the simulated service at random: the exporter must be right with all of them. */
import type { Random } from '../../src/base/random.ts';
import { pick } from '../../src/simulator/chance.ts';
import { SWITCHES, plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions, KeyType, KeyZone, MinuteKey } from '../../src/simulator/conventions.ts';

/** Draws every switch; half of the draws take the likeliest setting. */
export function drawConventions(random: Random): Conventions {
  const minuteKey = drawMinuteKey(random);
  const drawn = Object.entries(SWITCHES).map(([name, values]) => [
    name,
    random.next() < 0.5 ? values[0] : pick<unknown>(random, values),
  ]);
  return { ...plainConventions, minuteKey, ...(Object.fromEntries(drawn) as Partial<Conventions>) };
}

/** Draws a form: each is equally likely. */
function drawMinuteKey(random: Random): MinuteKey {
  const zone = pick<KeyZone>(random, ['customer', 'utc']);
  const type = pick<KeyType>(random, ['number', 'string']);
  const unit = pick(random, ['s', 'ms'] as const);
  const precision = pick(random, ['minute', 'second', 'fraction'] as const);
  return pick<MinuteKey>(random, [
    { form: 'iso', zone, designator: 'offset', precision, separator: 'T' },
    { form: 'iso', zone: 'utc', designator: 'Z', precision, separator: 'T' },
    { form: 'iso', zone: 'customer', designator: 'none', precision, separator: 'T' },
    { form: 'iso', zone: 'customer', designator: 'none', precision, separator: ' ' },
    { form: 'iso', zone: 'utc', designator: 'none', precision, separator: 'T' },
    { form: 'iso', zone: 'utc', designator: 'none', precision, separator: ' ' },
    { form: 'epoch', unit, type },
    { form: 'opaque' },
  ]);
}
