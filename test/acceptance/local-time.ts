/** Local time by Intl alone. It shares no code with src: a shared mistake would be invisible. */
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** By zone: offsets by quarter of an hour, and what formats local times. */
const zones = new Map<string, ReturnType<typeof withZone>>();

/** The zone's offset from UTC at an instant, in milliseconds, positive in the east. */
export function offsetMs(instantMs: number, zone: string): number {
  // Cached: Intl is slow, and offsets change at quarters of an hour only.
  const quarterMs = Math.floor(instantMs / (15 * minuteMs)) * 15 * minuteMs;
  const { offsets, format } = zones.get(zone) ?? withZone(zone);
  const offset = offsets.get(quarterMs) ?? Date.parse(`${format.format(quarterMs)}Z`) - quarterMs;
  offsets.set(quarterMs, offset);
  return offset;
}

function withZone(timeZone: string) {
  // Sweden writes 2026-11-01 04:00:00.
  const style = { dateStyle: 'short', timeStyle: 'medium' } as const;
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, ...style });
  const made = { offsets: new Map<number, number>(), format };
  zones.set(timeZone, made);
  return made;
}

/** The wall clock of the zone at an instant, as the milliseconds that UTC would have then. */
export function wallMs(instantMs: number, zone: string): number {
  return instantMs + offsetMs(instantMs, zone);
}

/** The instant at which the zone's wall clock shows what `wall` shows as UTC. */
function instantOfWall(wall: number, zone: string): number {
  const guess = wall - offsetMs(wall, zone);
  return wall - offsetMs(guess, zone);
}

function minutesOf(clock: string): number {
  const [hours = '0', minutes = '0'] = clock.split(':');
  return Number(hours) * 60 + Number(minutes);
}

/** The newest instant, not after now, at which the wall clock showed `dayStartsAt`. */
export function dayStart(nowMs: number, zone: string, dayStartsAt: string): number {
  const wall = wallMs(nowMs, zone);
  const start = Math.floor(wall / dayMs) * dayMs + minutesOf(dayStartsAt) * minuteMs;
  return instantOfWall(start > wall ? start - dayMs : start, zone);
}

/** The first `dayStartsAt` of the month; before it on the first, that of the month before. */
export function periodStart(nowMs: number, zone: string, dayStartsAt: string): number {
  const now = new Date(wallMs(nowMs, zone));
  const minutes = minutesOf(dayStartsAt);
  const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1, 0, minutes);
  const before = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1, 0, minutes);
  return instantOfWall(start > now.getTime() ? before : start, zone);
}

/** Local time as `HH:mm`, `minutes` from now. */
export function clockFromNow(zone: string, minutes: number): string {
  return new Date(wallMs(Date.now() + minutes * minuteMs, zone)).toISOString().slice(11, 16);
}

/** A zone in which it is between 15:00 and 16:00 now, so that no test depends on the time of day. */
export function afternoonZone(nowMs: number): string {
  const hours = new Date(nowMs).getUTCHours() - 15;
  // The names' sign is POSIX's: Etc/GMT-3 is three hours east.
  const west = hours < -12 ? hours + 24 : hours;
  return `Etc/GMT${west < 0 ? '' : '+'}${west}`;
}
