/** Public holidays of Denmark, without the tables of the exporter. */
const DAY_MS = 86_400_000;
/** What `holidays` of the configuration must be. */
export const HOLIDAY_REGION = 'dk';

/** Month and day of those that have a date, with Constitution Day and Christmas Eve, as in OpenStreetMap. */
const DATED = ['01-01', '06-05', '12-24', '12-25', '12-26'];
/** Days from Easter Sunday: from Maundy Thursday to Whit Monday. */
const AROUND_EASTER = [-3, -2, 0, 1, 39, 49, 50];

/** Whether a date, as days since 1970-01-01, is a holiday. */
export function isHoliday(day: number): boolean {
  const date = new Date(day * DAY_MS);
  const isDated = DATED.includes(date.toISOString().slice(5, 10));
  return isDated || AROUND_EASTER.includes(day - easterOf(date.getUTCFullYear()));
}

/** Easter Sunday, as days since 1970-01-01: the anonymous Gregorian algorithm, of 1876. */
function easterOf(year: number): number {
  const golden = year % 19;
  const century = Math.floor(year / 100);
  const ofCentury = year % 100;
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const epact = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30;
  const weekday =
    (32 + 2 * (century % 4) + 2 * Math.floor(ofCentury / 4) - epact - (ofCentury % 4)) % 7;
  const late = Math.floor((golden + 11 * epact + 22 * weekday) / 451);
  const days = epact + weekday - 7 * late + 114;
  return Date.UTC(year, Math.floor(days / 31) - 1, (days % 31) + 1) / DAY_MS;
}
