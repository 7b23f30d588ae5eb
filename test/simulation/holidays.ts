/** Public holidays of Denmark, without the tables of the exporter. */
import { DAY_MS } from '../../src/base/duration.ts';

/** What `holidays` of the configuration must be. */
export const HOLIDAY_REGION = 'dk';

/** Easter Sundays of the years of all environments. */
const EASTERS = ['2025-04-20', '2026-04-05', '2027-03-28', '2028-04-16'];
/** Month and day of those that have a date, with Constitution Day and Christmas Eve, as in OpenStreetMap. */
const DATED = ['01-01', '06-05', '12-24', '12-25', '12-26'];
/** Days from Easter Sunday: from Maundy Thursday to Whit Monday. */
const AROUND_EASTER = [-3, -2, 0, 1, 39, 49, 50];

/** Days since 1970-01-01. */
export const HOLIDAYS: ReadonlySet<number> = new Set(
  EASTERS.flatMap((easter) => [
    ...DATED.map((date) => dayOf(`${easter.slice(0, 4)}-${date}`)),
    ...AROUND_EASTER.map((days) => dayOf(easter) + days),
  ]),
);

function dayOf(date: string): number {
  return Date.parse(date) / DAY_MS;
}
