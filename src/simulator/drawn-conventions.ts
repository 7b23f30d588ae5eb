/** Conventions out of a source of chance: whatever service the interface document allows. */
import type { Random } from '../base/random.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, plainConventions } from './conventions.ts';
import type {
  Conventions,
  DayKey,
  ErrorBody,
  ForcedAggregation,
  GroupKey,
  KeyType,
  KeyZone,
  MinuteKey,
  QuarterKey,
  RecordTime,
} from './conventions.ts';
import { pick } from './seeds.ts';

/** Every switch drawn on its own, the likeliest setting being the most frequent. */
export function drawConventions(random: Random): Conventions {
  function either<Choice>(plain: Choice, ...others: readonly Choice[]): Choice {
    return random.next() < 0.5 ? plain : pick(random, [plain, ...others]);
  }
  const plain = plainConventions;
  return {
    minuteKey: drawMinuteKey(random),
    dayKey: either<DayKey>('start', 'date', 'compact', 'index'),
    quarterKey: either<QuarterKey>('start', 'label', 'index'),
    groupKey: either<GroupKey>('number', 'string', 'name'),
    dayZone: either<KeyZone>('customer', 'utc'),
    repeatedKeys: either<Conventions['repeatedKeys']>('separate', 'merged'),
    rowOrder: either<Conventions['rowOrder']>('ascending', 'descending'),
    emptyBuckets: either<Conventions['emptyBuckets']>('omitted', 'listed'),
    quarter: either<Conventions['quarter']>('15 minutes', '3 months'),
    fromEdge: either<Conventions['fromEdge']>('exclusive', 'inclusive'),
    toEdge: either<Conventions['toEdge']>('exclusive', 'inclusive'),
    resolutionMs: either<Conventions['resolutionMs']>(1, 1_000, 60_000),
    windowTime: either<RecordTime>('local', 'server', 'client'),
    keyTime: either<RecordTime>('local', 'server', 'client'),
    designator: either<Conventions['designator']>(
      'honoured',
      'ignored, read as local',
      'ignored, read as UTC',
    ),
    window: either<Conventions['window']>('as asked', 'whole buckets'),
    recordTimes: either<Conventions['recordTimes']>('offset', 'Z', 'none'),
    categories: either(plain.categories, { in: 'ENTRY', out: 'EXIT', login: 'PATRON' }),
    lateness: either(
      plain.lateness,
      { usualMs: 2 * MINUTE_MS, offlineShare: 0.05, offlineMaxMs: 2 * HOUR_MS },
      { usualMs: 20 * SECOND_MS, offlineShare: 0.02, offlineMaxMs: 7 * DAY_MS },
      { usualMs: 10 * MINUTE_MS, offlineShare: 0.3, offlineMaxMs: DAY_MS },
    ),
    corrections: either(plain.corrections, { share: 0.005, withinMs: DAY_MS }),
    retentionMs: either(plain.retentionMs, Infinity, 40 * DAY_MS),
    dayFreshness: either<Conventions['dayFreshness']>('live', 'nightly'),
    quarterFreshness: either<Conventions['quarterFreshness']>('live', 'nightly'),
    serviceClockMs: either(0, 3 * MINUTE_MS, -3 * MINUTE_MS, 20 * MINUTE_MS),
    deviceClocks: either(
      plain.deviceClocks,
      { share: 0.3, aheadMs: -4 * MINUTE_MS },
      { share: 0.3, aheadMs: 20 * MINUTE_MS },
      { share: 0.1, aheadMs: 30 * DAY_MS },
    ),
    ...drawLimits(random, either),
    tokenLifetimeSeconds: either(3_600, 300, 86_400),
    rateLimit: either<Conventions['rateLimit']>(
      undefined,
      { requests: 60, perMs: MINUTE_MS, retryAfter: 'seconds' },
      { requests: 20, perMs: 10 * SECOND_MS, retryAfter: 'date' },
      { requests: 30, perMs: MINUTE_MS, retryAfter: 'none' },
    ),
    status: {
      invalidClient: either<400 | 401>(400, 401),
      missingToken: either<401 | 403>(401, 403),
      expiredToken: either<401 | 403>(401, 403),
      forbiddenCombination: either<400 | 422 | 'ignored'>(400, 422, 'ignored'),
      toWithoutFrom: either<400 | 422 | 'ignored'>(400, 422, 'ignored'),
      badValue: either<400 | 422>(400, 422),
    },
    errorBody: either<ErrorBody>('error', 'message', 'problem', 'text', 'html', 'empty'),
  };
}

function drawLimits(
  random: Random,
  either: <Choice>(plain: Choice, ...others: readonly Choice[]) => Choice,
) {
  const rows = pick(random, [20, 40, 1_000]);
  return {
    forced: {
      ...either<Pick<Conventions['forced'], 'above' | 'limit'>>(
        { above: 'bytes', limit: 1_000_000 },
        { above: 'rows', limit: rows },
      ),
      to: either<ForcedAggregation>('day', 'quarter', 'minute'),
      window: either<Conventions['forced']['window']>('as asked', 'whole buckets'),
    },
    oversizedRaw: either<Conventions['oversizedRaw']>('aggregated', 'paged'),
    oversizedPage: either<Conventions['oversizedPage']>('paged', 'aggregated'),
    defaultLimit: either<number | undefined>(undefined, 100, 5_000),
    maximumLimit: either(10_000, 100, 1_000),
    aboveMaximumLimit: either<Conventions['aboveMaximumLimit']>('clamped', 'rejected'),
  };
}

function drawMinuteKey(random: Random): MinuteKey {
  const zone = pick<KeyZone>(random, ['customer', 'utc']);
  const type = pick<KeyType>(random, ['number', 'string']);
  const precision = pick(random, ['minute', 'second', 'fraction'] as const);
  return pick<() => MinuteKey>(random, [
    () => ({ form: 'iso', zone, designator: 'offset', precision }),
    () => ({ form: 'iso', zone: 'utc', designator: 'Z', precision }),
    () => ({ form: 'iso', zone, designator: 'none', precision }),
    () => ({ form: 'epoch', unit: pick(random, ['s', 'ms', 'min']), type }),
    () => ({ form: 'compact', zone, type }),
    () => ({ form: 'minute-of-day', zone, type }),
    () => ({ form: 'index', type }),
    () => ({ form: 'clock', zone }),
  ])();
}
