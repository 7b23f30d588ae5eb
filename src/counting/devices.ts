/**
 * The people counters of a customer: in which branch each of them is, as raw records show. Records are requested at
 * most once a day, and only while a device that counted is unknown.
 */
import { DAY_MS, MINUTE_MS } from '../base/duration.ts';
import { ServiceError } from '../base/errors.ts';
import { PEOPLE_RECORD_FIELDS } from '../base/model.ts';
import type { Page, PageQuery, RawRecord } from '../base/model.ts';
import { floorToMinute } from './calendar/calendar.ts';
import type { Calendar, CountingPeriod } from './calendar/calendar.ts';
import { HISTORY_DAYS, QUARTER_MS, QUARTERS_PER_DAY } from './occupancy/door-model.ts';
import type { DeviceMetrics } from './customer-metrics.ts';
import type { CountedDays } from './past/counted-days.ts';
import { daysBefore, sumWithin } from './past/past.ts';
import { countWithin } from './past/usual.ts';
import { grandTotal } from './rows/counts.ts';
import type { Silences } from './site.ts';
import type { Breakdowns, CountedDevice } from './breakdowns/breakdown-states.ts';
import { countsOf } from './breakdowns/poll-breakdown.ts';

/** Requests one page of raw records. Rejects with a ServiceError if there is no valid response. */
export type ReadPage = (query: PageQuery) => Promise<Page>;

/** Ids as a record has them; undefined if it has none. */
export interface DevicePlace {
  readonly branch: string | undefined;
  readonly client: string | undefined;
}

/** Immutable: replaced as a whole. */
export interface KnownPlaces {
  /** When records were requested last. */
  readonly requestedMs: number;
  /** By device. */
  readonly places: ReadonlyMap<string, DevicePlace>;
}

export const NO_PLACES: KnownPlaces = { requestedMs: -Infinity, places: new Map() };

/** A device of a building. */
export interface SiteDevice extends CountedDevice {
  /** Of the people that the building counted in the counting period. */
  readonly share: number;
}

/** By the key of their branch; by null those of a customer that is one building. */
export type DevicesBySite = ReadonlyMap<string | null, readonly SiteDevice[]>;

/** Records on a page. The service may refuse so many: the largest number is not documented. */
const MAX_RECORDS = 1000;
const FEWER_RECORDS = 100;
/** Until then an end would leave out records that come late. */
const MIN_AGE_OF_END_MS = 15 * MINUTE_MS;

export class Devices {
  readonly #breakdowns: Breakdowns;
  readonly #calendar: Calendar;
  readonly #people: Pick<CountedDays, 'today' | 'past'>;
  #known: KnownPlaces = NO_PLACES;
  #limit = MAX_RECORDS;

  /** `people` are the counts of the customer. */
  constructor(
    breakdowns: Breakdowns,
    calendar: Calendar,
    people: Pick<CountedDays, 'today' | 'past'>,
  ) {
    this.#breakdowns = breakdowns;
    this.#calendar = calendar;
    this.#people = people;
  }

  get known(): KnownPlaces {
    return this.#known;
  }

  /** Takes what was stored, before the first request. */
  restore(known: KnownPlaces): void {
    this.#known = known;
  }

  /**
   * Returns the devices that counted anybody in the running counting period or in the last one; undefined until the
   * first accepted poll of the period. None where devices are not polled.
   */
  countedIn({ startMs, month }: CountingPeriod): readonly CountedDevice[] | undefined {
    return this.#breakdowns.configured.includes('device')
      ? this.#breakdowns.devicesOf(startMs, this.#calendar.periodStart(month - 1))
      : [];
  }

  /** Returns devices by building, without those of an unknown branch. */
  bySite(
    devices: readonly CountedDevice[],
    period: CountingPeriod,
    buildings: 'one' | 'branches',
  ): DevicesBySite {
    if (buildings === 'one') {
      const all = devices.reduce((sum, { people }) => sum + people, 0);
      return new Map([[null, devices.map((device) => withShare(device, all))]]);
    }
    const { snapshot } = this.#breakdowns.stateOf('branch');
    const totals = snapshot?.period.startMs === period.startMs ? snapshot.totals : new Map();
    const bySite = new Map<string, SiteDevice[]>();
    for (const device of devices) {
      const branch = this.#known.places.get(device.key)?.branch;
      if (branch !== undefined) {
        const ofBranch = bySite.get(branch) ?? [];
        ofBranch.push(withShare(device, grandTotal(countsOf(totals, branch))));
        bySite.set(branch, ofBranch);
      }
    }
    return bySite;
  }

  /** Returns the values of devices by key, with those of `silences`, which are by building. */
  metricsOf(
    devices: readonly CountedDevice[] = [],
    silences: ReadonlyMap<unknown, Silences | undefined>,
  ): ReadonlyMap<string, DeviceMetrics> {
    const all = new Map([...silences.values()].flatMap((ofSite) => [...(ofSite ?? [])]));
    return new Map(
      devices.map(({ key, lastMs }) => {
        const place = this.#known.places.get(key);
        return [key, { place, lastSeenMs: lastMs, missed: all.get(key)?.people }];
      }),
    );
  }

  /** Whether records are to be requested. */
  isDue(period: CountingPeriod, nowMs: number): boolean {
    return this.#endAt(period, nowMs) !== undefined;
  }

  /** Requests records, if they are due, and takes the branches of their devices. Throws a ServiceError. */
  async readPlaces(readPage: ReadPage, period: CountingPeriod, nowMs: number): Promise<void> {
    const endMs = this.#endAt(period, nowMs);
    if (endMs === undefined) {
      return;
    }
    const { zone } = this.#calendar;
    const isNewest = nowMs - endMs < MIN_AGE_OF_END_MS;
    let page: Page;
    try {
      page = await readPage({
        endpoint: 'peoplecount',
        limit: this.#limit,
        from: zone.format(this.#startOf(endMs)),
        ...(!isNewest && { to: zone.format(endMs) }),
        includePatronFields: false,
      });
    } catch (error) {
      if (error instanceof ServiceError && error.reason === 'rejected') {
        this.#limit = FEWER_RECORDS;
      }
      throw error;
    }
    const found = page.aggregation === undefined ? placesIn(page.records) : new Map();
    const { places } = this.#known;
    const all = isNewest ? [...places, ...found] : [...found, ...places];
    const { totals } = this.#breakdowns.stateOf('device').snapshot ?? {};
    this.#known = {
      requestedMs: nowMs,
      places: new Map(all.filter(([device]) => totals?.has(device))),
    };
  }

  /**
   * Returns the end of the window to request: when an unknown device counted last. That is not known exactly before
   * the first poll, so with each day the window is a day earlier. Undefined if nothing is to be requested.
   */
  #endAt(period: CountingPeriod, nowMs: number): number | undefined {
    const { requestedMs, places } = this.#known;
    // Clocks step back, too.
    if (Math.abs(nowMs - requestedMs) < DAY_MS) {
      return undefined;
    }
    const endsMs = (this.countedIn(period) ?? [])
      .filter(({ key }) => !places.has(key))
      .map(({ lastMs }) => lastMs - DAY_MS * Math.floor(Math.max(0, nowMs - lastMs) / DAY_MS))
      .filter((endMs) => endMs > nowMs - HISTORY_DAYS * DAY_MS);
    return endsMs.length === 0 ? undefined : floorToMinute(Math.max(...endsMs)) + MINUTE_MS;
  }

  /**
   * Returns the start of a window in which at most as many people were counted as a page has records, because the
   * order of records is not documented. The window has a quarter-hour at least.
   */
  #startOf(endMs: number): number {
    const { today, past } = this.#people;
    if (today === undefined || past === undefined) {
      return endMs - DAY_MS;
    }
    let startMs = endMs;
    let people = 0;
    const days = [past.today, ...daysBefore(this.#calendar, past.today).toReversed()];
    for (const [daysAgo, day] of days.entries()) {
      const quarters = Math.min(QUARTERS_PER_DAY, Math.ceil((endMs - day.startMs) / QUARTER_MS));
      for (let quarter = quarters - 1; quarter >= 0; quarter -= 1) {
        const fromMs = day.startMs + quarter * QUARTER_MS;
        for (const counter of [0, 1]) {
          people +=
            daysAgo === 0
              ? countWithin(today.counts, counter, fromMs, fromMs + QUARTER_MS)
              : sumWithin(past, daysAgo, counter, quarter, quarter + 1);
        }
        if (people > this.#limit && endMs - startMs >= QUARTER_MS) {
          return startMs;
        }
        startMs = fromMs;
      }
    }
    return startMs;
  }
}

function withShare(device: CountedDevice, peopleOfSite: number): SiteDevice {
  // The branch may have been polled earlier.
  const share = peopleOfSite === 0 ? 0 : Math.min(1, device.people / peopleOfSite);
  return { ...device, share };
}

const [SERVER_TIME, BRANCH, CLIENT, DEVICE] = (
  ['serverTime', 'branchId', 'clientId', 'deviceId'] as const
).map((name) => PEOPLE_RECORD_FIELDS.indexOf(name)) as [number, number, number, number];

/** Returns where the newest record of each device has it. Without times, the later one of a page is newer. */
function placesIn(records: readonly RawRecord[]): ReadonlyMap<string, DevicePlace> {
  const newestMs = new Map<string, number>();
  const places = new Map<string, DevicePlace>();
  for (const record of records) {
    const device = idOf(record[DEVICE]);
    const atMs = Date.parse(String(record[SERVER_TIME]));
    if (device !== undefined && !(atMs < (newestMs.get(device) ?? -Infinity))) {
      newestMs.set(device, Number.isNaN(atMs) ? -Infinity : atMs);
      places.set(device, { branch: idOf(record[BRANCH]), client: idOf(record[CLIENT]) });
    }
  }
  return places;
}

function idOf(value: RawRecord[number] | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}
