/**
 * Worlds in which the simulation once found something, by what it was. Written out, and not as seeds:
 * a seed means another world as soon as anything is drawn differently.
 */
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { DrawnWorld } from './drawn-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const PLAIN: DrawnWorld = {
  seed: 1,
  conventions: plainConventions,
  timezone: 'Europe/Copenhagen',
  visitsPerDay: [200],
  alwaysOpen: false,
  startMs: Date.UTC(2026, 10, 17, 6),
  days: 0.5,
  intervalMs: 5 * MINUTE_MS,
  reconcileIntervalMs: HOUR_MS,
  breakdowns: [],
  breakdownIntervalMs: HOUR_MS,
  scrapeIntervalMs: 15 * MINUTE_MS,
  slowestMs: 400,
  exporters: 1,
  faultRate: 0,
  faultKinds: [],
  mishapsPerHour: 0,
  mishaps: [],
};

export const FOUND_WORLDS: Readonly<Record<string, DrawnWorld>> = {
  // AggregatedResponse a day in halves, for occupancy's sake, outlasted every poll, and so there was no counter.
  'a slow service that answers by the day above 40 rows': {
    ...PLAIN,
    conventions: {
      ...plainConventions,
      forced: { above: 'rows', limit: 40, to: 'day', window: 'as asked' },
    },
    visitsPerDay: [300],
    intervalMs: MINUTE_MS,
    slowestMs: 6_000,
  },
  // The same questions met a limit, and each anchor failed with 429.
  'a service that answers by the quarter above 20 rows, thirty times a minute': {
    ...PLAIN,
    conventions: {
      ...plainConventions,
      forced: { above: 'rows', limit: 20, to: 'quarter', window: 'as asked' },
      rateLimit: { requests: 30, perMs: MINUTE_MS, retryAfter: 'none' },
    },
    visitsPerDay: [300],
    days: 0.25,
    intervalMs: 30 * MINUTE_MS,
    reconcileIntervalMs: 2 * HOUR_MS,
  },
  // At a quarter to three all of the day had just been rolled up, which was taken for a proof that `day`
  // is live; who came at half past two was then missing until the next visitor.
  'a roll-up that is looked at a moment after it was made': {
    ...PLAIN,
    seed: 38,
    conventions: { ...plainConventions, keyTime: 'server', dayFreshness: 'nightly' },
    timezone: 'Asia/Kathmandu',
    visitsPerDay: [60, 5],
    startMs: Date.UTC(2026, 2, 7, 21),
    days: 0.3,
    intervalMs: 10 * MINUTE_MS,
    reconcileIntervalMs: 4 * HOUR_MS,
    slowestMs: 50,
  },
  // AggregatedResponse the order of people's minutes ran into the limit every minute, and the poll of logins, which
  // fell due while the customer was to wait, failed each time.
  'a limit of twenty requests in ten seconds, used up for the order of minutes': {
    ...PLAIN,
    seed: 20554,
    conventions: {
      ...plainConventions,
      deviceClocks: { share: 0.1, aheadMs: 30 * 24 * HOUR_MS },
      forced: { above: 'rows', limit: 20, to: 'day', window: 'as asked' },
      rateLimit: { requests: 20, perMs: 10_000, retryAfter: 'date' },
    },
    timezone: 'America/New_York',
    visitsPerDay: [300, 30],
    alwaysOpen: true,
    startMs: Date.UTC(2026, 9, 24, 23),
    days: 0.1,
    intervalMs: MINUTE_MS,
    exporters: 2,
  },
  // No fault of the exporter: it showed the total of an instant in the poll, but the audit allowed a poll
  // half a minute, and one of five questions with two time-outs takes longer.
  'polls that time-outs stretch beyond half a minute': {
    ...PLAIN,
    seed: 20,
    timezone: 'UTC',
    visitsPerDay: [600],
    startMs: Date.UTC(2028, 1, 28, 3),
    intervalMs: 15 * MINUTE_MS,
    slowestMs: 50,
    faultRate: 0.4,
    faultKinds: ['timeout'],
  },
};
