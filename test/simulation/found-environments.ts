/**
 * Environments in which the simulation found a violation. They are written out because a seed stands
 * for another environment as soon as drawing changes.
 */
import { HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Environment } from './environment.ts';

const PLAIN: Environment = {
  seed: 1,
  conventions: plainConventions,
  requestTimes: 'offset',
  keyTimes: 'local',
  timezone: 'Europe/Copenhagen',
  visitsPerDay: [200],
  alwaysOpen: false,
  startMs: Date.UTC(2026, 10, 17, 6),
  days: 0.5,
  intervalMs: 5 * MINUTE_MS,
  reconcileIntervalMs: HOUR_MS,
  breakdowns: [],
  branches: 0,
  namesBranches: false,
  breakdownIntervalMs: HOUR_MS,
  scrapeIntervalMs: 15 * MINUTE_MS,
  maxDelayMs: 400,
  exporters: 1,
  faultRate: 0,
  faultKinds: [],
  incidentsPerHour: 0,
  incidents: [],
};

export const FOUND_ENVIRONMENTS: Readonly<Record<string, Environment>> = {
  // Splitting the day for occupancy exceeded the rate limit, and each baseline failed with 429.
  'a service with 30 requests a minute that forces `quarter` above 20 rows': {
    ...PLAIN,
    conventions: {
      ...plainConventions,
      forced: { above: 'rows', limit: 20 },
      forcedTo: 'quarter',
      rateLimit: { requests: 30, perMs: MINUTE_MS, retryAfter: 'none' },
    },
    visitsPerDay: [300],
    days: 0.25,
    intervalMs: 30 * MINUTE_MS,
    reconcileIntervalMs: 2 * HOUR_MS,
  },
  // The branch was listed with 0 before it counted anybody, and had no gauges until the next day.
  'a branch that is listed before anybody was counted there': {
    ...PLAIN,
    seed: 643,
    conventions: { ...plainConventions, emptyBuckets: 'listed' },
    timezone: 'Europe/London',
    visitsPerDay: [60],
    startMs: Date.UTC(2026, 2, 28, 12),
    days: 0.3,
    breakdowns: ['branch'],
    branches: 2,
  },
};
