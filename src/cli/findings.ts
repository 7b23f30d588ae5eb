/**
 * What is to be thought of the service's answers: what is wrong, what a technician should know, and
 * what to do about it. Pure; a secret or a word of the service's own is in none of it.
 */
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { MinuteStream } from '../base/model.ts';
import type { CustomerConfig } from '../config/types.ts';
import { isZero } from '../counting/counts.ts';
import type { OpeningHoursParser } from '../counting/opening-hours.ts';
import type { StreamSurvey } from '../counting/survey.ts';
import type { CustomerAnswers, StreamAnswer } from './connect.ts';

/** `wrong`: something is missing in what the exporter shows. `note`: nothing is, and yet. */
export type Severity = 'wrong' | 'note';

/** Alike for all whom it concerns, so that a thousand customers have one and the same. */
export interface Finding {
  readonly severity: Severity;
  readonly what: string;
  readonly remedy: string;
}

const HOUR_MS = 3_600_000;
/** An open library in which nobody was counted for so long is worth a look. */
const OLD_MS = { people: HOUR_MS, logins: 4 * HOUR_MS } as const satisfies Record<
  MinuteStream,
  number
>;

/** What there is to say of one stream of a customer. */
export function findingsOfStream(
  { config, atMs, credentialsValid }: CustomerAnswers,
  { stream, outcome }: StreamAnswer,
  parseOpeningHours: OpeningHoursParser,
): readonly Finding[] {
  if (outcome instanceof ServiceError) {
    const { reason, message } = outcome;
    const remedy = reason === 'auth' ? authRemedy(credentialsValid) : REMEDIES[reason];
    return [{ severity: 'wrong', what: `${reason}: ${message}`, remedy }];
  }
  if (outcome.state.snapshot === undefined) {
    return [NOT_BELIEVED];
  }
  const found = [...findingsOfDay(outcome), ...findingsOfKeys(outcome)];
  const { lastSeenMs } = outcome;
  if (lastSeenMs === undefined && isZero(outcome.state.snapshot.totals)) {
    found.push(NO_COUNTS);
  } else if (lastSeenMs !== undefined && atMs - lastSeenMs > OLD_MS[stream]) {
    const isOpen = isOpenSince(config, atMs, OLD_MS[stream], parseOpeningHours);
    found.push(...(isOpen ? [OLD[stream]] : []));
  }
  return found;
}

/** What there is to say of the service's clock, which is one for all customers. */
export function findingsOfClock(answers: readonly CustomerAnswers[]): readonly Finding[] {
  const verdicts = new Set(answers.map(({ clock }) => clock?.verdict));
  return [
    ...(verdicts.has('ignored') ? [CLOCK_IGNORED] : []),
    ...(verdicts.has('followed') ? [CLOCK_FOLLOWED] : []),
  ];
}

function findingsOfDay({ day, isMinuteForced }: StreamSurvey): Finding[] {
  if (day.agrees === false) {
    const isHelped = day.totalsBy !== 'day' && !isMinuteForced;
    return [isHelped ? readByOther(day.totalsBy) : NOTHING_TO_READ_BY];
  }
  return isMinuteForced ? [NOTHING_TO_COMPARE] : [];
}

function readByOther(totalsBy: string): Finding {
  return {
    severity: 'note',
    what: `day does not agree with minute: the totals are read by ${totalsBy} instead`,
    remedy: 'nothing: the counters are right, and the column DAY has what day shows of today',
  };
}

/** Without the minutes there is neither occupancy nor last seen. */
function findingsOfKeys({ dating, state }: StreamSurvey): Finding[] {
  if (dating.status === 'unknown') {
    return [KEYS_UNKNOWN];
  }
  if (state.snapshot?.minutes !== undefined) {
    return [];
  }
  return [state.dating.status === 'established' ? MINUTES_FORCED : KEYS_UNDECIDED];
}

/** Whether a customer is open, and was already `forMs` ago; false where no hours are configured. */
function isOpenSince(
  { openingHours, holidays, timezone }: CustomerConfig,
  atMs: number,
  forMs: number,
  parseOpeningHours: OpeningHoursParser,
): boolean {
  if (openingHours === undefined) {
    return false;
  }
  const hours = parseOpeningHours(openingHours, holidays);
  const changesAtMs = hours.nextChangeAfter(atMs - forMs, timezone) ?? Infinity;
  return hours.isOpenAt(atMs - forMs, timezone) && changesAtMs > atMs;
}

function authRemedy(credentialsValid: boolean | undefined): string {
  switch (credentialsValid) {
    case true:
      return 'there is a token, but not for these data: see service.scope, and whose client id it is';
    case false:
      return "compare both with the customer's configuration in the access administration tool";
    case undefined:
      return 'look at client_secret_file, and whether auth_url is the identity server';
  }
}

const REMEDIES = {
  rate_limited: 'lower max_requests_per_second, or raise polling.interval',
  timeout: "raise timeout or interval, or ask the service's operator why it takes so long",
  unreachable: 'look at base_url, auth_url, proxy_url and ca_file, and at firewalls on the way',
  server: "try again later; if it stays so, tell the service's operator",
  rejected: 'look at base_url and auth_url: /v1/… and /connect/token are appended to them',
  malformed: 'look at base_url and auth_url: something else may answer there, such as a login page',
} as const satisfies Record<Exclude<FailureReason, 'auth'>, string>;

const NOT_BELIEVED: Finding = {
  severity: 'wrong',
  what: 'the totals were out of all proportion, and different each time they were asked for',
  remedy: "nothing is shown before they come again alike; tell the service's operator",
};
const NO_COUNTS: Finding = {
  severity: 'note',
  what: 'nobody was counted since the epoch, nor in the last 14 days',
  remedy: 'right for a new library; else see whether the client id is the one of this customer',
};
const OLD = {
  people: {
    severity: 'note',
    what: 'nobody was counted for more than an hour, and the library is open',
    remedy: 'see whether the doors count, and whether opening_hours are right',
  },
  logins: {
    severity: 'note',
    what: 'nobody logged in for more than four hours, and the library is open',
    remedy: 'see whether the self-service stations work, and whether opening_hours are right',
  },
} as const satisfies Record<MinuteStream, Finding>;
const NOTHING_TO_READ_BY: Finding = {
  severity: 'wrong',
  what: 'day does not agree with minute, which is answered by something coarser',
  remedy: "the totals may be too low, and no way of asking is better; tell the service's operator",
};
const NOTHING_TO_COMPARE: Finding = {
  severity: 'note',
  what: 'even half an hour by minute is answered by something coarser: whether that lags is not known',
  remedy: "ask the service's operator how late it is: the totals are as late",
};
const MINUTES_FORCED: Finding = {
  severity: 'wrong',
  what: "today's minutes are answered by something coarser: there is no occupancy and no last seen",
  remedy: "the counters are right nevertheless; tell the service's operator",
};
const KEYS_UNKNOWN: Finding = {
  severity: 'wrong',
  what: 'the keys of the minutes have no known form: there is no occupancy and no last seen',
  remedy: 'the counters are right nevertheless; report the form of the keys to this project',
};
const KEYS_UNDECIDED: Finding = {
  severity: 'note',
  what: 'the keys of the minutes can be read in several ways: no occupancy until more are seen',
  remedy: 'nothing needs to be done: the exporter looks again every minute that has counts',
};
const CLOCK_FOLLOWED: Finding = {
  severity: 'note',
  what: "the service's clock and ours differ by more than a minute: the exporter goes by both",
  remedy: "set ours right, or tell the service's operator",
};
const CLOCK_IGNORED: Finding = {
  severity: 'wrong',
  what: "the service's clock and ours differ by more than a day: days and months are not the same",
  remedy: "set ours right, or tell the service's operator",
};
