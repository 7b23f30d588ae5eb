/**
 * What is wrong with a customer as a whole, and since when. Pure, from facts that follow from the service's counts, so that
 * a restart and a replica decide the same.
 */
import type { Stream } from '../base/model.ts';
import { atLeast, knownOf, lasting, LIMITS, oldest } from './problems.ts';
import type { Problem } from './problems.ts';
import type { Health } from './totals/health.ts';

/** What is known of the polls of one stream. */
export interface StreamFacts {
  readonly stream: Stream;
  readonly health: Health;
  readonly intervalMs: number;
}

export interface CustomerFacts {
  /** The first refusal; undefined unless the service refuses the credentials now. */
  readonly refusedMs: number | undefined;
  /** People, logins and branches, as far as they are polled. */
  readonly streams: readonly StreamFacts[];
  /** The first accepted poll in a row whose minutes cannot be read. */
  readonly unreadableMs: number | undefined;
  /** About how many are missed, and the newest one; each is undefined while it is not known. */
  readonly logins: { readonly missed: number | undefined; readonly lastMs: number | undefined };
}

export interface CustomerProblems {
  readonly problems: readonly Problem[];
  /** Whether its counts are new. If not, nothing is said about its buildings. */
  readonly isCurrent: boolean;
}

/**
 * Returns the problems of a customer, causes first, without those of its buildings.
 *
 * @param before those found before: one that lasts keeps its start, also over a restart
 */
export function problemsOfCustomer(
  facts: CustomerFacts,
  nowMs: number,
  before: readonly Problem[],
): CustomerProblems {
  // One that was stored before the clock was set back has not begun.
  const begun = before.filter(({ sinceMs }) => sinceMs <= nowMs);
  const { problems, isCurrent } = findProblems(facts, nowMs, begun);
  return {
    problems: problems.map((problem) =>
      problem.kind === 'no_logins' ? problem : (knownOf(begun, problem.kind) ?? problem),
    ),
    isCurrent,
  };
}

function findProblems(
  facts: CustomerFacts,
  nowMs: number,
  before: readonly Problem[],
): CustomerProblems {
  const { refusedMs, streams, unreadableMs } = facts;
  if (refusedMs !== undefined) {
    return { problems: oldest('credentials_refused', [refusedMs]), isCurrent: false };
  }
  const failing = streams.filter((one) => failsAfter(one, before) <= nowMs);
  const waiting = streams.filter(
    (one) => !failing.includes(one) && unconfirmedAfter(one, before) <= nowMs,
  );
  const ofPolls = [
    ...oldest('polls_failing', failing.map(failingSince)),
    ...oldest('values_unconfirmed', waiting.map(unconfirmedSince)),
  ];
  // Without logins, people are still counted.
  const isCurrent = [...failing, ...waiting].every(({ stream }) => stream === 'logins');
  return {
    problems: [
      ...ofPolls,
      ...oldest('minutes_unreadable', isCurrent ? [unreadableMs] : []),
      ...(ofPolls.length === 0 ? noLogins(facts, before) : []),
    ],
    isCurrent,
  };
}

/** It lasts until somebody logs in, and before the first values of this process. */
function noLogins(
  { logins: { missed = 0, lastMs }, streams }: CustomerFacts,
  before: readonly Problem[],
): readonly Problem[] {
  const known = lasting(before, 'no_logins', lastMs);
  if (known !== undefined && streams.some(({ stream }) => stream === 'logins')) {
    return [atLeast(known, missed)];
  }
  return lastMs !== undefined && missed >= LIMITS.missedLogins
    ? [{ kind: 'no_logins', sinceMs: lastMs, missed }]
    : [];
}

/** Returns the instants at which {@link problemsOfCustomer} changes without a poll, some of them past. */
export function changesOfCustomer(
  { streams }: CustomerFacts,
  before: readonly Problem[],
): readonly number[] {
  return streams.flatMap((one) => [failsAfter(one, before), unconfirmedAfter(one, before)]);
}

/** The last success, or the first failure if the clock was set back after it. */
function failingSince({ health }: StreamFacts): number {
  return earliest(health.lastSuccessMs, health.failingSinceMs);
}

/** Before the first success of this process, it goes on failing. */
function failsAfter(facts: StreamFacts, before: readonly Problem[]): number {
  const { health, intervalMs } = facts;
  if (health.up !== false) {
    return Infinity;
  }
  const known = health.lastSuccessMs === undefined ? knownOf(before, 'polls_failing') : undefined;
  return earliest(known?.sinceMs, failingSince(facts) + LIMITS.failedPolls * intervalMs);
}

function unconfirmedSince({ health }: StreamFacts): number {
  return earliest(health.acceptedMs, health.waitingSinceMs);
}

/** Before the first values that this process accepts, they go on waiting. */
function unconfirmedAfter(facts: StreamFacts, before: readonly Problem[]): number {
  const { waitingSinceMs, acceptedMs } = facts.health;
  if (waitingSinceMs === undefined) {
    return Infinity;
  }
  const known = acceptedMs === undefined ? knownOf(before, 'values_unconfirmed') : undefined;
  return earliest(known?.sinceMs, unconfirmedSince(facts) + LIMITS.maxUnconfirmedMs);
}

function earliest(...atMs: readonly (number | undefined)[]): number {
  return Math.min(...atMs.map((ms = Infinity) => ms));
}
