/**
 * `npm run simulate -- --years=1 --seed=1`: plays one world after another, and says what was played
 * and found. Ends with status 1 if anything was.
 */
import { parseArgs } from 'node:util';
import { play } from './play.ts';
import type { Played } from './play.ts';

const { values } = parseArgs({
  options: {
    /** Customer-years to be simulated. */
    years: { type: 'string' },
    /** Worlds to be played, where no years are given. */
    seeds: { type: 'string', default: '100' },
    /** The first seed; the others follow it. */
    seed: { type: 'string', default: '1' },
    /** Ends at the first world in which something was found. */
    'first-only': { type: 'boolean', default: false },
  },
});

const started = performance.now();
const total = {
  seeds: 0,
  bad: 0,
  days: 0,
  polls: 0,
  requests: 0,
  scrapes: 0,
  faults: 0,
  mishaps: 0,
};
const kinds = new Set<string>();
for (let seed = Number(values.seed); !isDone(); seed++) {
  const played = await play(seed);
  add(played);
  if (played.violations.length > 0) {
    tell(played);
  }
  if (process.stderr.isTTY) {
    process.stderr.write(`\r${summary()} `);
  }
}
process.stdout.write(`${summary()}\n`);
process.exitCode = total.bad > 0 ? 1 : 0;

function isDone(): boolean {
  const enough =
    values.years === undefined
      ? total.seeds >= Number(values.seeds)
      : total.days >= Number(values.years) * 365.25;
  return enough || (values['first-only'] && total.bad > 0);
}

function add(played: Played): void {
  total.seeds += 1;
  total.bad += played.violations.length > 0 ? 1 : 0;
  total.days += played.customerDays;
  total.polls += played.polls;
  total.requests += played.requests;
  total.scrapes += played.scrapes;
  for (const counts of [played.faults, played.mishaps]) {
    counts.forEach((count, kind) => kinds.add(kind) && (total.faults += count));
  }
}

function tell({ world, violations, events }: Played): void {
  const lines = ['', ...violations, 'last events:', ...events, 'world:', JSON.stringify(world)];
  process.stdout.write(`seed ${world.seed} ${lines.join('\n  ')}\n`);
}

function summary(): string {
  const seconds = (performance.now() - started) / 1000;
  return (
    `${total.seeds} seeds, ${(total.days / 365.25).toFixed(2)} customer-years, ${total.polls} polls, ` +
    `${total.requests} requests, ${total.scrapes} scrapes, ${total.faults} faults of ${kinds.size} kinds, ` +
    `${(total.seeds / seconds).toFixed(2)} seeds/s, ${total.bad} with a violation`
  );
}
